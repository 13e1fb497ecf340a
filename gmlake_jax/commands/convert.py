"""`gmlake convert`: a recording or snapshot into the file of another program, or from one."""

from __future__ import annotations

import argparse

from gmlake_jax.commands.command import Command
from gmlake_jax.errors import CommandError, GmlakeError

_NAMES = ("npz", "json", "trace", "torch", "perfetto", "rmm")


class Convert(Command):
    """Convert a recording, a snapshot or a trace into another format.

    The format of IN is found by its content: ours (npz, JSON), the traces of gmlake replay, PyTorch's memory snapshots
    (pickles, from which nothing but plain data is loaded), RMM's CSV. That of OUT follows from its name:

      .npz .json        ours, complete
      .trace.npz        a trace for gmlake replay
      .pickle .pkl      for pytorch.org/memory_viz
      .perfetto.json    for ui.perfetto.dev and chrome://tracing
      .csv              RMM's log

    docs/recording.md says what each keeps. Ends with 0; with 1 where OUT exists or cannot be written; with 2 where IN
    is no such file, or for wrong usage.

    Example:
      gmlake convert train.npz train.pickle
    """

    order = 80

    def prepare(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("source", metavar="IN", help="what to convert")
        parser.add_argument("target", metavar="OUT", help="the file to write")
        parser.add_argument("--to", choices=_NAMES, help="the format of OUT, whatever its name")
        parser.add_argument("--force", action="store_true", help="overwrite OUT if it exists")

    def run(self, arguments: argparse.Namespace) -> int:
        from gmlake_jax.formats.registry import format_for, read_history
        from gmlake_jax.output import check_new, write_file
        from gmlake_jax.untrusted import visible

        target = format_for(arguments.target, arguments.to)
        check_new(arguments.target, arguments.force)
        history = read_history(arguments.source)
        try:
            content = target.encode(history)
        except GmlakeError as error:
            raise CommandError(f"{arguments.source}: {error}", exit_code=2) from error
        write_file(arguments.target, content, force=arguments.force)
        print(f"Wrote {visible(arguments.target)}")
        return 0
