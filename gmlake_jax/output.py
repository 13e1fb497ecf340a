"""Writes files for people: never over an existing one unless asked, and never half a file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from gmlake_jax.errors import CommandError


def check_new(path: str | Path, force: bool = False) -> None:
    """CommandError where `path` exists and `force` is not given; asked before the work that fills the file."""
    if not force and os.path.lexists(path):
        raise CommandError(f"{path}: exists already; give --force to overwrite it, or another name")


def write_file(path: str | Path, content: bytes | str, *, force: bool = False) -> None:
    """Puts `content` into `path` whole or not at all."""
    check_new(path, force)
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
