"""A page of shared memory in which a running program shows its memory statistics, for `gmlake top`.

One page a process, under /dev/shm, readable by its user alone. A thread of the program rewrites it once a second;
readers never disturb it: a number that is odd during a change tells them that they saw half of one, and they look
again. Nothing is written before the program has a device, and where /dev/shm has no room or cannot be written, nothing
at all.

Anyone may put files into /dev/shm, and containers may share it. So the name of a page has its PID namespace, and a
reader believes only regular files of its own user or of root, of bounded size, whose content is what a page has.
"""

from __future__ import annotations

import atexit
import errno
import functools
import json
import os
import re
import stat
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from gmlake_jax.live_schema import is_page
from gmlake_jax.untrusted import parse_json

PERIOD_S = 1.0

_FOLDER = Path("/dev/shm")
_PREFIX = "gmlake-top-"
_NAME = re.compile(rf"{_PREFIX}(\d{{1,20}})-(\d{{1,10}})", re.ASCII)  # PID namespace, process
_MAGIC = b"gmlake1\n"
_HEADER = struct.Struct("<8sQQ")  # magic, version (odd while it is being written), bytes of content
_SIZE = 1 << 16
_PATIENCE_S = 0.05  # for pages that are being written


def start_of_process(pid: int) -> str | None:
    """When a process started, in the kernel's words: tells it from a later one of its number. None: it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()[19]


def _pid_namespace() -> int:
    """A number that processes share if and only if they count processes in the same way."""
    return os.stat("/proc/self/ns/pid").st_ino


def _proc_is_ours() -> bool:
    """Whether /proc shows processes under the numbers that they have for us: not so in a container without its own."""
    try:
        return os.readlink("/proc/self") == str(os.getpid())
    except OSError:
        return False


# --- writing


def page_path(folder: Path = _FOLDER) -> Path:
    """Where this process shows its page."""
    return folder / f"{_PREFIX}{_pid_namespace()}-{os.getpid()}"


class Page:
    """The page of this process. Thread rule: one writer. Cost: one copy of some kilobytes for each write.

    Model: the file is opened by name for each write and checked to be the one that was made. Neither a mapping is kept,
    which a full or truncated file turns into SIGBUS, nor a descriptor, which a program that closes all of its
    descriptors would give to another file.
    """

    def __init__(self, folder: Path = _FOLDER):
        self.path = page_path(folder)
        self.path.unlink(missing_ok=True)  # of a dead process with our number
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            os.posix_fallocate(handle, 0, _SIZE)
            self._identity = _identity(handle)
        except OSError:
            self.path.unlink(missing_ok=True)
            raise
        finally:
            os.close(handle)
        self._version = 0

    def write(self, content: dict[str, Any]) -> None:
        data = json.dumps(content).encode()
        if len(data) > _SIZE - _HEADER.size:
            return
        handle = os.open(self.path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if _identity(handle) != self._identity:
                raise FileNotFoundError(errno.ENOENT, "another file has taken the place of the page", str(self.path))
            os.pwrite(handle, _HEADER.pack(_MAGIC, self._version + 1, len(data)), 0)
            os.pwrite(handle, data, _HEADER.size)
            self._version += 2
            os.pwrite(handle, _HEADER.pack(_MAGIC, self._version, len(data)), 0)
        finally:
            os.close(handle)

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


def _identity(handle: int) -> tuple[int, int]:
    facts = os.fstat(handle)
    return facts.st_dev, facts.st_ino


def _content() -> dict[str, Any] | None:
    from gmlake_jax.library import open_library
    from gmlake_jax.stats import derive

    library = open_library()
    ordinals = library.ordinals()
    if not ordinals:
        return None
    pid = os.getpid()
    program = " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])[:200]
    base = {"pid": pid, "started": start_of_process(pid), "program": program, "time": time.time(), "period": PERIOD_S}
    return base | {"ordinals": ordinals, "devices": [derive(library.stats(ordinal)) for ordinal in ordinals]}


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
            with suppress(OSError):  # the program ends; what is left is removed by the next reader
                self._page.remove()


@functools.cache
def show_live() -> Writer:
    """The writer of this process; made by the first call."""
    return Writer()


# --- reading


def _open_trusted(path: Path) -> int:
    """OSError where the file is a link, no regular file, not ours, or of a size that no page has."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY)
    facts = os.fstat(handle)
    ours = os.geteuid() in (0, facts.st_uid) or facts.st_uid == 0
    if ours and stat.S_ISREG(facts.st_mode) and _HEADER.size <= facts.st_size <= _SIZE:
        return handle
    os.close(handle)
    raise OSError(errno.EACCES, "not a page that can be trusted", str(path))


def read_page(path: Path, deadline: float | None = None) -> dict[str, Any] | None:
    """What a page says, not yet checked for sense; None where it is none, or was never whole while we looked."""
    deadline = time.monotonic() + _PATIENCE_S if deadline is None else deadline
    try:
        handle = _open_trusted(path)
    except OSError:
        return None
    try:
        return _read_whole(handle, deadline)
    finally:
        os.close(handle)


def _read_whole(handle: int, deadline: float) -> dict[str, Any] | None:
    while True:
        data = os.pread(handle, _SIZE, 0)
        again = os.pread(handle, _HEADER.size, 0)
        if len(data) < _HEADER.size or not data.startswith(_MAGIC):
            return None
        _, version, length = _HEADER.unpack_from(data)
        if version % 2 == 0 and version > 0 and data.startswith(again):
            return _parsed(data[_HEADER.size : _HEADER.size + length])
        if time.monotonic() >= deadline:
            return None
        time.sleep(0.001)


def _parsed(data: bytes) -> dict[str, Any] | None:
    try:
        content = parse_json(data)
    except ValueError:
        return None
    return content if isinstance(content, dict) and isinstance(content.get("devices"), list) else None


def _pages_of_our_namespace(folder: Path) -> Iterator[tuple[int, Path]]:
    """Process and page, of all processes that have the numbers which they have for us."""
    if not _proc_is_ours():
        return
    try:
        names = os.listdir(folder)
    except OSError:  # a container may have no /dev/shm
        return
    own = str(_pid_namespace())
    matches = (match for name in names if (match := _NAME.fullmatch(name)) and match[1] == own)
    yield from ((pid, folder / name) for pid, name in sorted((int(match[2]), match[0]) for match in matches))


def running_pages(folder: Path = _FOLDER) -> Iterator[dict[str, Any]]:
    """The pages of all living processes whose pages we may read; those of dead ones of ours are removed.

    Processes of another PID namespace have other numbers, so whether they live is not known here: their pages are left
    alone.
    """
    deadline = time.monotonic() + _PATIENCE_S
    for pid, path in _pages_of_our_namespace(folder):
        content = read_page(path, deadline)
        if content is None or not is_page(content) or content["pid"] != pid:
            continue
        if start_of_process(pid) != content["started"]:
            with suppress(OSError):
                path.unlink()
            continue
        yield content
