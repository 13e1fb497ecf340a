"""`gmlake plot`: a recording or snapshot as a picture."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gmlake_jax.commands.command import Command
from gmlake_jax.commands.values import memory, moment
from gmlake_jax.errors import CommandError
from gmlake_jax.untrusted import visible

if TYPE_CHECKING:
    from gmlake_jax.history import Recording, Snapshot

_KINDS = ("timeline", "layout", "fragmentation", "compare")
_SUFFIXES = (".png", ".svg")
_POLICIES = ("gmlake", "bfc", "gmlake-uniform-2mib")


class Plot(Command):
    """Draw a recording, a snapshot or a trace as PNG or SVG.

      timeline       who holds memory over time, what is reserved, the limit, refusals
      layout         the physical memory, and which ranges share it: at the peak, or --at a time
      fragmentation  idle memory over time, and in which pieces it lies
      compare        the same requests under JAX's default allocator and under this one, replayed without a GPU

    FILE is whatever gmlake convert reads. Needs matplotlib: pip install matplotlib. Ends with 0; with 1 where
    the picture exists already or cannot be made; with 2 where FILE is no such file, or for wrong usage.

    Example:
      gmlake plot train.npz --kind layout -o layout.svg
    """

    order = 40

    def prepare(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", help="a recording, a snapshot or a trace")
        parser.add_argument("--kind", choices=_KINDS, default="timeline", help="which picture (timeline)")
        parser.add_argument("-o", "--output", metavar="OUT", help="PNG or SVG (FILE-KIND.png)")
        parser.add_argument("--at", metavar="SECONDS", type=moment, help="the moment of a layout (that of the peak)")
        parser.add_argument("--policy", choices=_POLICIES, help="replay the requests under this policy first")
        parser.add_argument("--limit", metavar="SIZE", type=memory, help="memory of the device in a replay: 20GiB")
        parser.add_argument("--force", action="store_true", help="overwrite the picture if it exists")

    def run(self, arguments: argparse.Namespace) -> int:
        from gmlake_jax.output import check_new, write_file
        from gmlake_jax.pictures.drawing import to_bytes

        output = arguments.output or f"{Path(arguments.file).name.partition('.')[0]}-{arguments.kind}.png"
        suffix = Path(output).suffix.lower()
        if suffix not in _SUFFIXES:
            raise CommandError(f"{output}: pictures are PNG or SVG; let the name end with .png or .svg", exit_code=2)
        check_new(output, arguments.force)
        write_file(output, to_bytes(_figure(arguments), suffix), force=arguments.force)
        print(f"Wrote {visible(output)}")
        return 0


def _figure(arguments: argparse.Namespace) -> Any:
    from gmlake_jax.history import HistoryError

    history = _history(arguments)
    draw = {"timeline": _timeline, "layout": _layout, "fragmentation": _fragmentation, "compare": _compare}
    try:
        return draw[arguments.kind](history, arguments)
    except HistoryError as error:
        raise HistoryError(f"{arguments.file}: {error}") from None


def _history(arguments: argparse.Namespace) -> Recording | Snapshot:
    from gmlake_jax.formats.registry import read_history, read_recording
    from gmlake_jax.formats.replayed import replayed_again

    if arguments.policy and arguments.kind != "compare":
        return replayed_again(read_recording(arguments.file), arguments.policy, arguments.limit)
    return read_history(arguments.file)


def _need_events(history: Recording | Snapshot) -> Recording:
    from gmlake_jax.history import HistoryError, Recording

    if not isinstance(history, Recording):
        raise HistoryError("a snapshot has no events; --kind layout and --kind fragmentation show it")
    return history


def _timeline(history: Recording | Snapshot, arguments: argparse.Namespace) -> Any:
    from gmlake_jax.pictures.draw_timeline import timeline_figure

    return timeline_figure(_need_events(history))


def _layout(history: Recording | Snapshot, arguments: argparse.Namespace) -> Any:
    from gmlake_jax.history import Recording
    from gmlake_jax.history.series import peak_snapshot
    from gmlake_jax.history.state import snapshot_at_time
    from gmlake_jax.pictures.draw_layout import layout_figure

    if isinstance(history, Recording):
        at = arguments.at
        history = peak_snapshot(history) if at is None else snapshot_at_time(history, int(at * 1e9))
    return layout_figure(history)


def _fragmentation(history: Recording | Snapshot, arguments: argparse.Namespace) -> Any:
    from gmlake_jax.pictures.draw_fragmentation import fragmentation_figure

    return fragmentation_figure(history)


def _compare(history: Recording | Snapshot, arguments: argparse.Namespace) -> Any:
    from gmlake_jax.formats.replayed import replayed_again
    from gmlake_jax.pictures.draw_compare import compare_figure

    recording = _need_events(history)
    policies = [arguments.policy if arguments.policy not in (None, "gmlake") else "bfc", "gmlake"]
    return compare_figure([replayed_again(recording, policy, arguments.limit) for policy in policies])
