"""What a program can do about memory that runs out: free something, and have the request tried once more."""

from __future__ import annotations

import atexit
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gmlake_jax.arguments import check_function
from gmlake_jax.library import open_library

if TYPE_CHECKING:
    from gmlake_jax._gmlake import Library


@dataclass(frozen=True)
class OutOfMemory:
    """A request that cannot be met as things are."""

    device: int  # CUDA ordinal
    asked_bytes: int
    bytes_in_use: int
    bytes_limit: int
    largest_servable: int  # the largest request that would succeed
    annotation: str  # of the thread that asked, and the program that it runs; empty where unknown
    report: str  # the full text, as stderr would get it


Callback = Callable[[OutOfMemory], bool]

_lock = threading.Lock()
_callbacks: list[OnOom] = []  # guarded by _lock; newest last
_PATIENCE_MS = 5_000
_MOST_AT_EXIT_S = 2.0


class OnOom:
    """A callback that is in force until `remove()`, or to the end of a `with` block."""

    def __init__(self, callback: Callback):
        self.callback = callback

    def remove(self) -> None:
        """Takes the callback away; once is enough."""
        with _lock:
            if self in _callbacks:
                _callbacks.remove(self)
            if not _callbacks:
                _stop()

    def __enter__(self) -> OnOom:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def on_oom(callback: Callback) -> OnOom:
    """Calls `callback` before a request fails for want of memory; where it returns true, the request is tried again.

    >>> def drop_cache(shortage: gmlake_jax.OutOfMemory) -> bool:
    ...     for array in cache: array.delete()
    ...     cache.clear()
    ...     return True
    >>> gmlake_jax.on_oom(drop_cache)

    It runs on a thread of its own, one at a time, newest first until one returns true, and has 30 seconds. Where
    several threads run out of memory, each waits for its turn. It may delete arrays and read statistics. It should not
    ask for device memory: such a request fails without a further call. Whatever it raises, sys.exit() included, is
    told in one line and counts as false.
    """
    handle = OnOom(check_function("on_oom", callback))
    with _lock:
        _callbacks.append(handle)
        _ensure_thread()
        open_library().answer_oom_events(True)
    return handle


def _where(error: BaseException) -> str:
    """The innermost line of the program that an error went through."""
    frames = traceback.extract_tb(error.__traceback__)
    return f" ({frames[-1].filename}, line {frames[-1].lineno})" if len(frames) > 1 else ""


def _report(error: BaseException) -> None:
    """One line, unless the program has closed stderr."""
    what = " ".join(traceback.format_exception_only(error)[-1].split())[:500]
    with suppress(OSError, ValueError):
        line = f"[gmlake_jax] on_oom: the callback ended with {what}{_where(error)}, which counts as no"
        print(line, file=sys.stderr or sys.__stderr__, flush=True)


def _ask(callback: Callback, shortage: OutOfMemory) -> bool:
    """What a callback says. Nothing that it raises ends the thread: sys.exit() and Ctrl-C are no exceptions here."""
    try:
        return bool(callback(shortage))
    except BaseException as error:
        _report(error)
        return False


def _answer_one(library: Library, question: dict[str, Any]) -> None:
    """The question gets its answer whatever happens, because a thread of the program waits for it."""
    may_retry = False
    try:
        may_retry = any(_ask(callback, OutOfMemory(**question)) for callback in _in_force())
    finally:
        library.answer_oom_event(may_retry)


def _answer_while_asked() -> None:
    library = open_library()
    try:
        while _in_force():
            question = library.next_oom_event(_PATIENCE_MS)
            if question is not None:
                _answer_one(library, question)
    finally:
        _end_answering()


def _end_answering() -> None:
    """Where nobody answers any more, nobody shall ask and wait."""
    with _lock:
        if _thread is threading.current_thread():
            _stop()


def _in_force() -> list[Callback]:
    with _lock:
        return [handle.callback for handle in reversed(_callbacks)]


_thread: threading.Thread | None = None  # guarded by _lock
_started: list[threading.Thread] = []  # guarded by _lock; those that may not have ended


def _ensure_thread() -> None:
    global _thread
    if _thread is None or not _thread.is_alive():
        _thread = threading.Thread(target=_answer_while_asked, name="gmlake-on-oom", daemon=True)
        _thread.start()
        _started[:] = [thread for thread in _started if thread.is_alive()] + [_thread]


def _stop() -> None:
    """No more questions; the thread ends. Under _lock."""
    global _thread
    if _thread is not None:
        _thread = None
        open_library().answer_oom_events(False)


# A thread that is still in native code when the interpreter ends takes the process down. It may be about to wait
# when it is woken, so it is woken more than once.
@atexit.register
def _stop_at_exit() -> None:
    with _lock:
        _callbacks.clear()
        _stop()
        threads = list(_started)
    end = time.monotonic() + _MOST_AT_EXIT_S
    while (alive := [thread for thread in threads if thread.is_alive()]) and time.monotonic() < end:
        open_library().answer_oom_events(False)
        alive[0].join(timeout=0.02)
