"""`gmlake compare`: what grew between two states."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from gmlake_jax.commands.command import Command
from gmlake_jax.sizes import format_bytes

if TYPE_CHECKING:
    from gmlake_jax.history import Snapshot
    from gmlake_jax.history.difference import Change

_SHOWN = 20
_SIZES = (("in use", "bytes_in_use"), ("requested", "bytes_requested"), ("reserved", "bytes_reserved"))
_COUNTS = (("leases", "num_live"), ("physical blocks", "num_blocks"), ("ranges", "num_ranges"))


class Compare(Command):
    """Say what grew between two snapshots or recordings.

    Live memory by annotation, or by size where nothing is annotated, what grew most first. Of a recording, its end is
    compared, or with --peak its peak. Any file that gmlake convert reads will do. Ends with 0; with 2 where a file is
    none of these, or for wrong usage.

    Example:
      gmlake compare step100.npz step900.npz
    """

    order = 50

    def prepare(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("before", metavar="A", help="a snapshot or recording")
        parser.add_argument("after", metavar="B", help="a later one")
        parser.add_argument("--by", choices=("annotation", "size"), help="what to group by (annotations, if any)")
        parser.add_argument("--peak", action="store_true", help="compare the peaks of two recordings")
        parser.add_argument("--all", action="store_true", help="show what did not change, too, and every line")
        parser.add_argument("--json", action="store_true", help="one JSON object")

    def run(self, arguments: argparse.Namespace) -> int:
        from gmlake_jax.history.difference import changes_between, has_annotations

        before, after = (_state(path, arguments.peak) for path in (arguments.before, arguments.after))
        by = arguments.by or ("annotation" if any(map(has_annotations, (before, after))) else "size")
        changes = changes_between(before, after, by == "size")
        if arguments.json:
            print(json.dumps(_as_json(before, after, by, changes)))
        else:
            _print(before, after, by, changes, arguments.all)
        return 0


def _state(path: str, peak: bool) -> Snapshot:
    from gmlake_jax.formats.registry import read_history, read_recording
    from gmlake_jax.history import Snapshot
    from gmlake_jax.history.series import peak_snapshot
    from gmlake_jax.history.state import last_snapshot

    if peak:
        return peak_snapshot(read_recording(path))
    history = read_history(path)
    return history if isinstance(history, Snapshot) else last_snapshot(history)


def _as_json(before: Snapshot, after: Snapshot, by: str, changes: list[Change]) -> dict[str, object]:
    from gmlake_jax.history.difference import totals

    shown = [asdict(change) | {"growth": change.growth} for change in changes]
    return {"by": by, "before": totals(before), "after": totals(after), "changes": shown}


def _print(before: Snapshot, after: Snapshot, by: str, changes: list[Change], everything: bool) -> None:
    from gmlake_jax.tables import print_table

    print_table(("", "A", "B", "change"), _total_rows(before, after))
    print()
    changes = changes if everything else [change for change in changes if change.growth]
    shown = changes if everything else _ends(changes)
    if shown:
        print_table((by, "A", "B", "change", "leases"), [_change_row(change) for change in shown])
    else:
        print("no group of leases changed its size")
    if len(changes) > len(shown):
        print(f"and {len(changes) - len(shown)} that changed less; --all shows them")


def _total_rows(before: Snapshot, after: Snapshot) -> list[tuple[str, ...]]:
    from gmlake_jax.history.difference import totals

    first, second = totals(before), totals(after)
    rows = [_size_row(name, first[key], second[key]) for name, key in _SIZES]
    return rows + [_count_row(name, first[key], second[key]) for name, key in _COUNTS]


def _ends(changes: list[Change]) -> list[Change]:
    """What grew most and what shrank most."""
    if len(changes) <= _SHOWN:
        return changes
    return [*changes[: _SHOWN - 5], *changes[-5:]]


def _signed(count: int) -> str:
    return f"{'+' if count > 0 else ''}{format_bytes(count)}" if count else "-"


def _size_row(name: str, before: int, after: int) -> tuple[str, ...]:
    return name, format_bytes(before), format_bytes(after), _signed(after - before)


def _count_row(name: str, before: int, after: int) -> tuple[str, ...]:
    return name, f"{before:,}", f"{after:,}", f"{after - before:+,}" if after != before else "-"


def _change_row(change: Change) -> tuple[str, ...]:
    sizes = _size_row(change.name, *change.bytes)
    before, after = change.count
    return (*sizes, f"{before:,}" if before == after else f"{before:,} → {after:,}")
