"""Writes files and lines for people: a file whole or not at all, and never over an existing one unless asked.

The one writer of files in Python; cc/report/whole_file.h is that of C++, and works in the same way: a temporary file
of a name that nobody else has, made with O_EXCL in the folder of the file, takes its place when it is complete.
Several writers never disturb each other, and no link in the place of either file is followed.
"""

from __future__ import annotations

import os
import secrets
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO

from gmlake_jax.errors import CommandError
from gmlake_jax.untrusted import visible


def is_terminal(stream: IO[str] | None) -> bool:
    """Whether someone looks at `stream`; a closed one is None in Python."""
    return stream is not None and not stream.closed and stream.isatty()


def say(message: object) -> None:
    """One line on standard error, if there is one."""
    if sys.stderr is None or sys.stderr.closed:
        return
    with suppress(OSError):  # its reader went away
        print(visible(message), file=sys.stderr, flush=True)


def resolved(path: str | Path) -> str:
    """`path` with `~` expanded, and as seen from the folder that the process is in now."""
    return os.path.abspath(os.path.expanduser(path))


def check_new(path: str | Path, force: bool = False, how: str = "--force") -> None:
    """CommandError where `path` cannot be written, or exists and `force` is not given; asked before the work.

    `how`: what the user gives to have it overwritten, an option of a command or an argument of a function.
    """
    if not force and os.path.lexists(path):
        raise CommandError(f"{path}: exists already; give {how} to overwrite it, or another name")
    try:
        try_folder(path)
    except OSError as error:
        raise _cannot(path, error) from None


def try_folder(path: str | Path) -> None:
    """Makes and removes a file beside `path`; OSError where that fails, or where no file can be at `path`."""
    _check_place(path)
    handle, temporary = _new_beside(Path(path))
    os.close(handle)
    os.unlink(temporary)


def _new_beside(target: Path) -> tuple[int, Path]:
    """A file of a name that nobody else has, in the folder of `target`."""
    temporary = target.parent / f".gmlake-{secrets.token_hex(8)}"
    return os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666), temporary


def _check_place(path: str | Path) -> None:
    """A device, a pipe or a folder must not be replaced by a file."""
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise OSError(0, "it is there, and is not a file")


def _cannot(path: str | Path, error: OSError) -> CommandError:
    return CommandError(f"{path}: cannot be written: {error.strerror}")


def write_file(path: str | Path, content: bytes | str, *, force: bool = False, how: str = "--force") -> None:
    """Puts `content` into `path` whole or not at all. `how` as for `check_new`."""
    check_new(path, force, how)
    data = content.encode() if isinstance(content, str) else content
    try:
        _replace(Path(path), data)
    except OSError as error:
        raise _cannot(path, error) from error


def _replace(target: Path, data: bytes) -> None:
    handle, temporary = _new_beside(target)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
