"""Bisections with a capped number of runs: the smallest limit at which a job completes, the largest batch that fits.

The first part is arithmetic over a `probe` that says whether a value works; the second makes probes of cells. Every
probe is a line of the results, so that a search that was cut short goes on where it stopped.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.models import results
from benchmarks.models.cell import Runner, machine
from benchmarks.models.results import Cell, Line
from benchmarks.models.situations import WHOLE_DEVICE

Probe = Callable[[int], bool]
MARGIN = 1.01  # of the live peak: the first limit that is tried
TINY_SLACK = 8 << 20  # beside that: a hundredth of a tiny job is less than what the driver hands out at once
TOLERANCE = 1.01
GRANULE = 2 << 20
RUNS = 5
LEAST_SECONDS = 30.0  # a cell is not begun with less


@dataclass
class Bracket:
    """The largest value known to fail and the smallest known to work; None where none is known yet."""

    fails: int | None
    works: int | None

    def is_narrow(self, tolerance: float) -> bool:
        """Whether more runs would say little more."""
        return bool(self.fails and self.works and self.works <= self.fails * tolerance)


def smallest(probe: Probe, first: int, works: int, runs: int = RUNS, tolerance: float = TOLERANCE) -> Bracket:
    """The smallest value that works, between `first`, which is tried, and `works`, which is known to."""
    if probe(first):
        return Bracket(None, first)
    bracket = Bracket(first, works)
    for _ in range(runs - 1):
        if bracket.is_narrow(tolerance):
            break
        middle = int((bracket.fails * bracket.works) ** 0.5)  # type: ignore[operator]
        if probe(middle):
            bracket.works = middle
        else:
            bracket.fails = middle
    return bracket


def largest(probe: Probe, first: int, runs: int = RUNS + 1) -> Bracket:
    """The largest value that works: doubled from `first` until one fails, then halved between."""
    bracket, value = Bracket(None, None), first
    for _ in range(runs):
        if probe(value):
            bracket.works = value
        else:
            bracket.fails = value
        following = next_size(bracket)
        if following is None:
            break
        value = following
    return bracket


def next_size(bracket: Bracket) -> int | None:
    """The next size to try; None where the largest is known."""
    if bracket.fails is None:
        return 2 * (bracket.works or 1)
    if bracket.works is None:
        return bracket.fails // 2 or None
    middle = (bracket.works + bracket.fails) // 2
    return middle if middle > bracket.works else None


def tight_limit(cell: Cell, live: int) -> int:
    """A hundredth more than the live peak, in whole granules of the driver."""
    slack = TINY_SLACK if "tiny" in cell.model else 0
    return -int(-(live * MARGIN + slack) // GRANULE) * GRANULE


def live_peak(runner: Runner, cell: Cell, budget: float | None = None) -> int | None:
    """The job's peak of live memory, as ours counts it without a limit; None where it does not complete."""
    line = runner.once(dataclasses.replace(cell, peer="ours", round=0, limit=None, tight=False), budget)
    return line.get("peak_live_bytes") if line["outcome"] == "completed" else None


def record(runner: Runner, cell: Cell, kind: str, **found: object) -> Line:
    """Appends what a search found."""
    line = {**dataclasses.asdict(cell), "kind": kind, "outcome": "completed", **found, **machine()}
    line |= {"emulated": True} if runner.emulate else {}
    results.append(runner.out, line)
    return line


def completes(runner: Runner, cell: Cell) -> bool:
    """Whether a cell completes, by its line."""
    return runner.once(cell)["outcome"] == "completed"


def smallest_limit(runner: Runner, cell: Cell, runs: int = RUNS) -> Line:
    """The smallest limit at which a cell's job completes under its peer, beside its live peak."""
    live, free = live_peak(runner, cell), runner.once(cell)
    if live is None or free["outcome"] != "completed":
        return record(runner, cell, "limit", smallest_limit_bytes=None, peak_live_bytes=live)
    known = free.get("bytes_limit") or free["nvml_max_bytes"]

    def probe(limit: int) -> bool:
        return completes(runner, dataclasses.replace(cell, limit=limit))

    found = smallest(probe, tight_limit(cell, live), known, runs)
    return record(
        runner, cell, "limit", smallest_limit_bytes=found.works, failing_limit_bytes=found.fails, peak_live_bytes=live
    )


def largest_batch(runner: Runner, cell: Cell, first: int, runs: int = RUNS + 1) -> Line:
    """The largest batch of the cell's one length that trains under its peer."""
    if already := results.find(runner.lines(), dataclasses.replace(cell, kind="largest")):
        return already

    def probe(batch: int) -> bool:
        return completes(runner, dataclasses.replace(cell, batch=batch))

    found = largest(probe, first, runs)
    return record(runner, cell, "largest", largest_batch=found.works, failing_batch=found.fails)


def situation_at_its_limit(runner: Runner, cell: Cell, seconds: float) -> Line | None:
    """A situation under a peer that has a hundredth more than what is live at the peak; some use the whole device.

    None where the time was over when the live peak was known; that has its line, and the situation is still to be run.
    """
    deadline = time.monotonic() + seconds
    if cell.situation in WHOLE_DEVICE:
        return runner.do(cell, min(runner.budget, seconds))
    live = live_peak(runner, cell, min(runner.budget, seconds))
    if live is None:
        return record(runner, cell, "situation", outcome="error", reason="without a limit, it does not complete")
    left = deadline - time.monotonic()
    return runner.do(cell, min(runner.budget, left), tight_limit(cell, live)) if left > LEAST_SECONDS else None
