"""A page of shared memory in which a running program shows its memory statistics, for `gmlake top`.

One page a process, under /dev/shm, readable by its user alone. A thread of the program rewrites it once a second;
readers never disturb it: a number that is odd during a change tells them that they saw half of one, and they look
again. Nothing is written before the program has a device, and where /dev/shm cannot be written, nothing at all.
"""

from __future__ import annotations

import atexit
import functools
import json
import mmap
import os
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

PERIOD_S = 1.0

_FOLDER = Path("/dev/shm")
_PREFIX = "gmlake-top-"
_MAGIC = b"gmlake1\n"
_HEADER = struct.Struct("<8sQQ")  # magic, version (odd while it is being written), bytes of content
_SIZE = 1 << 16
_ATTEMPTS = 50


def start_of_process(pid: int) -> str | None:
    """When a process started, in the kernel's words: tells it from a later one of its number. None: it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return text.rpartition(")")[2].split()[19]


class Page:
    """The page of this process. Thread rule: one writer. Cost: one copy of some kilobytes for each write."""

    def __init__(self, folder: Path = _FOLDER):
        self.path = folder / f"{_PREFIX}{os.getpid()}"
        self.path.unlink(missing_ok=True)  # of a dead process with our number
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            os.ftruncate(handle, _SIZE)
            self._memory = mmap.mmap(handle, _SIZE)
        finally:
            os.close(handle)
        self._version = 0

    def write(self, content: dict[str, Any]) -> None:
        data = json.dumps(content).encode()
        if len(data) > _SIZE - _HEADER.size:
            return
        self._memory[: _HEADER.size] = _HEADER.pack(_MAGIC, self._version + 1, len(data))
        self._memory[_HEADER.size : _HEADER.size + len(data)] = data
        self._version += 2
        self._memory[: _HEADER.size] = _HEADER.pack(_MAGIC, self._version, len(data))

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


def _content() -> dict[str, Any] | None:
    from gmlake_jax.library import open_library
    from gmlake_jax.stats import derive

    library = open_library()
    devices = [derive(library.stats(index)) for index in library.ordinals()]
    if not devices:
        return None
    pid = os.getpid()
    program = " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])[:200]
    base = {"pid": pid, "started": start_of_process(pid), "program": program, "time": time.time(), "period": PERIOD_S}
    return base | {"devices": devices}


class Writer:
    """Keeps a page up to date from a thread of its own until the program ends. A fork leaves the page to the parent."""

    def __init__(self, content: Callable[[], dict[str, Any] | None] = _content, folder: Path = _FOLDER):
        self._content, self._folder, self._pid = content, folder, os.getpid()
        self._page: Page | None = None
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="gmlake-top", daemon=True)
        self._thread.start()
        atexit.register(self.stop)

    def _run(self) -> None:
        with suppress(Exception):  # a page that cannot be written must not disturb the program
            while not self._end.wait(PERIOD_S):
                self._update()

    def _update(self) -> None:
        content = self._content()
        if content is None:
            return
        if self._page is None:
            self._page = Page(self._folder)
        self._page.write(content)

    def stop(self) -> None:
        if os.getpid() != self._pid:
            return
        self._end.set()
        self._thread.join(timeout=PERIOD_S)
        if self._page is not None:
            self._page.remove()


@functools.cache
def show_live() -> Writer:
    """The writer of this process; made by the first call."""
    return Writer()


def read_page(path: Path) -> dict[str, Any] | None:
    """What a page says; None where it is none, or was never whole while we looked."""
    for _ in range(_ATTEMPTS):
        try:
            data = path.read_bytes()
            magic, version, length = _HEADER.unpack_from(data)
            again = _HEADER.unpack_from(path.read_bytes()[: _HEADER.size])
        except (OSError, struct.error):
            return None
        if magic != _MAGIC:
            return None
        if version % 2 == 0 and version > 0 and again == (magic, version, length):
            return _parsed(data[_HEADER.size : _HEADER.size + length])
        time.sleep(0.001)
    return None


def _parsed(data: bytes) -> dict[str, Any] | None:
    try:
        content = json.loads(data)
    except ValueError:
        return None
    return content if isinstance(content, dict) and isinstance(content.get("devices"), list) else None


def running_pages(folder: Path = _FOLDER) -> Iterator[dict[str, Any]]:
    """The pages of all living processes whose pages we may read; those of dead ones of ours are removed."""
    for path in sorted(folder.glob(f"{_PREFIX}*")):
        number = path.name.removeprefix(_PREFIX)
        content = read_page(path) if number.isdigit() else None
        if content is None:
            continue
        if start_of_process(int(number)) != content.get("started"):
            with suppress(OSError):
                path.unlink()
            continue
        yield content
