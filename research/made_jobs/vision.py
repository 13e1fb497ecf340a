"""Stacks of convolutions and of recurrent layers, whose batches differ in resolution, proposals or length."""

from __future__ import annotations

from .decoder import Decoder
from .job import Job


def convolve(job: Job, batch: int, side: int, channels: list[int]) -> list[int]:
    """Two convolutions at each scale, with workspaces; returns what is kept for the backward pass."""
    saved = []
    for scale, channel in enumerate(channels):
        size = batch * (side >> scale) ** 2 * channel * 2
        for _ in range(2):
            saved.append(job.take(size))
            job.temporary(size * job.random.choice([0.5, 1, 2.25]) + 4096, flops=9 * size * channel)
            saved += job.take_all([size, batch * 256])
            job.compute(moved=3 * size)
    return saved


def unet(job: Job) -> None:
    """Denoising of pictures of five resolutions; fewer at a time the larger they are."""
    channels = [320, 640, 1280, 1280]
    weights = [channel * channel * 9 for channel in channels for _ in range(8)]
    job.take_all([2 * size for size in weights] + [4 * size for size in weights for _ in range(2)])
    for _ in range(25):
        side = job.random.choice([64, 80, 96, 112, 128])
        saved = convolve(job, max(1, int(24 * (64 / side) ** 2)), side, [*channels, 1280, 1280])
        job.unwind(saved, 2000)


def progressive(job: Job) -> None:
    """Resolution grows from step to step."""
    job.take_all([job.spread(16, 24) for _ in range(60)])
    for side in range(128, 800, 24):
        for _ in range(3):
            job.unwind(convolve(job, 8, side, [64, 128, 256, 512]), 800)


def detector(job: Job) -> None:
    """Pictures of any shape, and as many proposals in them as are found."""
    job.take_all([job.spread(14, 23) for _ in range(120)])
    for _ in range(60):
        height, width = (job.random.randrange(640, 1344, 32) for _ in range(2))
        saved = []
        for scale, channels in ((4, 256), (8, 512), (16, 1024), (32, 2048)):
            size = 2 * (height // scale) * (width // scale) * channels * 4
            for _ in range(8):
                saved.append(job.take(size))
                job.temporary(size // 2 + 4096, flops=size * 500)
        for _ in range(4):
            found = job.random.randrange(30, 1000)
            saved += job.take_all([found * size for size in (256 * 49 * 4, 4096, 256 * 196 * 4)])
            job.temporary(found * found * 4, flops=found * 1e8)
        job.unwind(saved, 1000)


def transducer(job: Job) -> None:
    """Speech: a tensor of time by labels by vocabulary, either of any length."""
    for size in Decoder(dim=512, layers=18, heads=8, vocab=1024).parameters:
        job.take_all([size * 4, size * 8])
    for _ in range(40):
        time, labels = job.random.randrange(100, 420), job.random.randrange(20, 110)
        hidden, joint = 16 * time * 512 * 4, 16 * time * labels * 1024 * 4
        saved = []
        for _ in range(18):
            for factor in (1, 4, 1, 3, 1, 2):
                saved.append(job.take(hidden * factor))
                job.compute(flops=hidden * factor * 256)
        joined, logits = job.take_all([joint // 2, joint])
        job.compute(flops=joint * 256)
        gradient = job.take(joint)
        job.free(logits)
        back = job.take(joint // 2)
        job.free(gradient, joined, back)
        job.unwind(saved, 1)


KINDS = {
    "unet-resolutions": unet,
    "progressive-resolution": progressive,
    "detector-proposals": detector,
    "speech-transducer": transducer,
}
