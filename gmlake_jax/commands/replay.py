"""`gmlake replay`: what a recorded job would take under this allocator, or under another, without a GPU."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gmlake_jax.commands.command import Command
from gmlake_jax.commands.values import memory, positive, share, whole
from gmlake_jax.errors import CommandError
from gmlake_jax.progress import progress_bar
from gmlake_jax.sizes import format_bytes
from gmlake_jax.untrusted import visible

if TYPE_CHECKING:
    from gmlake_jax import _gmlake

POLICIES = ("gmlake", "gmlake-uniform-2mib", "bfc")

_TABLE = "{:<22} {:<19} {:>8} {:>10} {:>10} {:>7} {:>10} {:>6} {:>7} {:>10} {:>10}"
_HEADER = ("trace", "policy", "events", "peak live", "reserved", "", "min limit", "failed", "ns/op", "calls", "driver")


class Replay(Command):
    """Replay recorded allocations, and say what they take.

    Needs no GPU: the driver is a model that charges each call what an H200 charges. Policies: this allocator, the one
    of the GMLake paper (blocks of 2 MiB everywhere), and XLA's default (bfc). "reserved" is the peak of physical
    memory, "min limit" the smallest limit that serves every request. Traces are .npz files or the CSV that RMM logs;
    tests/traces/README.md describes the format. The churn fills a device with random requests.

    Examples:
      gmlake replay train.npz --find-min-limit
      gmlake replay *.npz --policy bfc --limit 20GiB --json
      gmlake replay --churn 0.95
    """

    order = 60

    def prepare(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("traces", metavar="TRACE", nargs="*", help="a recorded trace")
        parser.add_argument(
            "--policy", action="append", choices=POLICIES, help="may be given more than once (default: gmlake)"
        )
        limit = parser.add_mutually_exclusive_group()
        limit.add_argument("--limit", metavar="SIZE", type=memory, help="memory of the device: 20GiB")
        limit.add_argument("--find-min-limit", action="store_true", help="search the smallest limit that suffices")
        parser.add_argument("--passes", metavar="N", type=positive, default=1, help="go through each trace N times")
        parser.add_argument("--json", action="store_true", help="one JSON object a line")
        parser.add_argument("--verify", action="store_true", help="check that no byte ever has two owners")
        _prepare_churn(parser)

    def run(self, arguments: argparse.Namespace) -> int:
        if not arguments.traces and arguments.churn is None:
            raise CommandError("nothing to replay: give a TRACE, or --churn", exit_code=2)
        if not arguments.json:
            print(_TABLE.format(*_HEADER))
        for trace, limit in _traces(arguments):
            for policy in arguments.policy or ["gmlake"]:
                result = _replay(trace, policy, limit, arguments)
                print(json.dumps(result) if arguments.json else _row(result), flush=True)
        return 0


def _prepare_churn(parser: argparse.ArgumentParser) -> None:
    churn = parser.add_argument_group("churn")
    churn.add_argument("--churn", metavar="SHARE", type=share, help="keep this share of the device live: 0.95")
    churn.add_argument("--churn-limit", metavar="SIZE", type=memory, default=48 << 30, help="its memory (48GiB)")
    churn.add_argument("--churn-requests", metavar="N", type=positive, default=600, help="how many (600)")
    churn.add_argument("--seed", metavar="N", type=whole, default=7, help="of the random sizes and frees (7)")


def _traces(arguments: argparse.Namespace) -> Iterator[tuple[_gmlake.Trace, int | None]]:
    """Each trace with the limit that it runs under."""
    from gmlake_jax import _gmlake, traces  # NumPy and the native module: only for those who replay

    for path in arguments.traces:
        trace = traces.read_trace(path)
        if trace.peak_live_bytes == 0:
            raise traces.TraceError(f"{path}: nothing was allocated in it, so there is nothing to replay")
        yield trace, arguments.limit
    if arguments.churn is not None:
        trace = _gmlake.churn(
            f"churn-{arguments.churn:g}",
            utilisation=arguments.churn,
            limit_bytes=arguments.churn_limit,
            requests=arguments.churn_requests,
            seed=arguments.seed,
        )
        yield trace, arguments.limit or arguments.churn_limit


def _replay(trace: _gmlake.Trace, policy: str, limit: int | None, arguments: argparse.Namespace) -> dict[str, Any]:
    from gmlake_jax import _gmlake

    with progress_bar(f"{trace.name} {policy}") as advance:
        try:
            line = _gmlake.replay(
                trace,
                policy=policy,
                limit_bytes=limit,
                find_min_limit=arguments.find_min_limit,
                passes=arguments.passes,
                verify=arguments.verify,
                progress=advance,
            )
        except RuntimeError as error:
            raise CommandError(str(error)) from error
    result: dict[str, Any] = json.loads(line)
    return result


def _row(result: dict[str, Any]) -> str:
    live, reserved, least = (result[f"{name}_bytes"] for name in ("peak_live", "peak_reserved", "min_limit"))
    return _TABLE.format(
        visible(result["trace"]),
        result["policy"],
        result["events"],
        format_bytes(live),
        format_bytes(reserved),
        f"{reserved / live - 1:+.1%}",
        format_bytes(least) if least else "-",
        result["failures"],
        f"{result['ns_per_op']:.0f}",
        sum(result["driver_calls"].values()),
        f"{result['driver_time_us'] / 1000:.1f} ms",
    )
