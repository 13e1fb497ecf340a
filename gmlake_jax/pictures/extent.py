"""Buffers in the plane of time and place: where in physical memory each lies, from birth to death.

Home addresses that nobody ever used are left out, so that places count only memory. A stitched buffer lies at several
places. A source without blocks is shown by its own addresses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gmlake_jax.history import Kind, Recording
from gmlake_jax.history.physical import merge_spans
from gmlake_jax.history.schema import NONE, Table
from gmlake_jax.history.series import Integers, buffers_of
from gmlake_jax.history.state import ADDRESS, KIND, SIZE, joined, start_of


@dataclass(frozen=True)
class Extent:
    """A piece of a buffer: for how long, and which stretch of memory."""

    buffer: int  # index into the buffers
    start_ns: int
    end_ns: int
    place: int
    size: int
    pieces: int  # of its buffer


@dataclass(frozen=True)
class Extents:
    buffers: Table
    shown: tuple[Extent, ...]
    size: int  # bytes of memory that were used at some time
    left_out: int  # extents that are too small to be seen, and are not among the shown


def extents_of(recording: Recording, most: int) -> Extents:
    """The `most` extents with the largest areas."""
    buffers = buffers_of(recording)
    rows = np.array(_placed(recording), np.int64).reshape(-1, 4)
    if not len(rows):
        return Extents(buffers, (), 0, 0)
    places, size = _packed(rows[:, 1], rows[:, 2])
    starts = np.maximum(buffers["start_ns"], 0)[rows[:, 0]]
    ends = np.where(buffers["end_ns"] == NONE, recording.duration_ns, buffers["end_ns"])[rows[:, 0]]
    areas = rows[:, 2].astype(np.float64) * np.maximum(ends - starts, recording.duration_ns / 2000)
    chosen = np.sort(np.argsort(-areas, kind="stable")[:most])
    columns = np.stack([rows[:, 0], starts, ends, places, rows[:, 2], rows[:, 3]], axis=1)
    shown = tuple(Extent(*row) for row in columns[chosen].tolist())
    return Extents(buffers, shown, size, len(rows) - len(shown))


def _placed(recording: Recording) -> list[tuple[int, int, int, int]]:
    """Buffer, home, size and number of pieces, for every piece of every buffer; numbered as buffers_of does."""
    state = start_of(recording)
    found: list[tuple[int, int, int, int]] = []
    leases = [(address, lease[0]) for address, lease in state.leases.items()]
    for number, (address, size) in enumerate(leases):
        pieces = joined(state.pieces(address, size))
        found += [(number, piece.home, piece.size, len(pieces)) for piece in pieces]
    number = len(leases)
    for event in recording.events.tolist():
        if event[KIND] == Kind.ALLOC:
            pieces = joined(state.pieces(event[ADDRESS], event[SIZE]))
            found += [(number, piece.home, piece.size, len(pieces)) for piece in pieces]
            number += 1
        state.apply(event)
    return found


def _packed(homes: Integers, sizes: Integers) -> tuple[Integers, int]:
    """Each home as a place among all bytes that were used, and how many these are."""
    spans = merge_spans(homes, homes + sizes)
    lengths = spans["end"] - spans["start"]
    before = np.cumsum(lengths) - lengths
    index = np.searchsorted(spans["start"], homes, side="right") - 1
    return before[index] + homes - spans["start"][index], int(lengths.sum())
