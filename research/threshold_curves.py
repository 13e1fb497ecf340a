#!/usr/bin/env python3
"""Sweeps the thresholds of the policy over the recorded jobs, and draws docs/figures/thresholds.svg.

    python research/threshold_curves.py [NAME...]

One row of curves for each threshold of cc/core/tables/thresholds.h, or for those named: memory, driver time, churn and
refusals at each value, with the others as they are; the dot is the value in use. Needs no GPU; builds what it needs
with Bazel. Numbers go to docs/results/thresholds.jsonl; those of thresholds that are not named stay there.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import replay_report
from svg import Curve, Panel, Sheet

ROOT = Path(__file__).resolve().parents[1]
NUMBERS = ROOT / "docs" / "results" / "thresholds.jsonl"
PICTURE = ROOT / "docs" / "figures" / "thresholds.svg"
MIB = 1 << 20

# What is tried, and what is in use.
SWEEPS: dict[str, tuple[Sequence[int], int]] = {
    "limit_per_seams": ([32, 64, 128, 256], 128),
    "largest_own": ([64 * MIB, 128 * MIB, 256 * MIB, 512 * MIB], 256 * MIB),
    "request_per_own": ([2, 4, 8, 16], 8),
    "headroom_per_own": ([2, 4, 8, 16], 8),
    "largest_shared": ([16 * MIB, 32 * MIB, 64 * MIB, 128 * MIB], 64 * MIB),
    "peak_per_shared": ([32, 64, 128, 256], 128),
    "headroom_per_shared": ([8, 16, 32, 64], 32),
    "peak_per_slack": ([16, 32, 64, 128], 64),
    "limit_per_near": ([1, 2, 4, 8], 4),
    "spare_per_seams": ([2, 4, 8, 16], 4),
    "end_per_leftover": ([1, 2, 4, 8], 4),
}
CHURN_SEEDS = (7, 8, 9)
ADVERSARIES = ("alternating", "loading", "power", "settled")  # those that are the first to be refused
ADVERSARY_SEEDS = (1, 2, 3)
ADVERSARY_LIMIT = 22528 * MIB


@dataclass(frozen=True)
class Point:
    """One value of one threshold, and what came of it."""

    threshold: str
    value: int
    limit_mean: float  # smallest limit / peak live
    limit_worst: float
    time_mean: float  # driver time of the first pass / duration
    time_worst: float
    churn_ms: float  # driver time of a churn at 0.99, worst seed
    refused: int  # requests of adversarial jobs and of churns


def measure(threshold: str, value: int) -> Point:
    changed = f"--threshold={threshold}:{value}"
    traces = [str(trace) for trace in replay_report.TRACES]
    jobs = replay_report.run("replay_main", changed, "--find-min-limit", "--repeats=0", *traces)
    churns = [
        replay_report.run("replay_main", changed, "--churn=0.99", f"--seed={seed}", "--repeats=0")[0]
        for seed in CHURN_SEEDS
    ]
    limits = [job["min_limit_bytes"] / job["peak_live_bytes"] for job in jobs]
    times = [job["driver_time_us"] / job["duration_us"] for job in jobs]
    return Point(
        threshold,
        value,
        statistics.mean(limits),
        max(limits),
        statistics.mean(times),
        max(times),
        max(churn["driver_time_us"] for churn in churns) / 1000,
        sum(job["failures"] for job in [*churns, *adversaries(changed)]),
    )


def adversaries(changed: str) -> list[replay_report.Result]:
    limit = f"--churn-limit={ADVERSARY_LIMIT}"
    return [
        job
        for name in ADVERSARIES
        for seed in ADVERSARY_SEEDS
        for job in replay_report.run(
            "replay_main", changed, f"--adversary={name}", limit, f"--seed={seed}", "--repeats=0"
        )
    ]


def read() -> list[Point]:
    if not NUMBERS.exists():
        return []
    return [Point(**json.loads(line)) for line in NUMBERS.read_text().splitlines()]


def in_words(value: int) -> str:
    return f"{value // MIB} MiB" if value >= MIB else f"1/{value}"


def row(name: str, points: list[Point]) -> list[Panel]:
    used = SWEEPS[name][1]
    names = [in_words(point.value) for point in points]
    dot = [point.value for point in points].index(used)

    def panel(title: str, *curves: Curve) -> Panel:
        return Panel(title, names, list(curves), dot)

    return [
        panel(
            f"{name}: limit / live, %",
            Curve("worst", [100 * (p.limit_worst - 1) for p in points]),
            Curve("mean", [100 * (p.limit_mean - 1) for p in points]),
        ),
        panel(
            "driver time / duration, %",
            Curve("worst", [100 * p.time_worst for p in points]),
            Curve("mean", [100 * p.time_mean for p in points]),
        ),
        panel("churn at 0.99, ms", Curve("worst", [p.churn_ms for p in points])),
        panel("refused requests", Curve("", [float(p.refused) for p in points])),
    ]


def main() -> None:
    wanted = sys.argv[1:] or list(SWEEPS)
    replay_report.build("replay_main")
    points = [point for point in read() if point.threshold not in wanted]
    for name in wanted:
        for value in SWEEPS[name][0]:
            points.append(measure(name, value))
            print(json.dumps(asdict(points[-1])), flush=True)
    NUMBERS.write_text("".join(json.dumps(asdict(point)) + "\n" for point in points))
    rows = [row(name, [p for p in points if p.threshold == name]) for name in SWEEPS]
    PICTURE.write_text(Sheet([r for r in rows if r[0].names]).draw())


if __name__ == "__main__":
    main()
