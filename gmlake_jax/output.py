"""Writes files for people: never over an existing one unless asked, and never half a file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from gmlake_jax.errors import CommandError


def check_new(path: str | Path, force: bool = False, how: str = "--force") -> None:
    """CommandError where `path` exists and `force` is not given; asked before the work that fills the file.

    `how`: what the user gives to have it overwritten, an option of a command or an argument of a function.
    """
    if not force and os.path.lexists(path):
        raise CommandError(f"{path}: exists already; give {how} to overwrite it, or another name")


def write_file(path: str | Path, content: bytes | str, *, force: bool = False, how: str = "--force") -> None:
    """Puts `content` into `path` whole or not at all. `how` as for `check_new`."""
    check_new(path, force, how)
    data = content.encode() if isinstance(content, str) else content
    target = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise CommandError(f"{path}: cannot be written: {error.strerror}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except OSError as error:
        os.unlink(temporary)
        raise CommandError(f"{path}: cannot be written: {error.strerror}") from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
