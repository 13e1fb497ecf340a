"""`gmlake top`: the memory of running programs, live."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gmlake_jax.commands.command import Command
from gmlake_jax.commands.values import seconds, whole
from gmlake_jax.output import is_terminal
from gmlake_jax.sizes import format_bytes

_HEAD = (
    "program",
    "pid",
    "gpu",
    "in use",
    "reserved",
    "limit",
    "",
    "idle",
    "scattered",
    "allocs/s",
    "refused",
    "calls/s",
)
_BAR = 12

Pages = dict[int, dict[str, Any]]


class Top(Command):
    """Show the memory of running programs, live.

    Every program that runs on the allocator shows its statistics in a page of shared memory, once a second, unless
    GMLAKE_TOP=0. Only the programs of the same user are seen (root sees all), and those of other containers are not.
    "gpu" is the CUDA ordinal, as the program counts its devices. The bar is memory in use (#) and idle (-) against the
    limit; "scattered" is the share of idle memory outside its largest piece, and harmless here; calls are those of the
    driver. Prints once where the output is no terminal, or with --once. Ends with 0; with 1 where --once
    finds no program; with 2 for wrong usage.

    Examples:
      gmlake top
      gmlake top --once --json
    """

    order = 25

    def prepare(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--once", action="store_true", help="print once and end")
        parser.add_argument("--json", action="store_true", help="print once: one JSON object a program")
        parser.add_argument("--interval", metavar="S", type=seconds, default=1.0, help="seconds between looks (1)")
        parser.add_argument(
            "--pid", metavar="PID", type=whole, action="append", help="only this program; may be repeated"
        )

    def run(self, arguments: argparse.Namespace) -> int:
        if arguments.json:
            pages = _look(arguments.pid)
            for page in pages.values():
                print(json.dumps(page))
            return 0 if pages else 1
        if arguments.once or not is_terminal(sys.stdout):
            return _print_once(_look(arguments.pid))
        _watch(arguments)
        return 0


def _look(pids: list[int] | None) -> Pages:
    from gmlake_jax.live_page import running_pages

    return {page["pid"]: page for page in running_pages() if not pids or page["pid"] in pids}


def _print_once(pages: Pages) -> int:
    from gmlake_jax.tables import plain_table

    if not pages:
        print("no program of yours runs on gmlake_jax")
        return 1
    print(plain_table(_HEAD, list(rows_of(pages, {}))))
    return 0


def _watch(arguments: argparse.Namespace) -> None:
    try:
        from rich.live import Live
    except ImportError:
        _watch_plainly(arguments)
        return
    before: Pages = {}
    with Live(screen=True, auto_refresh=False) as live:
        while True:
            now = _look(arguments.pid)
            live.update(_view(now, before), refresh=True)
            time.sleep(arguments.interval)
            before = now


def _view(now: Pages, before: Pages) -> Any:
    from gmlake_jax.tables import rich_table

    title = f"gmlake top  ·  {time.strftime('%H:%M:%S')}  ·  {len(now)} program{'s' * (len(now) != 1)}  ·  Ctrl-C ends"
    return rich_table(_HEAD, list(rows_of(now, before)), title)


def _watch_plainly(arguments: argparse.Namespace) -> None:
    from gmlake_jax.tables import plain_table

    before: Pages = {}
    while True:
        now = _look(arguments.pid)
        print("\x1b[H\x1b[2J" + plain_table(_HEAD, list(rows_of(now, before))), flush=True)
        time.sleep(arguments.interval)
        before = now


def rows_of(now: Pages, before: Pages) -> Iterator[tuple[str, ...]]:
    """A line for each device of each program; rates need an earlier look."""
    for pid, page in now.items():
        earlier = before.get(pid)
        known = _by_ordinal(earlier) if earlier else {}
        for ordinal, stats in _by_ordinal(page).items():
            seconds = page["time"] - earlier["time"] if earlier else 0.0
            yield _row(page, ordinal, stats, known.get(ordinal), seconds)


def _by_ordinal(page: Mapping[str, Any]) -> dict[int, Mapping[str, Any]]:
    """The devices by CUDA ordinal; a program need not have all."""
    devices = page["devices"]
    return dict(zip(page.get("ordinals", range(len(devices))), devices, strict=True))


def _row(
    page: Mapping[str, Any], ordinal: int, stats: Mapping[str, Any], last: Mapping[str, Any] | None, seconds: float
) -> tuple[str, ...]:
    sizes = [format_bytes(stats[key]) for key in ("bytes_in_use", "bytes_reserved", "bytes_limit")]
    allocs, calls = (_rate(count, stats, last, seconds) for count in (_allocs, _calls))
    idle, scattered = format_bytes(stats["bytes_idle"]), f"{100 * stats['fragmentation']:.0f} %"
    rest = (bar(stats), idle, scattered, allocs, f"{stats['num_failures']:,}", calls)
    return (page["program"][:40], str(page["pid"]), str(ordinal), *sizes, *rest)


def _allocs(stats: Mapping[str, Any]) -> int:
    return int(stats["num_allocs"])


def _calls(stats: Mapping[str, Any]) -> int:
    return sum(count for name, count in stats["driver_calls"].items() if name != "time_us")


def _rate(
    count: Callable[[Mapping[str, Any]], int], now: Mapping[str, Any], before: Mapping[str, Any] | None, seconds: float
) -> str:
    return f"{(count(now) - count(before)) / seconds:,.0f}" if before is not None and seconds > 0 else "-"


def bar(stats: Mapping[str, Any]) -> str:
    """Memory in use and idle against the limit."""
    limit = max(stats["bytes_limit"], 1)
    used = min(round(_BAR * stats["bytes_in_use"] / limit), _BAR)
    held = min(max(round(_BAR * stats["bytes_reserved"] / limit), used), _BAR)
    return f"[{'#' * used}{'-' * (held - used)}{' ' * (_BAR - held)}]"
