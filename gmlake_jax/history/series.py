"""A recording as curves over time, and as buffers with a beginning and an end. Vectors of NumPy; no state is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gmlake_jax.history.recording import Recording
from gmlake_jax.history.schema import NONE, Kind, Table
from gmlake_jax.history.snapshot import Snapshot
from gmlake_jax.history.state import (
    ADDRESS,
    ANNOTATION,
    KIND,
    REQUESTED,
    SIZE,
    STREAM,
    TIME,
    WAY,
    State,
    snapshots_at,
    start_of,
)

Integers: TypeAlias = NDArray[np.int64]

# A lease from its beginning to its end. Times are those of the events; NONE: before the first, or not yet.
BUFFER = np.dtype(
    [
        ("address", "<u8"),
        ("size", "<i8"),
        ("requested", "<i8"),
        ("stream", "<u8"),
        ("start_ns", "<i8"),
        ("end_ns", "<i8"),
        ("annotation", "<i4"),
        ("way", "<i4"),
    ]
)


@dataclass(frozen=True)
class Series:
    """Bytes after each event, with what held before the first in front; all of one length."""

    time_ns: Integers
    live: Integers  # leased, as placed
    requested: Integers  # leased, as asked for
    reserved: Integers  # physical blocks held
    mapped: Integers  # sum of all mappings
    limit: Integers  # NONE where unknown
    knows_blocks: bool  # False: from a source that tells of leases alone, so reserved and mapped are zero


def times_of(recording: Recording) -> Integers:
    """The events' times, never going back."""
    times: Integers = np.maximum.accumulate(recording.events["time_ns"])
    return times


def _changes(recording: Recording, up: Kind, down: Kind, column: str = "size") -> Integers:
    kind, amount = recording.events["kind"], recording.events[column]
    changes: Integers = np.where(kind == up, amount, 0) - np.where(kind == down, amount, 0)
    return changes


def _accumulate(start: int, changes: Integers) -> Integers:
    return np.cumsum(np.concatenate([[start], changes])).astype(np.int64)


def live_series(recording: Recording, start: State | None = None) -> Integers:
    state = start or start_of(recording)
    held = sum(lease[0] for lease in state.leases.values())
    return _accumulate(held, _changes(recording, Kind.ALLOC, Kind.FREE))


def _requested_series(recording: Recording, start: State) -> Integers:
    """As live, but in bytes asked for; a free may not know them, its allocation does."""
    asked = {address: lease[1] for address, lease in start.leases.items()}
    total = [sum(asked.values())]
    for event in recording.events.tolist():
        change = 0
        if event[KIND] == Kind.ALLOC:
            change = asked[event[ADDRESS]] = event[REQUESTED]
        elif event[KIND] == Kind.FREE:
            change = -asked.pop(event[ADDRESS], 0)
        total.append(total[-1] + change)
    return np.array(total, np.int64)


def _mapped_series(recording: Recording, start: State) -> Integers:
    held = sum(start.blocks.get(block, (0, 0))[1] for _, block in start.mappings.values())
    return _accumulate(held, _changes(recording, Kind.MAP, Kind.UNMAP))


def _limit_series(recording: Recording) -> Integers:
    """`about` has the limit of the start, or that of the end; in that case the one before a change is not known."""
    events = recording.events
    is_limit = events["kind"] == Kind.LIMIT
    first = recording.about.limit_bytes
    if is_limit.any() and first == events["size"][is_limit][-1]:
        first = NONE
    values = np.concatenate([[first], np.where(is_limit, events["size"], 0)])
    changed = np.concatenate([[True], is_limit])
    latest = np.maximum.accumulate(np.where(changed, np.arange(len(values)), 0))
    limits: Integers = values[latest]
    return limits


def series_of(recording: Recording) -> Series:
    start = start_of(recording)
    kinds = recording.events["kind"]
    reserved = _accumulate(
        sum(size for _, size in start.blocks.values()), _changes(recording, Kind.CREATE, Kind.RELEASE)
    )
    return Series(
        time_ns=np.concatenate([[0], times_of(recording)]).astype(np.int64),
        live=live_series(recording, start),
        requested=_requested_series(recording, start),
        reserved=reserved,
        mapped=_mapped_series(recording, start),
        limit=_limit_series(recording),
        knows_blocks=bool(start.blocks) or bool((kinds == Kind.CREATE).any()),
    )


def buffers_of(recording: Recording) -> Table:
    """Every lease of the recording as a row of BUFFER, by its beginning."""
    rows: list[list[int]] = []
    open_rows: dict[int, list[int]] = {}

    def begin(address: int, *values: int) -> None:
        open_rows[address] = [address, *values]
        rows.append(open_rows[address])

    for address, (size, requested, stream, _, _, annotation, _, way, *_) in start_of(recording).leases.items():
        begin(address, size, requested, stream, NONE, NONE, annotation, way)
    for event in recording.events.tolist():
        address = event[ADDRESS]
        if event[KIND] == Kind.ALLOC:
            begin(address, *(event[i] for i in (SIZE, REQUESTED, STREAM, TIME)), NONE, event[ANNOTATION], event[WAY])
        elif event[KIND] == Kind.FREE and address in open_rows:
            open_rows.pop(address)[5] = event[TIME]
    return np.array([tuple(row) for row in rows], BUFFER)


def marks_of(recording: Recording) -> list[tuple[int, str]]:
    """The moments that the program named, with their names."""
    marks = recording.events[recording.events["kind"] == Kind.MARK]
    return [(time, recording.annotation(name)) for time, name in marks[["time_ns", "annotation"]].tolist()]


def peak_snapshot(recording: Recording) -> Snapshot:
    """The state at the moment when most bytes were leased."""
    values = live_series(recording)[1:]
    return next(snapshots_at(recording, [int(np.argmax(values)) + 1 if len(values) else 0]))
