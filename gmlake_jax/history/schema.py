"""The tables of recordings and snapshots: their columns, and the numbers that stand for words.

Each table is a NumPy structured array, little-endian and packed, so that the native side can fill it by copying memory.
A number that is unknown or does not apply is NONE. The values of the enumerations are part of the file format: new
ones are added at the end, none is ever used again for something else. The words are those of cc/README.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gmlake_jax.errors import GmlakeError

# A structured array of one of the types below.
Table: TypeAlias = NDArray[Any]

NONE = -1

# Sizes, addresses and times are below it: sums of two do not overflow.
MOST = 1 << 62


class HistoryError(GmlakeError):
    """A file that is no recording or snapshot, or data that contradicts itself. One line."""


class Kind(IntEnum):
    """What an event says. Which columns each kind fills is in docs/recording.md."""

    ALLOC = 0  # a lease was handed out
    FREE = 1  # a lease was given back
    REFUSED = 2  # a request could not be served
    CREATE = 3  # a physical block came from the device
    RELEASE = 4  # a physical block went back to the device
    MAP = 5  # a block was mapped at an address of a range
    UNMAP = 6  # and unmapped
    RESERVE = 7  # a primitive range of addresses was reserved
    STITCH = 8  # a stitched range was reserved; the maps of its blocks follow
    DROP = 9  # a range's addresses were given back
    LIMIT = 10  # the limit changed to `size`
    TRIM = 11  # `size` bytes of idle memory were released on request
    QUARANTINE = 12  # memory is in doubt after an error of the driver
    MARK = 13  # the program named this moment: a step, an epoch


class Way(IntEnum):
    """How a request was served."""

    NONE = 0
    SMALL = 1
    REUSE = 2
    SPLIT = 3
    STITCH = 4
    GROW = 5


class RangeKind(IntEnum):
    PRIMITIVE = 0  # created together with its blocks, each of which is at home here
    STITCHED = 1  # made of blocks that are at home elsewhere


class LeaseState(IntEnum):
    LIVE = 0
    PENDING = 1  # given back, but work queued on another stream may still touch it


EVENT = np.dtype(
    [
        ("time_ns", "<i8"),  # since the recording started, by a clock that never goes back
        ("address", "<u8"),  # device address; 0 where there is none
        ("size", "<i8"),  # bytes as placed
        ("requested", "<i8"),  # bytes as asked for
        ("stream", "<u8"),  # equal numbers, same stream; 0 is the default stream
        ("range", "<i4"),  # the range that the address lies in
        ("block", "<i4"),  # the physical block
        ("annotation", "<i4"),  # index into the annotations
        ("kind", "<u1"),  # a Kind
        ("way", "<u1"),  # a Way
        ("unused", "<u2"),  # zero
    ]
)

RANGE = np.dtype(
    [
        ("id", "<i4"),
        ("kind", "<i4"),  # a RangeKind
        ("address", "<u8"),
        ("size", "<i8"),  # bytes of addresses that are mapped, or were meant to be
    ]
)

BLOCK = np.dtype(
    [
        ("id", "<i4"),
        ("quarantined", "<i4"),  # 1 where the memory is in doubt
        ("size", "<i8"),
    ]
)

MAPPING = np.dtype(
    [
        ("range", "<i4"),  # id of the range
        ("block", "<i4"),  # id of the block, mapped as a whole
        ("address", "<u8"),  # of the block's first byte in that range
    ]
)

LEASE = np.dtype(
    [
        ("address", "<u8"),
        ("size", "<i8"),
        ("requested", "<i8"),
        ("stream", "<u8"),
        ("time_ns", "<i8"),  # when it was handed out, as in events; NONE where unknown
        ("range", "<i4"),
        ("annotation", "<i4"),
        ("state", "<u1"),  # a LeaseState
        ("way", "<u1"),
        ("unused", "<u2"),
        ("unused2", "<i4"),
    ]
)


@dataclass(frozen=True)
class About:
    """Which device of which program the data is of. Everything has a default, for data from elsewhere."""

    device: int = 0  # CUDA ordinal within the program
    device_name: str = ""
    limit_bytes: int = NONE  # physical memory that the device was allowed to hold
    total_bytes: int = NONE  # physical memory that the device has
    allocator: str = "gmlake"
    program: str = ""
    pid: int = NONE
    start_unix_ns: int = NONE  # wall clock at time_ns 0
    versions: dict[str, str] = field(default_factory=dict)


def table(dtype: np.dtype[Any], rows: Any = ()) -> Table:
    """A table of `dtype`: from the bytes that the native side copied out, or from rows as tuples or dicts."""
    if isinstance(rows, bytes | bytearray | memoryview):
        return np.frombuffer(rows, dtype)
    rows = [row_of(dtype, row) if isinstance(row, dict) else row for row in rows]
    return np.array(rows, dtype)


_DEFAULTS = dict.fromkeys(("range", "block", "annotation"), NONE)


def row_of(dtype: np.dtype[Any], values: dict[str, Any]) -> tuple[Any, ...]:
    """A row from the columns that matter; the others say "none"."""
    unknown = set(values) - set(dtype.names or ())
    if unknown:
        raise HistoryError(f"no column {', '.join(sorted(unknown))}; there are {', '.join(dtype.names or ())}")
    return tuple(values.get(name, _DEFAULTS.get(name, 0)) for name in dtype.names or ())


def check_table(name: str, rows: Table, dtype: np.dtype[Any]) -> None:
    if not isinstance(rows, np.ndarray) or rows.dtype != dtype or rows.ndim != 1:
        raise HistoryError(f"table {name!r} does not have the columns {', '.join(dtype.names or ())}")


def check_sum(name: str, rows: Table, column: str, factor: int = 1) -> None:
    """HistoryError where sums of `column` would not fit into 64 bits, even if each were counted `factor` times."""
    if float(np.sum(rows[column], dtype=np.float64)) * factor >= MOST:
        raise HistoryError(f"{name}: {column} adds up to more than 62 bits hold")


def check_values(name: str, rows: Table, column: str, low: int, high: int) -> None:
    """HistoryError that names the first row whose `column` is not within [low, high)."""
    values = rows[column].astype(np.int64)
    wrong = np.flatnonzero((values < low) | (values >= high))
    if len(wrong):
        raise HistoryError(f"{name} {wrong[0]}: {column} is {values[wrong[0]]}, which is none")
