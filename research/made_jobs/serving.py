"""Servers of a decoder: requests come and go, and each holds a cache of keys and values while it lives."""

from __future__ import annotations

from dataclasses import dataclass

from .decoder import GPT_125M, GPT_350M, LLAMA_7B, load
from .job import GIB, Job

CACHE_PER_TOKEN = 4096 * 2 * 2  # of one layer: keys and values, 4096 wide, in bf16
LAYERS = 32


def decode(job: Job, requests: int, read: float = 14e9) -> None:
    """One token for each request: the logits."""
    job.temporary(max(1, requests) * 32000 * 4, moved=read)


def prefill(job: Job, tokens: int) -> None:
    names = job.take_all([tokens * 4096 * 2, tokens * 11008 * 2, tokens * 11008 * 2])
    job.compute(flops=tokens * 14e9)
    job.free(*names)


@dataclass
class Request:
    """One in progress: its tokens so far and at the end, its caches and for how many tokens they have room."""

    tokens: int
    last: int
    room: int
    caches: list[int]


def answer(job: Job, running: list[Request]) -> None:
    """One step for all; what is done leaves."""
    decode(job, len(running))
    for done in [each for each in running if each.tokens >= each.last]:
        job.free(*done.caches)
        running.remove(done)


def contiguous(job: Job) -> None:
    """A cache for each layer and request, as long as the request may become."""
    load(job, LLAMA_7B)
    running: list[Request] = []
    room = 40 * GIB // (CACHE_PER_TOKEN * LAYERS)
    for _ in range(1500):
        while len(running) < 96 and job.random.random() < 0.7:
            last = job.length(4096, 32)
            if sum(each.last for each in running) + last > room:
                break
            running.append(Request(last // 3, last, last, job.take_all([last * CACHE_PER_TOKEN] * LAYERS)))
            prefill(job, last // 3 + 1)
        for each in running:
            each.tokens += 20
        for _ in range(3):
            decode(job, len(running))
        answer(job, running)


def doubling(job: Job) -> None:
    """One cache a request, copied into twice as much when it is full."""
    load(job, LLAMA_7B)
    per_token = CACHE_PER_TOKEN * LAYERS
    running: list[Request] = []
    for _ in range(4000):
        if len(running) < 48 and job.random.random() < 0.5:
            running.append(Request(0, job.length(4096), 256, job.take_all([256 * per_token])))
        for each in running:
            each.tokens += 8
            if each.tokens > each.room:
                move(job, each, [2 * each.room * per_token])
                each.room *= 2
        answer(job, running)


def move(job: Job, request: Request, sizes: list[int]) -> None:
    """New caches, then the old ones go."""
    old, request.caches = request.caches, job.take_all(sizes)
    job.compute(moved=2 * sum(sizes))
    job.free(*old)


def prefixes(job: Job) -> None:
    """Prefixes of any length kept while 24 GiB hold them; the least recently used goes."""
    job.take(15 * GIB)
    kept: list[int] = []
    used = 0
    for _ in range(3000):
        size = job.length(8192, 16) * 131072
        while used + size > 24 * GIB:
            used -= job.size(kept[0])
            job.free(kept.pop(0))
        kept.append(job.take(size))
        used += size
        if job.random.random() < 0.5:
            kept.append(kept.pop(job.random.randrange(len(kept))))
        job.temporary(job.random.randrange(1, 512) * 22016, moved=14e9)


def beams(job: Job) -> None:
    """Beam search: each step every cache is made one longer, then once more to follow the best beams."""
    load(job, GPT_350M)
    for _ in range(10):
        rows = job.random.choice([4, 8, 16]) * 5
        source = job.take_all([rows * job.random.randrange(20, 400) * 1024 * 2] * 48)
        caches: list[int] = []
        for step in range(1, job.random.randrange(20, 80)):
            for _ in range(2):
                old, caches = caches, []
                for layer in range(48):
                    caches.append(job.take(rows * step * 1024 * 2))
                    job.compute()
                    job.free(*old[layer : layer + 1])
            scores = job.take(rows * 50257 * 4)
            job.temporary(rows * 50257 * 8)
            job.free(scores)
        job.free(*caches, *source)


def speculative(job: Job) -> None:
    """A small model guesses for a large one; two caches a request, in blocks of 128 tokens, made anew as they grow."""
    load(job, LLAMA_7B)
    load(job, GPT_125M)
    running: list[Request] = []
    for _ in range(2500):
        if len(running) < 24:
            running.append(Request(job.random.randrange(16, 256), job.length(2048), 0, []))
        for each in running:
            if not each.caches or job.random.random() < 0.1:
                room = -(-each.tokens // 128) * 128
                move(job, each, [room * 4096 * 128, room * 768 * 48])
            each.tokens += job.random.randrange(1, 24)
        answer(job, running)


KINDS = {
    "serve-contiguous": contiguous,
    "serve-doubling": doubling,
    "serve-prefixes": prefixes,
    "serve-beams": beams,
    "serve-speculative": speculative,
}
