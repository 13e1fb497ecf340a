"""`gmlake run`: a Python program under the allocator, without a change to it."""

from __future__ import annotations

import argparse
import os
import runpy
import sys

from gmlake_jax import config
from gmlake_jax.commands.command import Command
from gmlake_jax.errors import CommandError


class Run(Command):
    """Run a Python program on the allocator.

    The same as GMLAKE=1 python SCRIPT, with the options as flags. With --emulate, JAX sees a GPU whose memory is real
    but lies in host memory, and whose kernels do nothing: good for looking at memory, not for results.

    Examples:
      gmlake run --limit 20GiB train.py --steps 100
      gmlake run --emulate -m my_package.train
    """

    order = 10

    def prepare(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--emulate", action="store_true", help="on an emulated GPU; needs none")
        parser.add_argument("--stock", action="store_true", help="on JAX's own allocator, to compare")
        parser.add_argument("--limit", metavar="SIZE", help="memory that each device may hold: 20GiB, 80%%")
        parser.add_argument("--stats-file", metavar="FILE", help="write memory statistics there at the end")
        parser.add_argument("--verbose", action="store_true", help="say when a device becomes active")
        parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT is the name of a module")
        parser.add_argument("script", metavar="SCRIPT", help="the program")
        parser.add_argument("arguments", metavar="...", nargs=argparse.REMAINDER, help="its arguments")

    def run(self, arguments: argparse.Namespace) -> int:
        _check_script(arguments)
        os.environ.update(_variables(arguments))
        os.environ.update(config.with_paths_resolved())  # a mistake shows here, not between the lines of the program
        if arguments.emulate:
            _start_emulator()
        return 0

    def hand_over(self, arguments: argparse.Namespace) -> None:
        sys.argv = [arguments.script, *arguments.arguments]
        if arguments.module:
            sys.path.insert(0, os.getcwd())
            runpy.run_module(arguments.script, run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, os.path.dirname(os.path.abspath(arguments.script)))
            runpy.run_path(arguments.script, run_name="__main__")


def _check_script(arguments: argparse.Namespace) -> None:
    if not arguments.module and not os.path.exists(arguments.script):
        raise CommandError(f"{arguments.script}: no such file; to run a module, give -m", exit_code=2)


def _variables(arguments: argparse.Namespace) -> dict[str, str]:
    given = {
        "GMLAKE_LIMIT": arguments.limit,
        "GMLAKE_STATS_FILE": arguments.stats_file,
        "GMLAKE_VERBOSE": "1" if arguments.verbose else None,
    }
    return {"GMLAKE": "0" if arguments.stock else "1"} | {
        name: value for name, value in given.items() if value is not None
    }


def _start_emulator() -> None:
    try:
        from gmlake_jax import emulator
    except ImportError:
        raise CommandError("this installation has no emulated device; build gmlake-jax with Bazel to get it") from None
    emulator.start()
    emulator.start_in_children()
