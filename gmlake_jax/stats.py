"""Memory statistics of one device, and the few commands that act on its memory.

All numbers come from the allocator in one reading under one lock, so they add up. `memory_stats()` adds to them what
follows by arithmetic, and the eleven keys of JAX's own `device.memory_stats()` with the same values as there.
docs/stats.md defines every number.
"""

from __future__ import annotations

import operator
from typing import Any, TypeAlias

from gmlake_jax import process
from gmlake_jax.arguments import check_size
from gmlake_jax.config import parse_limit
from gmlake_jax.errors import ConfigError, NotActiveError
from gmlake_jax.library import open_library
from gmlake_jax.sizes import format_bytes
from gmlake_jax.untrusted import brief

# A jax.Device, a CUDA ordinal, or None for the device that JAX uses by default.
DeviceLike: TypeAlias = Any


def _cuda_ordinal(device: Any) -> int | None:
    """None where it is no CUDA device. Devices of the host have a number, too."""
    return getattr(device, "local_hardware_id", None) if getattr(device, "platform", "") == "gpu" else None


def _default_device() -> Any:
    import jax

    chosen = getattr(jax.config, "jax_default_device", None)
    return chosen if _cuda_ordinal(chosen) is not None else jax.local_devices()[0]


def device_index(device: DeviceLike) -> int:
    """The CUDA ordinal of a device, as this process counts them."""
    if hasattr(device, "__index__"):  # NumPy's integers, too
        return operator.index(device)
    if device is None:
        device = _default_device()
    ordinal = _cuda_ordinal(device)
    if ordinal is None:
        raise NotActiveError(f"{brief(device, 60)} is not a CUDA device, so gmlake_jax does not serve it")
    return int(ordinal)


def _require_active() -> None:
    if not process.is_active():
        raise NotActiveError(f"gmlake_jax is not active: {process.state()}")


def active_index(device: DeviceLike) -> int:
    """The CUDA ordinal of a device that the allocator serves; NotActiveError for any other."""
    device = _default_device() if device is None else device  # makes JAX create its devices, if nobody has yet
    _require_active()
    index = device_index(device)
    if index not in open_library().ordinals():
        known = ", ".join(map(str, open_library().ordinals()))
        raise NotActiveError(f"gmlake_jax serves no device {brief(index, 40)} in this process; it serves {known}")
    return index


def served_devices() -> list[int]:
    """The CUDA ordinals that the allocator serves; NotActiveError where there are none."""
    _default_device()
    _require_active()
    return open_library().ordinals()


def _jax_keys(raw: dict[str, Any]) -> dict[str, int]:
    """Those of JAX's keys that the allocator has under another name."""
    return {
        "bytes_reservable_limit": raw["bytes_limit"],
        "largest_free_block_bytes": raw["largest_free_block"],
        "pool_bytes": raw["bytes_reserved"],
        "peak_pool_bytes": raw["peak_bytes_reserved"],
    }


def _fragmentation(idle: int, largest: int) -> float:
    """Share of the idle bytes that lies outside the largest contiguous idle piece."""
    return 1 - largest / idle if idle > 0 else 0.0


def derive(raw: dict[str, Any]) -> dict[str, Any]:
    """The public statistics, from those that the native library gives."""
    unusable = raw["bytes_in_use"] + raw["bytes_pending"] + raw["bytes_quarantined"]
    idle = max(raw["bytes_reserved"] - unusable, 0)
    return raw | _jax_keys(raw) | {"bytes_idle": idle, "fragmentation": _fragmentation(idle, raw["largest_free_block"])}


def memory_stats(device: DeviceLike = None) -> dict[str, Any]:
    """Everything that the allocator counts for `device`, at one instant. NotActiveError where it serves no such device.

    >>> gmlake_jax.memory_stats()["bytes_reserved"]
    """
    index = active_index(device)
    return derive(open_library().stats(index))


def reset_peak_memory_stats(device: DeviceLike = None) -> None:
    """Starts the peaks anew from what is held now."""
    index = active_index(device)
    open_library().reset_peaks(index)


def trim(target: int | str, device: DeviceLike = None) -> int:
    """Gives idle memory back to the device until at most `target` is held: bytes, or a size such as "20GiB".

    What is in use stays. Returns the bytes given back.
    """
    return open_library().trim(active_index(device), check_size("trim", target))


def empty_cache(device: DeviceLike = None, keep: int | str = 0) -> int:
    """Gives all idle memory back: the device's, until at most `keep` bytes are held, and the host's that earlier sleeps
    left; returns the bytes given back to the device."""
    kept = check_size("empty_cache", keep)
    open_library().release_host_store(active_index(device))
    return trim(kept, device)


def _limit_in_bytes(limit: int | str, index: int) -> int:
    parsed = parse_limit(limit)
    _, total = open_library().device_memory(index)
    if parsed.bytes is None:
        return int((parsed.fraction or 0) * total)
    if parsed.bytes > total > 0:
        raise ValueError(f"the device has {format_bytes(total)} in all")
    return parsed.bytes


def set_memory_limit(limit: int | str, device: DeviceLike = None) -> None:
    """Changes how much memory `device` may hold: bytes, a size such as "20GiB", or a share such as "80%"."""
    index = active_index(device)
    try:
        open_library().set_limit(index, _limit_in_bytes(limit, index))
    except (RuntimeError, ValueError) as error:
        raise ConfigError(f"the limit cannot be {brief(limit, 40)}: {error}") from None
