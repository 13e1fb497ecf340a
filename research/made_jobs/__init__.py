"""Made jobs: allocation traces of programs that nobody recorded, and that no threshold of the policy is fitted to.

A kind and a seed make the same job everywhere. A family of kinds has a file; `job` has the words in which they are
written. research/made_jobs_report.py replays them. What is made up: the programs, and above all their clocks.
"""

from __future__ import annotations

from collections.abc import Callable

from . import data, lifetimes, serving, training, vision, xla
from .job import FREED, TAKEN, Job

__all__ = ["FREED", "KINDS", "TAKEN", "Job", "make"]

FAMILIES = (training, vision, serving, xla, data, lifetimes)
KINDS: dict[str, Callable[[Job], None]] = {kind: job for family in FAMILIES for kind, job in family.KINDS.items()}


def make(kind: str, seed: int) -> Job:
    job = Job(seed)
    KINDS[kind](job)
    return job
