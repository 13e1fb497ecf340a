#!/usr/bin/env python3
"""Measures the allocation policy on every recorded job, and writes docs/results/replay.md and replay.jsonl.

    python research/replay_report.py [--skip-speed]

Builds what it needs with Bazel; needs no GPU. Everything is replayed over the modelled driver (cc/bench/replay.h says
what that covers); the speed beside the real tsl::BFCAllocator links TensorFlow's wheel, which --skip-speed leaves out.
Prints what the policy is held to and what was measured; exits with 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import replay_document
from measurements import Bar, Measurements, Result
from replay_document import PEERS

ROOT = Path(__file__).resolve().parents[1]
TRACES = sorted((ROOT / "tests" / "traces").glob("*.npz"))
RESULTS = ROOT / "docs" / "results"
BINARIES = ROOT / "bazel-bin" / "cc" / "bench"

CHURNS = (0.95, 0.99)
ADVERSARY_LIMITS_MIB = (22528, 49152)
ADVERSARY_SEEDS = range(1, 11)
WORST_LEAST, WORST_RESERVED, WORST_AGAIN = 1.020, 1.06, 0.01  # bars that each trace is held to
QUIET_FROM_THE_SECOND_PASS = ("jax-train_buckets", "jax-eager_init")


# --- measuring


def run(binary: str, *arguments: str) -> list[Result]:
    command = [str(BINARIES / binary), *arguments]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return [json.loads(line) for line in output.splitlines()]


def by_trace(results: Iterable[Result]) -> dict[str, Result]:
    return {result["trace"]: result for result in results}


def build(*binaries: str) -> None:
    targets = [f"//cc/bench:{binary}" for binary in binaries]
    subprocess.run([ROOT / "bazel" / "run", "build", *targets], cwd=ROOT, check=True, stderr=subprocess.DEVNULL)


def measure(with_speed: bool) -> Measurements:
    build("replay_main", *(["speed_main"] if with_speed else []))
    traces = [str(trace) for trace in TRACES]
    return Measurements(
        single=by_trace(run("replay_main", "--find-min-limit", *traces)),
        passes=by_trace(run("replay_main", "--passes=3", "--repeats=0", *traces)),
        peers={
            peer: by_trace(run("replay_main", f"--policy={peer}", "--find-min-limit", "--repeats=1", *traces))
            for peer in PEERS
        },
        churn={share: measure_churn(share) for share in CHURNS},
        adversaries=measure_adversaries(),
        speed=by_trace(run("speed_main", *traces)) if with_speed else {},
    )


def measure_churn(share: float) -> dict[str, Result]:
    policies = [f"--policy={policy}" for policy in ("gmlake", *PEERS)]
    return {result["policy"]: result for result in run("replay_main", f"--churn={share}", *policies)}


def measure_adversaries() -> list[Result]:
    return [
        result | {"seed": seed}
        for limit in ADVERSARY_LIMITS_MIB
        for seed in ADVERSARY_SEEDS
        for result in run(
            "replay_main", "--adversary=all", f"--churn-limit={limit << 20}", f"--seed={seed}", "--repeats=0"
        )
    ]


# --- the bars


def memory_bars(m: Measurements) -> list[Bar]:
    bfc = m.peers["bfc"]
    least, reserved = m.ratios("min_limit_bytes"), m.ratios("peak_reserved_bytes")
    above = sum(one["min_limit_bytes"] > bfc[name]["min_limit_bytes"] for name, one in m.single.items())
    return [
        Bar("smallest limit / peak live, mean", statistics.mean(least), 1.010),
        Bar("smallest limit / peak live, worst", max(least), WORST_LEAST),
        Bar("traces whose smallest limit is above BFC's", above, 0, "{:.0f}"),
        Bar("peak reserved / peak live without a limit, mean", statistics.mean(reserved), 1.03),
        Bar("peak reserved / peak live without a limit, worst", max(reserved), WORST_RESERVED),
    ]


def driver_time_bars(m: Measurements) -> list[Bar]:
    uniform = m.peers["gmlake-uniform-2mib"]
    shares = m.ratios("driver_time_us", "duration_us")
    times_less = [uniform[name]["driver_time_us"] / one["driver_time_us"] for name, one in m.single.items()]
    quiet = [one for name in QUIET_FROM_THE_SECOND_PASS for one in m.passes[name]["passes"][1:]]
    return [
        Bar("driver time / duration, first pass, mean", statistics.mean(shares), 0.02, "{:.2%}"),
        Bar("driver time / duration, first pass, worst", max(shares), 0.04, "{:.2%}"),
        Bar("driver time of uniform 2 MiB blocks / ours, mean", statistics.mean(times_less), 10, "{:.1f}", True),
        repetition_bar(m),
        Bar(
            f"driver calls of {' and '.join(QUIET_FROM_THE_SECOND_PASS)} after the first pass",
            sum(sum(one["driver_calls"].values()) for one in quiet),
            0,
            "{:.0f}",
        ),
    ]


def repetition_bar(m: Measurements) -> Bar:
    again = [one["last_pass_driver_time_us"] / one["first_pass_driver_time_us"] for one in m.passes.values()]
    return Bar("driver time, third pass / first pass, worst", max(again), WORST_AGAIN, "{:.2%}")


def churn_bars(m: Measurements) -> Iterator[Bar]:
    for share, results in m.churn.items():
        ours = results["gmlake"]
        yield Bar(f"churn {share}: refused requests", ours["failures"], 0, "{:.0f}")
        yield Bar(f"churn {share}: driver time, ms", ours["driver_time_us"] / 1000, 150, "{:.0f}")


def bars(m: Measurements) -> list[Bar]:
    refused = sum(one["failures"] > 0 for one in m.adversaries)
    speed = [one["first_pass"]["ratio"] for one in m.speed.values()]
    return [
        *memory_bars(m),
        *driver_time_bars(m),
        *(
            [Bar("ns per event / that of tsl::BFCAllocator, mean", statistics.mean(speed), 0.8, "{:.2f}")]
            if speed
            else []
        ),
        *churn_bars(m),
        Bar("adversarial jobs with a refused request", refused, 0, "{:.0f}"),
    ]


# --- writing


def lines(measured: Measurements) -> Iterable[Result]:
    yield from measured.single.values()
    yield from measured.passes.values()
    for peer in measured.peers.values():
        yield from peer.values()
    for policies in measured.churn.values():
        yield from policies.values()
    yield from measured.adversaries
    yield from measured.speed.values()


def write_results(name: str, page: str, raw: Iterable[Result]) -> None:
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{name}.md").write_text(page)
    (RESULTS / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in raw))


def show_bars(bars: list[Bar]) -> int:
    """Prints them; returns the status to exit with."""
    for bar in bars:
        print(f"{'met   ' if bar.is_met else 'MISSED'} {bar.measured:>9} (wanted {bar.wanted}) {bar.measure}")
    return 0 if all(bar.is_met for bar in bars) else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--skip-speed", action="store_true", help="leave out the comparison that links TensorFlow")
    measured = measure(with_speed=not parser.parse_args().skip_speed)
    write_results("replay", replay_document.document(measured, bars(measured)), lines(measured))
    return show_bars(bars(measured))


if __name__ == "__main__":
    sys.exit(main())
