"""The page docs/results/replay.md, out of the measurements of replay_report.py: tables, and a line on each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from measurements import Bar, Measurements, Result

PEERS = ("gmlake-uniform-2mib", "bfc")


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


def gib(size: int) -> str:
    return f"{size / 2**30:.2f}"


def trace_row(name: str, measured: Measurements) -> list[str]:
    one, three = measured.single[name], measured.passes[name]
    live, calls = one["peak_live_bytes"], sum(one["driver_calls"].values())
    return [
        name,
        gib(live),
        f"{one['min_limit_bytes'] / live:.4f}",
        f"{one['peak_reserved_bytes'] / live:.4f}",
        f"{one['driver_time_us'] / 1000:.0f} ms, {one['driver_time_us'] / one['duration_us']:.2%}",
        str(calls),
        f"{three['last_pass_driver_time_us'] / 1000:.2f} ms",
        f"{one['ns_per_op']:.0f}",
    ]


def peer_row(name: str, measured: Measurements) -> list[str]:
    live = measured.single[name]["peak_live_bytes"]
    uniform, bfc = (measured.peers[peer][name] for peer in PEERS)
    return [
        name,
        *[f"{peer['min_limit_bytes'] / live:.4f}" for peer in (uniform, bfc)],
        *[f"{peer['peak_reserved_bytes'] / live:.4f}" for peer in (uniform, bfc)],
        f"{uniform['driver_time_us'] / 1000:.0f} ms",
        f"{uniform['driver_time_us'] / measured.single[name]['driver_time_us']:.0f}",
    ]


def churn_rows(measured: Measurements) -> Iterable[list[str]]:
    for share, results in measured.churn.items():
        for policy, result in results.items():
            time = f"{result['driver_time_us'] / 1000:.0f} ms"
            yield [str(share), policy, str(result["failures"]), time, gib(result["peak_reserved_bytes"])]


def adversary_rows(measured: Measurements) -> Iterable[list[str]]:
    for kind in sorted({result["trace"] for result in measured.adversaries}):
        jobs = [result for result in measured.adversaries if result["trace"] == kind]
        refused = sum(result["failures"] for result in jobs)
        events = sum(result["events"] for result in jobs)
        yield [kind, str(len(jobs)), str(sum(job["failures"] > 0 for job in jobs)), f"{refused} of {events} events"]


def speed_row(name: str, result: Result) -> list[str]:
    cells = [name]
    for which in ("first_pass", "later_pass"):
        one = result[which]
        cells += [f"{one['gmlake_ns_per_op']:.0f}", f"{one['tsl_bfc_ns_per_op']:.0f}", f"{one['ratio']:.2f}"]
    return cells


INTRODUCTION = """\
# The allocation policy on recorded jobs

Written by `python research/replay_report.py`, which needs no GPU; the raw lines are in `replay.jsonl`. The jobs are
those of `tests/traces`. Driver calls are charged what an H200 charges (`cc/driver/cost_table.cc`); memory is counted by
the modelled driver, not by the policy. `cc/bench/replay.h` says what a replay does not cover.

## Bars
"""

JOBS = """\
## Each job

The smallest limit that serves every request, and the physical memory held without a limit, both over the peak of live
bytes; driver time of the first pass, also as a share of the recorded duration; driver time of the third pass.
"""

OTHERS = """\
## The same jobs under other policies

"2 MiB" is the policy of the GMLake paper; "BFC" is XLA's default, with one region to find the limit, and regions that
grow without one.
"""

CHURN = """\
## Churn

600 requests, log-uniform from 2 MiB to 4 GiB, random frees, a device of 48 GiB kept full to the share. On an H200 the
driver's own pool took 54 ms at 0.95, and refused 73 requests.
"""

ADVERSARIES = """\
## Jobs made to break allocators

Live bytes reach 98 % of the limit; `cc/bench/adversary.h` describes the kinds. Blocks of 2 MiB everywhere serve all of
them, BFC fails every kind.
"""

SPEED = """\
## Speed

Nanoseconds per event beside the real tsl::BFCAllocator in the same process, without the driver: a new allocator's first
pass, and later ones.
"""


def job_table(measured: Measurements) -> str:
    header = ["trace", "live GiB", "limit", "reserved", "driver time", "calls", "third pass", "ns/event"]
    return table(header, [trace_row(name, measured) for name in measured.single])


def peer_table(measured: Measurements) -> str:
    ratios = [f"{what}, {policy}" for what in ("limit", "reserved") for policy in ("2 MiB", "BFC")]
    header = ["trace", *ratios, "driver time, 2 MiB", "times ours"]
    return table(header, [peer_row(name, measured) for name in measured.single])


def speed_table(measured: Measurements) -> str:
    header = ["trace", "first, ours", "BFC", "ratio", "later, ours", "BFC", "ratio"]
    return table(header, [speed_row(name, result) for name, result in measured.speed.items()])


def verdicts(bars: Iterable[Bar]) -> str:
    rows = [(bar.measure, bar.wanted, bar.measured, "yes" if bar.is_met else "**no**") for bar in bars]
    return table(["measure", "wanted", "measured", "met"], rows)


def document(measured: Measurements, bars: Iterable[Bar]) -> str:
    parts = [
        (INTRODUCTION, verdicts(bars)),
        (JOBS, job_table(measured)),
        (OTHERS, peer_table(measured)),
        (CHURN, table(["share", "policy", "refused", "driver time", "reserved GiB"], churn_rows(measured))),
        (ADVERSARIES, table(["kind", "jobs", "with a refusal", "refused"], adversary_rows(measured))),
    ]
    if measured.speed:
        parts.append((SPEED, speed_table(measured)))
    return "\n".join(text + "\n" + rows for text, rows in parts)
