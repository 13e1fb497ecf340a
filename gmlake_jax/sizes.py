"""Byte sizes as people write and read them: `20GiB`, `1.5 GB`, `4096`. The printed form is that of the C++ side."""

import re
from decimal import Decimal

from gmlake_jax.untrusted import brief

# No device has as much; sums of such sizes fit into 64 bits.
MOST_BYTES = 1 << 48

_UNITS = {
    "": 1,
    "b": 1,
    **{f"{prefix}ib": 1024**power for power, prefix in enumerate("kmgt", start=1)},
    **{f"{prefix}b": 1000**power for power, prefix in enumerate("kmgt", start=1)},
}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)", re.IGNORECASE | re.ASCII)


def parse_bytes(text: str) -> int:
    """Bytes in `text`; ValueError where it is no size."""
    match = _SIZE.fullmatch(text.strip())
    if match is None or match[2].lower() not in _UNITS:
        raise ValueError(f"{brief(text, 40)!r} is not a size, such as 20GiB, 1.5 GB or 4096")
    size = Decimal(match[1]) * _UNITS[match[2].lower()]
    if size >= MOST_BYTES:
        raise ValueError(f"a size must be below {MOST_BYTES >> 40} TiB")
    return int(size)


def format_bytes(count: float) -> str:
    """`count` bytes in the largest unit that leaves a number of at least one."""
    if abs(count) < 1024:
        return f"{count:.0f} B"
    for unit in ("KiB", "MiB", "GiB"):
        count /= 1024
        if abs(count) < 1023.95:
            return f"{count:.1f} {unit}"
    return f"{count / 1024:.1f} TiB"
