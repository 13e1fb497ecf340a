"""Sleep and wake: a device's memory is given to others for a while, and every array stays where it is.

`sleep()` copies what the arrays hold to page-locked host memory and returns the physical memory to the device;
addresses are kept. `wake()` puts memory and bytes back under the same addresses, so arrays, compiled programs and
captured graphs go on as if nothing had been. In between, using an array is an error that says so. docs/sleep.md has
the whole contract.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from gmlake_jax.arguments import check_name, check_names, check_seconds, check_size
from gmlake_jax.errors import SleepError
from gmlake_jax.library import open_library
from gmlake_jax.sizes import format_bytes
from gmlake_jax.stats import DeviceLike, active_index, served_devices
from gmlake_jax.untrusted import brief

Arrays = TypeVar("Arrays")

_PAUSE_S = 0.001
_MOST_NAMED = 5  # arrays that one message lists


@dataclass(frozen=True)
class SleepReport:
    """What one sleep or wake has moved, all devices together; the times are those of the slowest."""

    copied_bytes: int = 0
    dropped_bytes: int = 0
    given_bytes: int = 0
    copy_seconds: float = 0.0
    total_seconds: float = 0.0

    @property
    def bandwidth(self) -> float:
        """Bytes a second, from the call to its end."""
        return self.copied_bytes / self.total_seconds if self.total_seconds else 0.0

    def __str__(self) -> str:
        return (
            f"{format_bytes(self.copied_bytes)} copied, {format_bytes(self.dropped_bytes)} dropped, "
            f"{format_bytes(self.given_bytes)} of the device, {self.total_seconds:.2f} s, "
            f"{self.bandwidth / 1e9:.1f} GB/s"
        )


@dataclass(frozen=True)
class _Tag:
    number: int
    disposable: bool


_tags: dict[str, _Tag] = {}


def _shards(arrays: Any) -> Iterator[tuple[Any, Any]]:
    """Each array in a tree, with the part of it on each device of this process."""
    import jax

    for array in jax.tree.leaves(arrays):
        if not isinstance(array, jax.Array):
            raise TypeError(f"tag takes arrays of JAX in a tree; this is {type(array).__name__} {array!r:.60}")
        if array.is_deleted():
            raise SleepError(f"{_name(array)} is deleted, so it cannot be tagged")
        for shard in array.addressable_shards:
            yield array, shard.data


def _ordinal(shard: Any) -> int:
    return int(next(iter(shard.devices())).local_hardware_id)


def _name(array: Any) -> str:
    return f"{array.dtype}{list(array.shape)}"


def _list_names(arrays: Sequence[Any]) -> str:
    names = ", ".join(_name(array) for array in arrays[:_MOST_NAMED])
    return names + (f" and {len(arrays) - _MOST_NAMED} more" if len(arrays) > _MOST_NAMED else "")


def tag(name: str, arrays: Arrays, *, disposable: bool = False) -> Arrays:
    """Gives the arrays in a tree a name for `sleep()`; returns them. `disposable`: their contents may be dropped.

    The tag is on the memory: an array that is updated in place (donated) keeps it, a new array has none.
    """
    shards = list(_shards(arrays))
    if not check_name("tag", name):
        raise ValueError("tag takes a name; this one is empty")
    known = _tags.setdefault(name, _Tag(len(_tags) + 1, disposable))
    if known.disposable != disposable:
        raise SleepError(f"the tag {name} was disposable={known.disposable} before; choose one of the two")
    for array, shard in shards:
        if not open_library().tag(_ordinal(shard), shard.unsafe_buffer_pointer(), known.number):
            raise SleepError(f"{_name(array)} does not lie in memory of gmlake_jax, so it cannot be tagged")
    return arrays


def _check_tag(name: str) -> None:
    if name not in _tags:
        raise SleepError(f"no array was tagged {name}; tags are {', '.join(_tags) or 'none'}")
    if not _tags[name].disposable:
        raise SleepError(f"what is tagged {name} is not disposable; tag it with disposable=True, or leave it out")


def _dropped(level: int, tags: Sequence[str]) -> list[int]:
    if level not in (1, 2):
        raise SleepError(
            f"level={brief(repr(level), 40)}: 1 keeps everything but the tags named, 2 drops all that is disposable"
        )
    for name in tags:
        _check_tag(name)
    names = [name for name, known in _tags.items() if known.disposable] if level == 2 else tags
    return [_tags[name].number for name in names]


def _arrays_on(devices: Sequence[int]) -> list[Any]:
    import jax

    live_arrays: Callable[[], list[Any]] = jax.live_arrays
    live = (array for array in live_arrays() if not array.is_deleted())
    return [a for a in live if any(d.platform == "gpu" and d.local_hardware_id in devices for d in a.devices())]


def _await_arrays(devices: Sequence[int], deadline: float) -> None:
    """Arrays whose computation has not even been queued yet are known to JAX alone."""
    waiting = _arrays_on(devices)
    while waiting := [array for array in waiting if not array.is_deleted() and not array.is_ready()]:
        if time.monotonic() >= deadline:
            raise SleepError(
                f"work is queued: {_list_names(waiting)} not ready; wait for it (jax.block_until_ready) and try again"
            )
        time.sleep(_PAUSE_S)


def _refuse_shared(devices: Sequence[int]) -> None:
    """Names the arrays whose address another library holds: it would find nothing there."""
    addresses = {address for device in devices for address in open_library().shared_addresses(device)}
    if not addresses:
        return
    at = {shard.unsafe_buffer_pointer(): array for array, shard in _shards(_arrays_on(devices))}
    known = [at[address] for address in sorted(addresses) if address in at]
    unknown = len(addresses) - len(known)
    named = _list_names(known) + (f" and {unknown} deleted by JAX" if unknown else "")
    raise SleepError(f"shared with another library through dlpack: {named}; delete what was made of them and try again")


def _sum(reports: Iterable[dict[str, Any]]) -> SleepReport:
    total = SleepReport()
    for report in reports:
        one = SleepReport(**report)
        total = SleepReport(
            total.copied_bytes + one.copied_bytes,
            total.dropped_bytes + one.dropped_bytes,
            total.given_bytes + one.given_bytes,
            max(total.copy_seconds, one.copy_seconds),
            max(total.total_seconds, one.total_seconds),
        )
    return total


def _on_each(devices: Sequence[int], act: Callable[[int], dict[str, Any]]) -> tuple[SleepReport, list[str]]:
    """Acts on all devices at once, each over its own link; the failures, one line each."""
    with ThreadPoolExecutor(max_workers=len(devices)) as threads:
        futures = {device: threads.submit(act, device) for device in devices}
    failures = [f"device {device}: {error}" for device, future in futures.items() if (error := future.exception())]
    return _sum(future.result() for future in futures.values() if not future.exception()), failures


def _indices(device: DeviceLike) -> list[int]:
    return served_devices() if device is None else [active_index(device)]


def _await_host_memory(devices: Sequence[int]) -> None:
    while sum(open_library().unprepared(index) for index in devices) > 0:  # asks all, so that each may say what failed
        time.sleep(_PAUSE_S)


def prepare_sleep(size: int | str | None = None, device: DeviceLike = None, wait: bool = True) -> None:
    """Makes the page-locked host memory that `sleep()` copies to, which is what a first sleep waits for.

    `size`: how much for each device, bytes or a size such as "60GiB"; None: as much as is in use now. Without `wait`,
    it is made in the background. SleepError where the host has not so much.
    """
    wanted = None if size is None else check_size("prepare_sleep", size)
    devices = _indices(device)
    try:
        for index in devices:
            open_library().prepare_sleep(index, wanted)
        if wait:
            _await_host_memory(devices)
    except RuntimeError as error:
        raise SleepError(str(error)) from None


def sleep(level: int = 1, tags: Iterable[str] = (), device: DeviceLike = None, timeout: float = 1.0) -> SleepReport:
    """Gives the memory of `device` (None: of all) away; every array keeps its address. SleepError: nothing has changed.

    `level` 1 keeps all contents on the host but those of the disposable `tags`; 2 drops everything disposable. What was
    dropped is zero after `wake()`. Work that is queued gets `timeout` seconds to end, then the sleep is refused.
    """
    dropped = _dropped(level, check_names("tags", tags))
    patience = check_seconds("timeout", timeout)
    devices = [index for index in _indices(device) if not open_library().is_asleep(index)]
    if not devices:
        raise SleepError("asleep already; call gmlake_jax.wake() first")
    deadline = time.monotonic() + patience
    _await_arrays(devices, deadline)
    _refuse_shared(devices)
    report, failures = _on_each(devices, lambda index: open_library().sleep(index, dropped, round(patience * 1000)))
    if failures:
        _on_each(devices, open_library().wake)  # those that did fall asleep
        raise SleepError("; ".join(failures))
    return report


def wake(device: DeviceLike = None) -> SleepReport:
    """Brings memory and contents back under the same addresses; an awake device stays as it is.

    SleepError where the device has not so much memory now: it sleeps on, nothing is lost, and it can be tried again.
    """
    report, failures = _on_each(_indices(device), open_library().wake)
    if failures:
        raise SleepError("; ".join(failures))
    return report


def is_asleep(device: DeviceLike = None) -> bool:
    """Whether `device` sleeps; None: whether any does."""
    return any(open_library().is_asleep(index) for index in _indices(device))


@contextmanager
def asleep(level: int = 1, tags: Iterable[str] = (), device: DeviceLike = None) -> Iterator[SleepReport]:
    """`sleep()` now, `wake()` at the end of the block, whatever happens in it."""
    report = sleep(level, tags, device)
    try:
        yield report
    finally:
        wake(device)
