"""Memory statistics of one device, and the few commands that act on its memory.

All numbers come from the allocator in one reading under one lock, so they add up. `memory_stats()` adds to them what
follows by arithmetic, and the eleven keys of JAX's own `device.memory_stats()` with the same values as there.
docs/stats.md defines every number.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from gmlake_jax import activation
from gmlake_jax.errors import ConfigError, NotActiveError
from gmlake_jax.library import open_library
from gmlake_jax.sizes import parse_bytes

# A jax.Device, a CUDA ordinal, or None for the device that JAX uses by default.
DeviceLike: TypeAlias = Any


def _default_device() -> Any:
    import jax

    chosen = getattr(jax.config, "jax_default_device", None)
    return chosen if hasattr(chosen, "local_hardware_id") else jax.local_devices()[0]


def device_index(device: DeviceLike) -> int:
    """The CUDA ordinal of a device, as this process counts them."""
    if isinstance(device, int):
        return device
    if device is None:
        device = _default_device()
    ordinal = getattr(device, "local_hardware_id", None)
    if ordinal is None:
        raise NotActiveError(f"{device} is not a CUDA device, so gmlake_jax does not serve it")
    return int(ordinal)


def _active_index(device: DeviceLike) -> int:
    index = device_index(device)
    if not activation.is_active():
        raise NotActiveError(f"gmlake_jax is not active: {activation.state()}")
    if not 0 <= index < open_library().num_devices():
        raise NotActiveError(f"gmlake_jax serves no device {index} in this process")
    return index


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
    index = _active_index(device)
    return derive(open_library().stats(index))


def reset_peak_memory_stats(device: DeviceLike = None) -> None:
    """Starts the peaks anew from what is held now."""
    index = _active_index(device)
    open_library().reset_peaks(index)


def empty_cache(device: DeviceLike = None, keep: int | str = 0) -> int:
    """Gives idle memory back to the device until at most `keep` bytes are held; returns the bytes given back."""
    index = _active_index(device)
    return open_library().trim(index, parse_bytes(keep) if isinstance(keep, str) else keep)


def set_memory_limit(limit: int | str, device: DeviceLike = None) -> None:
    """Changes how much memory `device` may hold: bytes, or a size such as "20GiB"."""
    index = _active_index(device)
    try:
        open_library().set_limit(index, parse_bytes(limit) if isinstance(limit, str) else limit)
    except (RuntimeError, ValueError) as error:
        raise ConfigError(f"the limit cannot be {limit}: {error}") from None
