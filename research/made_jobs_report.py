#!/usr/bin/env python3
"""Measures the allocation policy on made jobs, and writes docs/results/made_jobs.md and made_jobs.jsonl.

    python research/made_jobs_report.py [--seed=N] [--only=KIND ...] [--traces=FOLDER]

The jobs are those of research/made_jobs, to which no threshold is fitted: what the policy does on work that its authors
have not seen. A seed other than the first prints the same page and writes nothing; --traces keeps the traces there.
Exits with 1 where a bar of research/replay_report.py is missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import made_jobs
from measurements import Bar, Measurements, Result
from replay_document import gib, table, verdicts
from replay_report import (
    WORST_AGAIN,
    WORST_LEAST,
    WORST_RESERVED,
    build,
    by_trace,
    memory_bars,
    repetition_bar,
    run,
    show_bars,
    write_results,
)

FIRST_SEED = 1
GRANULE = 2 << 20

INTRODUCTION = """\
# The allocation policy on made jobs

Written by `python research/made_jobs_report.py`, which needs no GPU; the raw lines are in `made_jobs.jsonl`. The jobs
are those of `research/made_jobs`, seed {seed}; nobody recorded them, and no threshold is fitted to them. The modelled
driver is that of `replay.md`.
"""

BARS = """\
## Bars

Those on memory and repetition that `replay.md` has. There is none on the share of driver time: these clocks are made
up.
"""

JOBS = """\
## Each job

The smallest limit that serves every request, and that of the BFC model with one region; what the peak would be if every
live request from 2 MiB on were rounded up to a multiple of that; the physical memory held without a limit; all over the
peak of live bytes. Then the first pass's driver time, per GiB of that peak, and as a share of the made-up duration; the
third pass's over the first's; and nanoseconds an event without the driver. Bold: a bar is missed. Memory is held in
granules of 2 MiB, which BFC's model need not do: one of them is 0.0007 of 3 GiB.
"""

HEADER = (
    *("job", "live GiB", "limit", "BFC's", "in 2 MiB", "reserved"),
    *("driver time", "ms/GiB", "share", "third pass", "ns/event"),
)


def measure(traces: list[str]) -> Measurements:
    build("replay_main")
    return Measurements(
        single=by_trace(run("replay_main", "--find-min-limit", "--repeats=1", *traces)),
        passes=by_trace(run("replay_main", "--passes=3", "--repeats=0", *traces)),
        peers={"bfc": by_trace(run("replay_main", "--policy=bfc", "--find-min-limit", "--repeats=0", *traces))},
    )


def bars(measured: Measurements) -> list[Bar]:
    return [*memory_bars(measured), repetition_bar(measured)]


def peak_in_granules(job: made_jobs.Job) -> int:
    live = peak = 0
    for what, _, size, _, _ in job.events:
        rounded = size if size < GRANULE else -(-size // GRANULE) * GRANULE
        live += rounded if what == made_jobs.TAKEN else -rounded
        peak = max(peak, live)
    return peak


# --- the page


def marked(text: str, is_missed: bool) -> str:
    return f"**{text}**" if is_missed else text


def row(kind: str, measured: Measurements, seed: int) -> list[str]:
    one, three, bfc = measured.single[kind], measured.passes[kind], measured.peers["bfc"][kind]
    live, time = one["peak_live_bytes"], one["driver_time_us"]
    least, reserved = one["min_limit_bytes"], one["peak_reserved_bytes"]
    again = three["last_pass_driver_time_us"] / three["first_pass_driver_time_us"]
    return [
        kind,
        gib(live),
        marked(f"{least / live:.4f}", least > min(WORST_LEAST * live, bfc["min_limit_bytes"])),
        f"{bfc['min_limit_bytes'] / live:.4f}",
        f"{peak_in_granules(made_jobs.make(kind, seed)) / live:.4f}",
        marked(f"{reserved / live:.4f}", reserved > WORST_RESERVED * live),
        f"{time / 1000:.0f} ms",
        f"{time / 1000 / (live / 2**30):.1f}",
        f"{time / one['duration_us']:.1%}",
        marked(f"{again:.2%}", again > WORST_AGAIN),
        f"{one['ns_per_op']:.0f}",
    ]


def page(measured: Measurements, seed: int) -> str:
    jobs = table(HEADER, [row(kind, measured, seed) for kind in measured.single])
    return "\n".join([INTRODUCTION.format(seed=seed), BARS, verdicts(bars(measured)), JOBS, jobs])


def lines(measured: Measurements) -> Iterator[Result]:
    for results in (measured.single, measured.passes, measured.peers["bfc"]):
        yield from results.values()


def report(folder: Path, kinds: list[str], seed: int) -> int:
    for kind in kinds:
        made_jobs.make(kind, seed).save(folder / f"{kind}.npz")
    measured = measure([str(folder / f"{kind}.npz") for kind in kinds])
    if seed == FIRST_SEED and kinds == list(made_jobs.KINDS):
        write_results("made_jobs", page(measured, seed), lines(measured))
    else:
        print(page(measured, seed))
    return show_bars(bars(measured))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=FIRST_SEED)
    parser.add_argument("--only", nargs="+", default=list(made_jobs.KINDS), choices=list(made_jobs.KINDS))
    parser.add_argument("--traces", type=Path, help="a folder to keep the traces in")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.traces or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        return report(folder, options.only, options.seed)


if __name__ == "__main__":
    sys.exit(main())
