"""`gmlake report`: a recording as one HTML page that opens offline."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from gmlake_jax.commands.command import Command
from gmlake_jax.commands.values import memory
from gmlake_jax.untrusted import visible

if TYPE_CHECKING:
    from gmlake_jax.history import Recording

_POLICIES = ("bfc", "gmlake")


class Report(Command):
    """Write a recording or a trace as one HTML page that needs no network.

    Memory over time, every buffer with its size and annotation, the layout of memory with the ranges that share it, and
    the same requests under JAX's default allocator and under this one side by side. FILE is whatever gmlake convert
    reads; a trace, which has no addresses, is replayed under this allocator. Needs plotly:
    pip install plotly. Ends with 0; with 1 where the page exists already or cannot be made; with 2 where
    FILE is no such file, or for wrong usage.

    Example:
      gmlake report train.npz -o train.html
    """

    order = 45

    def prepare(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", help="a recording or a trace")
        parser.add_argument("-o", "--output", metavar="OUT", help="the page (FILE.html)")
        parser.add_argument("--limit", metavar="SIZE", type=memory, help="memory of the device in replays: 20GiB")
        parser.add_argument("--no-compare", action="store_true", help="leave out the other allocators")
        parser.add_argument("--force", action="store_true", help="overwrite the page if it exists")

    def run(self, arguments: argparse.Namespace) -> int:
        from gmlake_jax.output import check_new, write_file
        from gmlake_jax.pictures.page import report_page

        output = arguments.output or f"{Path(arguments.file).name.partition('.')[0]}.html"
        check_new(output, arguments.force)
        recording, others = _histories(arguments)
        write_file(output, report_page(recording, others), force=arguments.force)
        print(f"Wrote {visible(output)}")
        return 0


def _histories(arguments: argparse.Namespace) -> tuple[Recording, list[Recording]]:
    from gmlake_jax.formats.registry import read_recording
    from gmlake_jax.formats.replayed import replayed_again
    from gmlake_jax.history import HistoryError

    recording = read_recording(arguments.file)
    try:
        is_trace = recording.about.allocator == "trace"
        compared = not arguments.no_compare
        others = [replayed_again(recording, policy, arguments.limit) for policy in _POLICIES if compared]
        shown = replayed_again(recording, "gmlake", arguments.limit) if is_trace else recording
    except HistoryError as error:
        raise HistoryError(f"{arguments.file}: {error}") from None
    return shown, others
