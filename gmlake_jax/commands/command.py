"""What a verb of the command line is.

A verb `frob` lives in commands/frob.py as `class Frob(Command)`. Its docstring is its help: the first line appears in
`gmlake --help`, the whole text (with an example) in `gmlake frob --help`. A verb raises CommandError to fail; it never
prints errors and never ends the process itself.
"""

import argparse
from abc import ABC, abstractmethod
from typing import ClassVar


class Command(ABC):
    """Base of all verbs. Stateless: everything a run needs is in its arguments."""

    # Verbs that show up in `gmlake --help` in this order; the others follow by name.
    order: ClassVar[int] = 100

    def prepare(self, parser: argparse.ArgumentParser) -> None:
        """Declares the verb's arguments; many have none."""

    @abstractmethod
    def run(self, arguments: argparse.Namespace) -> int:
        """Does the work and returns the exit code."""

    def hand_over(self, arguments: argparse.Namespace) -> None:
        """Runs somebody else's program, once `run` has returned 0: its errors are its own and reach Python."""
