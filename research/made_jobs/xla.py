"""Compiled programs: a call asks for one slab of temporary memory and for its results, in place of many tensors.

Shapes come in buckets, or as they are; parameters are donated, or live twice while they are updated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .job import KIB, MIB, Job


@dataclass(frozen=True)
class Call:
    """One execution: its temporary memory, results, and whether it returns the parameters anew."""

    temporary: int
    results: list[int]
    updates: bool
    time_us: float


Program = Callable[[Job], Call]


def training(lengths: Sequence[int], per_token: int) -> Program:
    def call(job: Job) -> Call:
        length = job.random.choice(lengths)
        return Call(length * per_token + job.random.choice([0, 256, 4096]), [4], True, length * 60)

    return call


def generation(lengths: Sequence[int]) -> Program:
    def call(job: Job) -> Call:
        length = job.random.choice(lengths)
        return Call(length * 40 * KIB, [length * 128 * KIB, length * 4], False, length * 3 + 2000)

    return call


def layers(dim: int, count: int) -> list[int]:
    """Parameters and two states each, in f32."""
    return [dim * dim * 4 * factor for _ in range(count) for factor in (3, 1, 4, 4)] * 3


def run(job: Job, parameters: list[int], programs: list[Program], calls: int, donated: bool) -> None:
    state = job.take_all(parameters)
    recent: list[list[int]] = []
    for _ in range(calls):
        call = job.random.choice(programs)(job)
        inputs = job.take(job.random.randrange(4, 64) * KIB)
        updated = job.take_all(parameters) if call.updates and not donated else []
        recent.append(job.take_all(call.results))
        slab = job.take(call.temporary)
        job.wait(call.time_us)
        job.free(slab, inputs)
        if updated:
            job.free(*state)
            state = updated
        if len(recent) > 2:
            job.free(*recent.pop(0))


BUCKETS = (256, 384, 512, 768, 1024, 1536)


def donated(job: Job) -> None:
    run(job, layers(2048, 24), [training(BUCKETS, 9 * MIB)], 120, donated=True)


def undonated(job: Job) -> None:
    run(job, layers(1536, 20), [training(BUCKETS[:5], 9 * MIB)], 60, donated=False)


def train_and_generate(job: Job) -> None:
    programs = [training((512, 1024, 2048), 3 * MIB), generation((16, 64, 256, 1024, 4096))]
    run(job, layers(1024, 16), programs, 120, donated=False)


def any_shape(job: Job) -> None:
    programs = [training(range(64, 2048, 7), 5 * MIB + 77777), generation(range(1, 4000, 13))]
    run(job, layers(1280, 16), programs, 200, donated=False)


KINDS = {
    "xla-donated": donated,
    "xla-undonated": undonated,
    "xla-train-and-generate": train_and_generate,
    "xla-any-shape": any_shape,
}
