"""What a statistics file holds, checked before it is used: the numbers of docs/stats.md, one level or two deep."""

from __future__ import annotations

from typing import Any

from gmlake_jax.untrusted import brief, is_number, is_whole

_MOST_DEVICES = 64

# Groups of numbers within a device's, by name; what each must have. "ways" has such a group for each way.
_NEEDED = {"driver_calls": ("time_us",), "ways": ("count", "bytes")}


def _check_numbers(place: str, values: Any, needed: tuple[str, ...] = ()) -> None:
    if not isinstance(values, dict):
        raise ValueError(f"{place} is {brief(values, 40)}, where numbers by name are expected")
    for name in needed:
        if name not in values:
            raise ValueError(f"{place} lacks {name}")
    for name, value in values.items():
        if not is_number(value):
            raise ValueError(f"{place}: {brief(name, 40)} is {brief(value, 40)}, which is no number of 62 bits")


def _check_device(place: str, stats: Any) -> None:
    if not isinstance(stats, dict):
        raise ValueError(f"{place} is {brief(stats, 40)}, where statistics are expected")
    _check_numbers(place, {name: value for name, value in stats.items() if name not in _NEEDED})
    for name in _NEEDED.keys() & stats.keys():
        _check_group(f"{place}: {name}", stats[name], _NEEDED[name], name == "ways")


def _check_group(place: str, values: Any, needed: tuple[str, ...], by_way: bool) -> None:
    if not by_way or not isinstance(values, dict):
        _check_numbers(place, values, needed)
        return
    for way, served in values.items():
        _check_numbers(f"{place}: {brief(way, 40)}", served, needed)


def _check_ordinals(ordinals: Any, count: int) -> None:
    if not isinstance(ordinals, list) or not all(is_whole(ordinal, 0, 1 << 31) for ordinal in ordinals):
        raise ValueError("its ordinals are no list of whole numbers")
    if len(ordinals) != count:
        raise ValueError(f"it has {len(ordinals)} ordinals for {count} devices")


def check_stats(content: dict[str, Any]) -> None:
    """ValueError, one line, where the content of a statistics file is not what the program wrote."""
    devices = content.get("devices")
    if not isinstance(devices, list) or len(devices) > _MOST_DEVICES:
        raise ValueError("it has no list of devices")
    _check_ordinals(content.get("ordinals", list(range(len(devices)))), len(devices))
    for index, stats in enumerate(devices):
        _check_device(f"device {index}", stats)
