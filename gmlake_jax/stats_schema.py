"""What a statistics file holds, checked before it is used: the numbers of docs/stats.md, one level or two deep."""

from __future__ import annotations

from typing import Any

from gmlake_jax.untrusted import brief, is_number, is_whole

_MOST_DEVICES = 64
_WAY = ("count", "bytes")


def _check_numbers(place: str, values: Any, needed: tuple[str, ...] = ()) -> None:
    if not isinstance(values, dict):
        raise ValueError(f"{place} is {brief(values, 40)}, where numbers by name are expected")
    for name in needed:
        if name not in values:
            raise ValueError(f"{place} lacks {name}")
    for name, value in values.items():
        if not isinstance(value, dict) and not is_number(value):
            raise ValueError(f"{place}: {brief(name, 40)} is {brief(value, 40)}, which is no number of 62 bits")


def _check_flat(place: str, values: Any, needed: tuple[str, ...] = ()) -> None:
    _check_numbers(place, values, needed)
    if any(isinstance(value, dict) for value in values.values()):
        raise ValueError(f"{place} is nested more deeply than it should be")


def _check_device(place: str, stats: Any) -> None:
    _check_numbers(place, stats)
    nested = {name: value for name, value in stats.items() if isinstance(value, dict)}
    for name, values in nested.items():
        if name == "ways":
            for way, served in values.items():
                _check_flat(f"{place}: {brief(way, 40)}", served, _WAY)
        else:
            _check_flat(f"{place}: {brief(name, 40)}", values, ("time_us",) if name == "driver_calls" else ())
    for name in ("ways", "driver_calls"):
        if name in stats and name not in nested:
            raise ValueError(f"{place}: {name} is {brief(stats[name], 40)}, where numbers by name are expected")


def check_stats(content: dict[str, Any]) -> None:
    """ValueError, one line, where the content of a statistics file is not what the program wrote."""
    devices, ordinals = content.get("devices"), content.get("ordinals", [])
    if not isinstance(devices, list) or len(devices) > _MOST_DEVICES:
        raise ValueError("it has no list of devices")
    if not isinstance(ordinals, list) or not all(is_whole(ordinal, 0, 1 << 31) for ordinal in ordinals):
        raise ValueError("its ordinals are no list of whole numbers")
    if "ordinals" in content and len(ordinals) != len(devices):
        raise ValueError(f"it has {len(ordinals)} ordinals for {len(devices)} devices")
    for index, stats in enumerate(devices):
        _check_device(f"device {index}", stats)
