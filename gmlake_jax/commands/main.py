"""Entry of the command line `gmlake`: finds the verbs, parses, runs one. The only place that prints errors."""

from __future__ import annotations

import argparse
import importlib
import inspect
import io
import os
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from gmlake_jax import commands
from gmlake_jax._version import __version__
from gmlake_jax.commands.command import Command
from gmlake_jax.errors import CommandError, GmlakeError
from gmlake_jax.output import say

_NOT_VERBS = ("command", "main", "values")
_USAGE_ERROR = 2
_INTERRUPTED = 130


def _load(verb: str) -> Command:
    module = importlib.import_module(f"{commands.__name__}.{verb}")
    command: Command = getattr(module, verb.capitalize())()
    return command


def _verbs() -> dict[str, Command]:
    names = [module.name for module in pkgutil.iter_modules(commands.__path__) if module.name not in _NOT_VERBS]
    found = {name: _load(name) for name in names}
    return dict(sorted(found.items(), key=lambda item: (item[1].order, item[0])))


def _add_verb(verbs: argparse._SubParsersAction[argparse.ArgumentParser], name: str, command: Command) -> None:
    text = inspect.getdoc(command) or ""
    parser = verbs.add_parser(
        name,
        help=text.splitlines()[0].rstrip("."),
        description=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.prepare(parser)
    parser.set_defaults(command=command)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gmlake", description="Stitched GPU memory for JAX: tools around gmlake_jax.")
    parser.add_argument("--version", action="version", version=f"gmlake_jax {__version__}")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    for name, command in _verbs().items():
        _add_verb(verbs, name, command)
    return parser


def _fail(message: str, exit_code: int) -> int:
    say(f"gmlake: {message}")
    return exit_code


def _drop_output() -> None:
    """Nothing that is still buffered is written when the interpreter ends: it would fail again."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _any_character_shown() -> Iterator[None]:
    """What the output's encoding lacks is shown as an escape, as on standard error: a path may have any bytes."""
    output = sys.stdout
    if not isinstance(output, io.TextIOWrapper):
        yield
        return
    errors = output.errors
    output.reconfigure(errors="backslashreplace")
    try:
        yield
    finally:
        output.reconfigure(errors=errors)


def _run(arguments: argparse.Namespace) -> int:
    with _any_character_shown():
        exit_code = int(arguments.command.run(arguments))
        if sys.stdout is not None:
            sys.stdout.flush()
        return exit_code


def _guarded(arguments: argparse.Namespace) -> int:
    try:
        return _run(arguments)
    except CommandError as error:
        return _fail(str(error), error.exit_code)
    except GmlakeError as error:
        return _fail(str(error), _USAGE_ERROR)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:  # the reader of our output went away: `gmlake stats FILE | head`
        _drop_output()
        return 1
    except OSError as error:
        if error.filename is not None:  # not our output, and nobody expected it
            raise
        _drop_output()
        return _fail(f"the output cannot be written: {error.strerror}; free some room, or send it elsewhere", 1)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one verb: 0 where it succeeded, 1 where it failed, 2 for wrong usage or configuration."""
    arguments = _parser().parse_args(argv)
    exit_code = _guarded(arguments)
    if exit_code == 0:
        arguments.command.hand_over(arguments)
    return exit_code


if __name__ == "__main__":
    sys.exit(main())
