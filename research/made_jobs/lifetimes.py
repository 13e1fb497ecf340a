"""No program, but what makes some hard: requests of drawn sizes, random ones of which end whenever memory is full."""

from __future__ import annotations

import math
from collections.abc import Callable

from .job import GIB, KIB, MIB, Job


def churn(job: Job, draw: Callable[[], float], requests: int, full: int, work_us: float) -> None:
    """Keeps about `full` bytes live, none of them over a quarter of it; between two requests, up to `work_us`."""
    alive: list[int] = []
    live = 0
    for _ in range(requests):
        size = min(int(draw()), full // 4)
        while live + size > full:
            name = alive.pop(job.random.randrange(len(alive)))
            live -= job.size(name)
            job.free(name)
        alive.append(job.take(size))
        live += size
        job.wait(work_us * job.random.random())


def granules(job: Job, direction: int) -> Callable[[], int]:
    """Up to 80 MiB in steps of 2 MiB, and up to 20 KiB more, or less."""
    return lambda: 2 * MIB * job.random.randrange(1, 40) + direction * 512 * job.random.randrange(1, 40)


def over_a_granule(job: Job) -> None:
    churn(job, granules(job, 1), 6000, 12 * GIB, 2000)


def under_a_granule(job: Job) -> None:
    churn(job, granules(job, -1), 6000, 12 * GIB, 2000)


def tiny(job: Job) -> None:
    churn(job, lambda: job.spread(8, 18), 60000, 2 * GIB, 60)


def tiny_and_small(job: Job) -> None:
    """Around the border of the small pool."""
    sizes = [size * KIB for size in (257, 300, 513, 700, 1000, 1025)]
    churn(job, lambda: job.random.choice(sizes), 20000, 4 * GIB, 150)


def lognormal(job: Job) -> None:
    """A median of 6 MB; one in twenty is over 110."""
    churn(job, lambda: math.exp(job.random.gauss(math.log(6e6), 1.8)), 12000, 20 * GIB, 600)


def joins(job: Job) -> None:
    """Tables of any size, to 4 GiB."""
    churn(job, lambda: job.spread(16, 32), 2500, 36 * GIB, 8000)


KINDS = {
    "just-over-a-granule": over_a_granule,
    "just-under-a-granule": under_a_granule,
    "tiny-crowd": tiny,
    "tiny-and-small": tiny_and_small,
    "lognormal-lifetimes": lognormal,
    "joins-and-group-bys": joins,
}
