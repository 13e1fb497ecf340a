"""Snapshots and recordings of a running program, and names for what it is doing.

What comes out are the classes of `gmlake_jax.history`, which save, load and look at themselves; docs/recording.md says
what is in them. Where the allocator is not active, `annotate` does nothing, so that it may stay in a program.
"""

from __future__ import annotations

import atexit
import functools
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from gmlake_jax import process
from gmlake_jax.arguments import check_count, check_function, check_name
from gmlake_jax.errors import GmlakeError
from gmlake_jax.library import open_library
from gmlake_jax.output import say
from gmlake_jax.stats import DeviceLike, active_index, derive

if TYPE_CHECKING:
    from gmlake_jax.history import About, Recording, Snapshot

_Function = TypeVar("_Function", bound=Callable[..., Any])

DEFAULT_MAX_EVENTS = 1_000_000


def _about(taken: dict[str, Any], device: int) -> About:
    from gmlake_jax._version import __version__
    from gmlake_jax.history import About

    return About(
        device=device,
        device_name=taken["device_name"],
        program=taken["program"],
        limit_bytes=taken["stats"]["bytes_limit"],
        total_bytes=taken["stats"]["bytes_device_total"],
        pid=os.getpid(),
        start_unix_ns=taken["start_unix_ns"],
        versions={"gmlake_jax": __version__},
    )


def _snapshot_of(taken: dict[str, Any], about: About) -> Snapshot:
    from gmlake_jax.history import Snapshot
    from gmlake_jax.history.schema import BLOCK, LEASE, MAPPING, RANGE, table

    return Snapshot(
        about=about,
        ranges=table(RANGE, taken["ranges"]),
        blocks=table(BLOCK, taken["blocks"]),
        mappings=table(MAPPING, taken["mappings"]),
        leases=table(LEASE, taken["leases"]),
        annotations=tuple(taken["annotations"]),
        stats=derive(taken["stats"]),
        time_ns=taken["time_ns"],
    )


def _recording_of(taken: dict[str, Any], device: int) -> Recording:
    from gmlake_jax.history import Recording
    from gmlake_jax.history.schema import EVENT, table

    about = _about(taken, device)
    return Recording(
        about=about,
        events=table(EVENT, taken["events"]),
        annotations=tuple(taken["annotations"]),
        dropped=taken["dropped"],
        end=_snapshot_of(taken, about),
    )


def snapshot(device: DeviceLike = None) -> Snapshot:
    """All ranges, blocks and leases of a device, and who maps what, at one instant.

    >>> gmlake_jax.snapshot().save("now.npz")
    """
    index = active_index(device)
    taken = open_library().take(index, with_events=False)
    return _snapshot_of(taken, _about(taken, index))


class Recorder:
    """A recording that is being made; see `record`. Any thread may call any method."""

    def __init__(self, device: int, max_events: int):
        self._device = device
        self._result: Recording | None = None
        try:
            open_library().record(device, max_events)
        except RuntimeError as error:
            raise GmlakeError(str(error)) from None

    def read(self) -> Recording:
        """What has been recorded so far, and the state now; after `stop`, what had been recorded by then."""
        if self._result is not None:
            return self._result
        return _recording_of(open_library().take(self._device, with_events=True), self._device)

    def stop(self) -> Recording:
        """Ends the recording and returns it. Once is enough; later calls return the same."""
        if self._result is None:
            self._result = self.read()
            open_library().record(self._device, 0)
        return self._result

    def save(self, path: str, *, force: bool = False) -> None:
        """Writes what `read` returns to a file."""
        self.read().save(path, force=force)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def record(max_events: int = DEFAULT_MAX_EVENTS, device: DeviceLike = None) -> Recorder:
    """Records what happens to a device's memory from now on: the last `max_events` events, 56 bytes each.

    >>> with gmlake_jax.record() as recorder:
    ...     train()
    >>> recorder.save("training.npz")
    """
    check_count("max_events", max_events, 1)
    index = active_index(device)
    if open_library().is_recording(index):
        raise GmlakeError(f"device {index} is recorded already; stop that recording first, or unset GMLAKE_RECORD")
    return Recorder(index, max_events)


def mark(name: str, device: DeviceLike = None) -> None:
    """Names this moment in a recording: a step, an epoch. Without a recording it does nothing."""
    check_name("mark", name)
    if process.is_active():
        open_library().mark(active_index(device), name)


class annotate:  # noqa: N801 - used like a function
    """Names what this thread asks for, for reports, snapshots and recordings; names nest, "train/step".

    >>> with gmlake_jax.annotate("optimizer"):
    ...     state = optimizer.init(parameters)
    >>> @gmlake_jax.annotate("loading")
    ... def load(path): ...

    Costs less than a microsecond. Several threads may enter one object. Name kinds of work, not single
    steps: names are kept for good.
    """

    def __init__(self, name: str):
        self._name = check_name("annotate", name)
        self._before: dict[int, list[int]] = {}  # of each thread, one for each entry that is open there

    def __enter__(self) -> annotate:
        if process.may_become_active():
            label = open_library().enter_label(self._name)
            self._before.setdefault(threading.get_ident(), []).append(label)
        return self

    def __exit__(self, *_: object) -> None:
        thread = threading.get_ident()
        if opened := self._before.get(thread):
            open_library().leave_label(opened.pop())
            if not opened:
                del self._before[thread]

    def __call__(self, function: _Function) -> _Function:
        check_function(f"annotate({self._name!r})", function)

        @functools.wraps(function)
        def annotated(*arguments: Any, **named: Any) -> Any:
            with annotate(self._name):
                return function(*arguments, **named)

        return annotated  # type: ignore[return-value]


def _write_recordings() -> None:
    """The program ends with what it ended with, so a failure is one line here and no more."""
    try:
        open_library().write_recordings()
    except RuntimeError as error:
        say(f"[gmlake_jax] the recording is lost: {error}")


def write_at_exit() -> None:
    """Writes the recordings that GMLAKE_RECORD asked for when this process ends, before JAX gives its arrays up."""
    pid = os.getpid()

    def write() -> None:
        if os.getpid() == pid:  # not in a forked child
            _write_recordings()

    atexit.register(write)
