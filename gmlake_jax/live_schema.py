"""What a page of `gmlake top` holds. Everybody may write to the folder of the pages, so each value is looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gmlake_jax.untrusted import is_number, is_whole

_MOST_DEVICES = 64
_MOST_CALLS = 64

_Check = Callable[[Any], bool]


def _is_count(value: Any) -> bool:
    return is_whole(value, 0)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_share(value: Any) -> bool:
    return is_number(value) and 0 <= value <= 1


def _are_calls(value: Any) -> bool:
    return isinstance(value, dict) and len(value) <= _MOST_CALLS and all(map(is_number, value.values()))


def _are_devices(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= _MOST_DEVICES and all(_fits(device, _DEVICE) for device in value)


_DEVICE: dict[str, _Check] = {
    "bytes_in_use": _is_count,
    "bytes_reserved": _is_count,
    "bytes_limit": _is_count,
    "bytes_idle": _is_count,
    "fragmentation": _is_share,
    "num_allocs": _is_count,
    "num_failures": _is_count,
    "driver_calls": _are_calls,
}
_PAGE: dict[str, _Check] = {
    "pid": _is_count,
    "started": _is_text,
    "program": _is_text,
    "time": is_number,
    "devices": _are_devices,
}


def _fits(value: Any, checks: dict[str, _Check]) -> bool:
    return isinstance(value, dict) and all(name in value and check(value[name]) for name, check in checks.items())


def _are_ordinals(value: Any, count: int) -> bool:
    return isinstance(value, list) and len(value) == count and all(map(_is_count, value))


def is_page(content: Any) -> bool:
    """Whether `content` is that of a page; what it holds besides is of no matter."""
    if not _fits(content, _PAGE):
        return False
    return "ordinals" not in content or _are_ordinals(content["ordinals"], len(content["devices"]))
