"""`gmlake stats`: the numbers of a statistics file, one a line or as JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

from gmlake_jax import stats_file
from gmlake_jax.commands.command import Command
from gmlake_jax.commands.values import whole
from gmlake_jax.untrusted import visible


def _flatten(stats: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in stats.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


class Stats(Command):
    """Print the memory statistics that a program left behind.

    A program run with GMLAKE_STATS_FILE=FILE (or `gmlake run --stats-file FILE`) writes FILE when it ends. Each
    number is defined in docs/stats.md.

    Example:
      gmlake run --stats-file train.json train.py && gmlake stats train.json
    """

    order = 20

    def prepare(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", help="a statistics file")
        parser.add_argument("--device", metavar="N", type=whole, default=0, help="its CUDA ordinal in the program (0)")
        parser.add_argument("--json", action="store_true", help="one JSON object")

    def run(self, arguments: argparse.Namespace) -> int:
        stats = stats_file.read_device(arguments.file, arguments.device)
        if arguments.json:
            print(json.dumps(stats))
            return 0
        for key, value in _flatten(stats):
            key = visible(key)
            print(f"{key:<28}{value:>20,}" if isinstance(value, int) else f"{key:<28}{value:>20,.4f}")
        return 0
