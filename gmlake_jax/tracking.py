"""How much memory a part of a program takes: its peak, its growth, what it asked for.

The counting is done by the allocator at each request and free, so no peak is missed. docs/tracking.md has the
numbers.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from gmlake_jax.arguments import check_function, check_name
from gmlake_jax.library import open_library
from gmlake_jax.recording import annotate
from gmlake_jax.sizes import format_bytes
from gmlake_jax.stats import DeviceLike, active_index

_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Usage:
    """What the leases that were counted did. Bytes are as placed, after rounding."""

    bytes_at_start: int = 0
    bytes_in_use: int = 0
    peak_bytes: int = 0
    bytes_allocated: int = 0
    bytes_stitched: int = 0
    num_allocs: int = 0
    num_frees: int = 0
    num_failures: int = 0

    @property
    def net_bytes(self) -> int:
        """Growth from beginning to end; negative where more was freed."""
        return self.bytes_in_use - self.bytes_at_start

    @property
    def peak_increase(self) -> int:
        """How far the peak rose above the beginning: what the part needs on top of what was there."""
        return self.peak_bytes - self.bytes_at_start


@dataclass(frozen=True)
class Totals:
    """All tracks of one name that have ended in this process, whichever thread they ran on."""

    calls: int = 0
    peak_bytes: int = 0  # the highest of them
    peak_increase: int = 0  # the highest of them
    net_bytes: int = 0  # the sum
    bytes_allocated: int = 0  # the sum
    bytes_stitched: int = 0  # the sum
    num_allocs: int = 0  # the sum

    def with_one_more(self, usage: Usage) -> Totals:
        return Totals(
            self.calls + 1,
            max(self.peak_bytes, usage.peak_bytes),
            max(self.peak_increase, usage.peak_increase),
            self.net_bytes + usage.net_bytes,
            self.bytes_allocated + usage.bytes_allocated,
            self.bytes_stitched + usage.bytes_stitched,
            self.num_allocs + usage.num_allocs,
        )


_lock = threading.Lock()
_totals: dict[str, Totals] = {}  # guarded by _lock


def tracked() -> dict[str, Totals]:
    """The totals of every name that `track` was given."""
    with _lock:
        return dict(_totals)


class track:  # noqa: N801 - used like a function
    """Counts what happens to a device's memory while a block runs.

    >>> with gmlake_jax.track() as t:
    ...     step().block_until_ready()
    >>> t.peak_increase
    >>> @gmlake_jax.track("evaluation")
    ... def evaluate(): ...
    >>> gmlake_jax.tracked()["evaluation"].peak_bytes

    Without a name, everything on the device counts. With a name, `annotate(name)` is in force, and only what carries it
    counts, from whichever thread; `device` has everything all the same. Tracks nest. Results can be read while the
    block runs. XLA works asynchronously: end the block with `block_until_ready()` where the end must be included.
    """

    def __init__(self, name: str = "", device: DeviceLike = None):
        self._name, self._asked_device = check_name("track", name), device
        self._annotation = annotate(name) if name else None
        self._tracks: tuple[int, int] | None = None  # that of the name and that of the device
        self._results: tuple[Usage, Usage] = (Usage(), Usage())

    def __enter__(self) -> track:
        if self._tracks is not None:
            raise RuntimeError("this track is running already; make another one with track()")
        self._index = active_index(self._asked_device)
        library = open_library()
        self._tracks = library.begin_track(self._index, self._name), library.begin_track(self._index, "")
        if self._annotation is not None:
            self._annotation.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        if self._annotation is not None:
            self._annotation.__exit__()
        self._results = self._read(end=True)
        self._tracks = None
        if self._name:
            with _lock:
                _totals[self._name] = _totals.get(self._name, Totals()).with_one_more(self._results[0])

    def __call__(self, function: _Function) -> _Function:
        check_function(f"track({self._name!r})", function)

        @functools.wraps(function)
        def tracked_function(*arguments: Any, **named: Any) -> Any:
            with track(self._name or function.__qualname__, self._asked_device):
                return function(*arguments, **named)

        return tracked_function  # type: ignore[return-value]

    def _read(self, end: bool) -> tuple[Usage, Usage]:
        if self._tracks is None:
            return self._results
        library = open_library()
        own, whole = (Usage(**library.read_track(self._index, number, end)) for number in self._tracks)
        return own, whole

    @property
    def usage(self) -> Usage:
        """What counts: by name, or all. Now, or when the block ended."""
        return self._read(end=False)[0]

    @property
    def device(self) -> Usage:
        """The same of everything on the device."""
        return self._read(end=False)[1]

    def __getattr__(self, name: str) -> int:
        if name.startswith("_"):
            raise AttributeError(name)
        value: int = getattr(self.usage, name)
        return value

    def __str__(self) -> str:
        usage = self.usage
        return (
            f"{self._name or 'device'}: peak {format_bytes(usage.peak_bytes)} "
            f"({format_bytes(usage.peak_increase)} above the start), net {format_bytes(usage.net_bytes)}, "
            f"{usage.num_allocs:,} requests for {format_bytes(usage.bytes_allocated)}, "
            f"{format_bytes(usage.bytes_stitched)} stitched"
        )
