"""Formats that know allocations and frees alone: the trace that `gmlake replay` reads, and the CSV of RMM.

What was alive before the recording is allocated at its beginning, so that every free has its allocation.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gmlake_jax.history import Kind, Recording, Snapshot
from gmlake_jax.history.schema import EVENT, About, HistoryError, Table
from gmlake_jax.history.state import ADDRESS, KIND, REQUESTED, SIZE, STREAM, TIME, Row, start_of
from gmlake_jax.traces import Columns, Integers, check_range

_ALLOCATE, _FREE, _FAILED = 0, 1, 2
_KINDS = np.array([Kind.ALLOC, Kind.FREE, Kind.REFUSED])
_RMM_WORDS = {_ALLOCATE: "allocate", _FREE: "free", _FAILED: "allocate failure"}

# Where addresses are made up: one for each allocation, each used once.
_FIRST_ADDRESS = 1 << 40
_GRANULE = 512


def _need_recording(history: Recording | Snapshot) -> Recording:
    if isinstance(history, Snapshot):
        raise HistoryError("a snapshot has no events; this format holds nothing else")
    return history


def _operations(recording: Recording) -> Iterator[tuple[int, Row, int, int]]:
    """Operation, event, bytes asked for and the number of its allocation, for each event that such a format has."""
    live: dict[int, tuple[int, int]] = {}
    for number, event in enumerate([*_allocations_before(recording), *recording.events.tolist()]):
        address, size = event[ADDRESS], event[REQUESTED] or event[SIZE]
        if event[KIND] == Kind.ALLOC:
            live[address] = (number, size)
            yield _ALLOCATE, event, size, number
        elif event[KIND] == Kind.REFUSED:
            yield _FAILED, event, size, number
        elif event[KIND] == Kind.FREE and address in live:
            number, size = live.pop(address)
            yield _FREE, event, size, number


def columns_of(recording: Recording) -> Columns:
    """The recording as a trace: an id for each allocation, streams numbered as they appear, sizes as asked for."""
    streams: dict[int, int] = {}
    rows = [
        (operation, number, size, streams.setdefault(event[STREAM], len(streams)), event[TIME] // 1000)
        for operation, event, size, number in _operations(recording)
    ]
    return Columns(*np.ascontiguousarray(np.array(rows, np.int64).reshape(-1, 5).T))


def _allocations_before(recording: Recording) -> list[Row]:
    leases = start_of(recording).leases.items()
    return [
        (0, address, size, requested, stream, -1, -1, -1, Kind.ALLOC, 0)
        for address, (size, requested, stream, *_) in sorted(leases)
    ]


def trace_bytes(history: Recording | Snapshot) -> bytes:
    """The .npz of tests/traces/README.md."""
    recording = _need_recording(history)
    columns = columns_of(recording)
    meta = json.dumps({"source": "gmlake convert", "about": asdict(recording.about)})
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        op=columns.op.astype(np.int8),
        id=_narrowed(columns.id, np.int32),
        size=columns.size,
        stream=_narrowed(columns.stream, np.int8),
        time_us=columns.time_us,
        meta=np.frombuffer(meta.encode(), np.uint8),
    )
    return buffer.getvalue()


def _narrowed(values: Integers, kind: type[np.signedinteger[Any]]) -> NDArray[np.signedinteger[Any]]:
    """In fewer bits, where all fit."""
    bounds = np.iinfo(kind)
    fits = not len(values) or (bounds.min <= values.min() and values.max() <= bounds.max)
    return values.astype(kind) if fits else values


def rmm_bytes(history: Recording | Snapshot) -> bytes:
    """RMM's log, with the recording's own addresses."""
    lines = ["Thread,Time,Action,Pointer,Size,Stream"]
    for operation, event, size, _ in _operations(_need_recording(history)):
        pointer = "(nil)" if operation == _FAILED else hex(event[ADDRESS])
        lines.append(f"0,{_clock(event[TIME])},{_RMM_WORDS[operation]},{pointer},{size},{hex(event[STREAM])}")
    return ("\n".join(lines) + "\n").encode()


def _clock(time_ns: int) -> str:
    """Time of day; a recording starts at midnight."""
    seconds, micros = divmod(time_ns // 1000, 1_000_000)
    return f"{seconds // 3600 % 24:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{micros:06}"


def recording_of(columns: Columns, name: str, *, is_rmm: bool) -> Recording:
    """A trace as a recording. RMM's ids are addresses; other ids get addresses that are used once."""
    _check_operations(columns, name)
    check_range(columns)
    events = np.zeros(len(columns.op), EVENT)
    for column in ("range", "block", "annotation"):
        events[column] = -1
    events["kind"] = _KINDS[columns.op]
    events["time_ns"] = (columns.time_us - np.min(columns.time_us, initial=1 << 62)) * 1000
    events["stream"] = columns.stream
    events["size"] = events["requested"] = columns.size
    events["address"] = columns.id if is_rmm else _made_up_addresses(columns)
    return Recording(about=About(allocator="rmm" if is_rmm else "trace", program=name), events=_without_orphans(events))


def _check_operations(columns: Columns, name: str) -> None:
    wrong = np.flatnonzero((columns.op < 0) | (columns.op > _FAILED) | (columns.size < 0))
    if len(wrong):
        operation, size = columns.op[wrong[0]], columns.size[wrong[0]]
        raise HistoryError(f"{name}: event {wrong[0]}: operation {operation} with size {size} makes no sense")


def _made_up_addresses(columns: Columns) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """One for each allocation; a free has that of the last allocation of its id."""
    steps = np.where(columns.op == _ALLOCATE, -(-columns.size // _GRANULE) * _GRANULE, 0)
    starts = _FIRST_ADDRESS + np.cumsum(steps) - steps
    current: dict[int, int] = {}
    addresses = np.zeros(len(starts), np.uint64)
    for index, (operation, number) in enumerate(zip(columns.op.tolist(), columns.id.tolist(), strict=True)):
        if operation == _ALLOCATE:
            current[number] = int(starts[index])
        addresses[index] = current.get(number, 0) if operation != _FAILED else 0
    return addresses


def _without_orphans(events: Table) -> Table:
    """Requests for nothing, and their frees, are left out: they have no address of their own."""
    kept: Table = events[(events["kind"] == Kind.REFUSED) | ((events["size"] > 0) & (events["address"] > 0))]
    return kept
