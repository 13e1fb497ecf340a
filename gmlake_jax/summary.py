"""Memory statistics as text for a terminal: one device under our allocator or JAX's own, or several side by side.

Pure functions of dicts, apart from `memory_summary()`, which takes the reading.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gmlake_jax.errors import NotActiveError
from gmlake_jax.sizes import format_bytes
from gmlake_jax.untrusted import brief, visible

Stats = Mapping[str, Any]

_WIDTH = 72
_SIZES = (
    ("in use", "bytes_in_use", "peak_bytes_in_use"),
    ("requested", "bytes_requested", "peak_bytes_requested"),
    ("reserved", "pool_bytes", "peak_pool_bytes"),
)
_STATES = (
    ("limit", "bytes_limit"),
    ("idle, reusable", "bytes_idle"),
    ("waiting for a stream", "bytes_pending"),
    ("quarantined", "bytes_quarantined"),
    ("mapped, aliases included", "bytes_mapped"),
    ("largest idle piece", "largest_free_block_bytes"),
    ("largest servable request", "largest_servable"),
)
_WAYS = {
    "small": "from the small pool",
    "reuse": "an idle range again",
    "split": "part of a larger range",
    "stitch": "stitched of free blocks",
    "grow": "new memory of the device",
}


def _size(stats: Stats, key: str) -> str:
    value = stats.get(key, -1)
    return format_bytes(value) if value >= 0 else "-"


def format_row(label: str, *cells: str) -> str:
    """A label and its figures, in the columns that all texts here share."""
    return f"  {label:<32}" + "".join(f"{cell:>14}" for cell in cells)


def _size_lines(stats: Stats) -> list[str]:
    known = [row for row in _SIZES if row[1] in stats]
    return [format_row("", "now", "peak")] + [
        format_row(label, _size(stats, now), _size(stats, peak)) for label, now, peak in known
    ]


def _state_lines(stats: Stats) -> list[str]:
    lines = [format_row(label, _size(stats, key)) for label, key in _STATES if key in stats]
    if "fragmentation" in stats:
        lines.append(format_row("fragmentation of idle memory", f"{100 * stats['fragmentation']:.1f} %"))
    return lines


def _way_lines(stats: Stats) -> list[str]:
    rows = [
        format_row(visible(f"{way}: {_WAYS.get(way, '')}"), f"{entry['count']:,}", format_bytes(entry["bytes"]))
        for way, entry in stats["ways"].items()
    ]
    return [format_row("served by", "requests", "bytes"), *rows, format_row("refused", f"{stats['num_failures']:,}")]


def _driver_lines(stats: Stats) -> list[str]:
    calls = {name: count for name, count in stats["driver_calls"].items() if name != "time_us" and count}
    parts = [f"{visible(name)} {count:,}" for name, count in calls.items()] or ["none"]
    return ["  driver calls: " + ", ".join(parts), f"  time in them: {stats['driver_calls']['time_us'] / 1000:,.1f} ms"]


def format_summary(stats: Stats, title: str) -> str:
    """One device on one screen. Statistics of JAX's own allocator have fewer lines."""
    blocks = [_size_lines(stats), _state_lines(stats)]
    if stats.keys() >= {"ways", "num_failures", "driver_calls"}:
        blocks += [_way_lines(stats), _driver_lines(stats)]
    rule = "-" * _WIDTH
    return "\n".join([title, rule, f"\n{rule}\n".join("\n".join(block) for block in blocks)])


def format_comparison(columns: Mapping[str, Stats], rows: Sequence[tuple[str, str]]) -> str:
    """The same sizes of several readings beside each other; `rows` are labels with keys."""
    lines = [format_row("", *columns)]
    lines += [format_row(label, *(_size(stats, key) for stats in columns.values())) for label, key in rows]
    return "\n".join(lines)


def _jax_device(device: Any) -> Any:
    """A device of JAX as it is; a number is a CUDA ordinal, which need not be the place in JAX's list."""
    import jax

    if device is None:
        return jax.local_devices()[0]
    if not hasattr(device, "__index__"):
        return device
    known = {getattr(each, "local_hardware_id", None): each for each in jax.local_devices()}
    if device not in known:
        numbers = ", ".join(str(number) for number in known if number is not None)
        raise NotActiveError(f"JAX has no device {brief(device, 40)} in this process; it has {numbers or 'none'}")
    return known[device]


def current_stats(device: Any = None) -> Stats | None:
    """The statistics of a device under whichever allocator serves it; None where that one keeps none."""
    from gmlake_jax import process
    from gmlake_jax.stats import memory_stats

    if process.is_active():
        return memory_stats(device)
    stats: Stats | None = _jax_device(device).memory_stats()
    return stats


def memory_summary(device: Any = None) -> str:
    """The state of a device's memory as text. Where the allocator is not active: JAX's own numbers, and why."""
    from gmlake_jax import process

    device = _jax_device(device)
    owner = f"gmlake_jax, {device}"
    if not process.is_active():
        owner = f"JAX's own allocator, {device}. gmlake_jax is not active: {process.state()}"
    stats = current_stats(device)
    return format_summary(stats, owner) if stats is not None else f"{owner}. It keeps no statistics."
