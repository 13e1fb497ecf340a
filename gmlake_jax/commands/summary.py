"""`gmlake summary`: a statistics file on one screen."""

from __future__ import annotations

import argparse

from gmlake_jax import stats_file
from gmlake_jax.commands.command import Command
from gmlake_jax.commands.values import whole
from gmlake_jax.summary import format_summary


class Summary(Command):
    """Print the memory statistics that a program left behind, on one screen.

    Shows the same text as gmlake_jax.memory_summary() in the program itself.

    Example:
      gmlake run --stats-file train.json train.py && gmlake summary train.json
    """

    order = 30

    def prepare(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", help="a statistics file")
        parser.add_argument("--device", metavar="N", type=whole, default=0, help="its CUDA ordinal in the program (0)")

    def run(self, arguments: argparse.Namespace) -> int:
        stats = stats_file.read_device(arguments.file, arguments.device)
        print(format_summary(stats, f"gmlake_jax, device {arguments.device}, at the end of the program"))
        return 0
