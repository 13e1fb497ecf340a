"""A device's memory as it goes through a recording: the state at any moment.

The recorder may have begun when memory was held already, or may have lost its first events. So the state at the start
is found by undoing all events from the snapshot at the end; without one, by taking for alive what is freed unasked.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from gmlake_jax.history.recording import Recording
from gmlake_jax.history.schema import (
    BLOCK,
    LEASE,
    MAPPING,
    NONE,
    RANGE,
    About,
    Kind,
    LeaseState,
    RangeKind,
    Table,
    table,
)
from gmlake_jax.history.snapshot import Snapshot

# One row of EVENT. A tuple of Python integers: reading fields of NumPy rows one by one is slow.
Row: TypeAlias = tuple[int, ...]
TIME, ADDRESS, SIZE, REQUESTED, STREAM, RANGE_ID, BLOCK_ID, ANNOTATION, KIND, WAY = range(10)


class Piece(NamedTuple):
    """Bytes of a lease that lie together in one block."""

    block: int  # NONE where nothing is known of blocks
    home: int  # home address of the first byte
    size: int
    offset: int  # in the lease


def joined(pieces: list[Piece]) -> list[Piece]:
    """Pieces that follow each other at home too are one, though it may span blocks."""
    found: list[Piece] = []
    for piece in pieces:
        last = found[-1] if found else None
        if last and last.block != NONE and last.home + last.size == piece.home:
            found[-1] = last._replace(size=last.size + piece.size)
        else:
            found.append(piece)
    return found


class State:
    """Ranges, blocks, mappings and leases, changed by one event at a time, in either direction.

    Model: four dictionaries, leases and mappings by address. Whatever an event refers to and is not there is ignored: a
    recording may begin in the middle. Invariant: `_addresses` are those of `mappings`, in order. Thread rule: one
    thread. Cost: little more than constant for an event, a step a block for `pieces`; `snapshot()` costs as much as
    there is.
    """

    def __init__(self) -> None:
        self.blocks: dict[int, tuple[int, int]] = {}  # quarantined, size
        self.ranges: dict[int, tuple[int, int, int]] = {}  # kind, address, size
        self.mappings: dict[int, tuple[int, int]] = {}  # range, block
        self.leases: dict[int, tuple[int, ...]] = {}  # a row of LEASE after the address
        self.homes: dict[int, int] = {}  # of each block, its address in the primitive range
        self.kinds: dict[int, int] = {}  # of ranges, where known before they are restored
        self._addresses: list[int] = []

    @classmethod
    def of(cls, snapshot: Snapshot) -> State:
        state = cls()
        state.blocks = {key: (flag, size) for key, flag, size in snapshot.blocks.tolist()}
        state.ranges = {key: tuple(rest) for key, *rest in snapshot.ranges.tolist()}
        for owner, block, address in snapshot.mappings.tolist():
            state._map(address, owner, block)
        live = snapshot.leases[snapshot.leases["state"] == LeaseState.LIVE]
        state.leases = {address: tuple(rest) for address, *rest in live.tolist()}
        return state

    def apply(self, event: Row) -> None:
        if change := _FORWARD.get(event[KIND]):
            change(self, event)

    def revert(self, event: Row) -> None:
        if change := _BACKWARD.get(event[KIND]):
            change(self, event)

    def add_lease(self, event: Row) -> None:
        size, requested, stream = event[SIZE], event[REQUESTED], event[STREAM]
        rest = (event[TIME], event[RANGE_ID], event[ANNOTATION], LeaseState.LIVE, event[WAY], 0, 0)
        self.leases[event[ADDRESS]] = (size, requested, stream, *rest)

    def restore_lease(self, event: Row) -> None:
        """Undoes a free, which does not tell all that the allocation told."""
        unknown = (NONE, event[RANGE_ID], event[ANNOTATION], LeaseState.LIVE, 0, 0, 0)
        self.leases[event[ADDRESS]] = (event[SIZE], event[REQUESTED] or event[SIZE], event[STREAM], *unknown)

    def remove_lease(self, event: Row) -> None:
        self.leases.pop(event[ADDRESS], None)

    def add_block(self, event: Row) -> None:
        self.blocks[event[BLOCK_ID]] = (0, event[SIZE])

    def remove_block(self, event: Row) -> None:
        self.blocks.pop(event[BLOCK_ID], None)

    def add_mapping(self, event: Row) -> None:
        self._map(event[ADDRESS], event[RANGE_ID], event[BLOCK_ID])

    def _map(self, address: int, owner: int, block: int) -> None:
        if address not in self.mappings:
            insort(self._addresses, address)
        self.mappings[address] = (owner, block)
        if owner not in self.ranges or self.ranges[owner][0] == RangeKind.PRIMITIVE:
            self.homes[block] = address

    def remove_mapping(self, event: Row) -> None:
        address = event[ADDRESS]
        if address in self.mappings:
            _, block = self.mappings.pop(address)
            del self._addresses[bisect_left(self._addresses, address)]
            if self.homes.get(block) == address:
                del self.homes[block]

    def add_range(self, event: Row) -> None:
        kind = RangeKind.STITCHED if event[KIND] == Kind.STITCH else RangeKind.PRIMITIVE
        self.ranges[event[RANGE_ID]] = (kind, event[ADDRESS], event[SIZE])

    def restore_range(self, event: Row) -> None:
        """Undoes a drop. Unless the range was seen being made, it was stitched: those come and go, others stay."""
        kind = self.kinds.get(event[RANGE_ID], RangeKind.STITCHED)
        self.ranges[event[RANGE_ID]] = (kind, event[ADDRESS], event[SIZE])

    def remove_range(self, event: Row) -> None:
        self.ranges.pop(event[RANGE_ID], None)

    def quarantine(self, event: Row) -> None:
        if event[BLOCK_ID] in self.blocks:
            self.blocks[event[BLOCK_ID]] = (1, self.blocks[event[BLOCK_ID]][1])

    def pieces(self, address: int, size: int) -> list[Piece]:
        """What stands behind these addresses, in order; one piece without a block where that is not known."""
        found: list[Piece] = []
        done, index = 0, bisect_right(self._addresses, address) - 1
        while done < size and 0 <= index < len(self._addresses):
            start = self._addresses[index]
            block = self.mappings[start][1]
            inside = address + done - start
            length = min(size - done, self.blocks.get(block, (0, 0))[1] - inside)
            if inside < 0 or length <= 0:
                break
            found.append(Piece(block, self.homes.get(block, start) + inside, length, done))
            done, index = done + length, index + 1
        return found if done == size else [Piece(NONE, address, size, 0)]

    def snapshot(self, about: About | None = None, annotations: tuple[str, ...] = (), time_ns: int = NONE) -> Snapshot:
        mappings = [
            (owner, block, address)
            for address, (owner, block) in sorted(self.mappings.items())
            if owner in self.ranges and block in self.blocks
        ]
        return Snapshot(
            about=about or About(),
            ranges=_sorted_table(RANGE, self.ranges),
            blocks=_sorted_table(BLOCK, self.blocks),
            mappings=table(MAPPING, mappings),
            leases=_sorted_table(LEASE, self.leases),
            annotations=annotations,
            time_ns=time_ns,
        )


def _sorted_table(dtype: np.dtype[Any], rows: Mapping[int, tuple[int, ...]]) -> Table:
    return np.array([(key, *rest) for key, rest in sorted(rows.items())], dtype)


_Change: TypeAlias = Callable[[State, Row], None]
_FORWARD: dict[int, _Change] = {
    Kind.ALLOC: State.add_lease,
    Kind.FREE: State.remove_lease,
    Kind.CREATE: State.add_block,
    Kind.RELEASE: State.remove_block,
    Kind.MAP: State.add_mapping,
    Kind.UNMAP: State.remove_mapping,
    Kind.RESERVE: State.add_range,
    Kind.STITCH: State.add_range,
    Kind.DROP: State.remove_range,
    Kind.QUARANTINE: State.quarantine,
}
_BACKWARD: dict[int, _Change] = {
    Kind.ALLOC: State.remove_lease,
    Kind.FREE: State.restore_lease,
    Kind.CREATE: State.remove_block,
    Kind.RELEASE: State.add_block,
    Kind.MAP: State.remove_mapping,
    Kind.UNMAP: State.add_mapping,
    Kind.RESERVE: State.remove_range,
    Kind.STITCH: State.remove_range,
    Kind.DROP: State.restore_range,
}


def start_of(recording: Recording) -> State:
    """The state before the first event."""
    rows = recording.events.tolist()
    if recording.end is not None:
        state = State.of(recording.end)
        state.kinds = {event[RANGE_ID]: RangeKind.PRIMITIVE for event in rows if event[KIND] == Kind.RESERVE}
        for event in reversed(rows):
            state.revert(event)
        return state
    return _start_without_end(rows)


def _start_without_end(rows: Iterable[Row]) -> State:
    """What is freed, released or unmapped without having been made before was there."""
    state, seen = State(), State()
    for event in rows:
        if event[KIND] == Kind.FREE and event[ADDRESS] not in seen.leases:
            state.restore_lease(event)
        if event[KIND] == Kind.RELEASE and event[BLOCK_ID] not in seen.blocks:
            state.add_block(event)
        if event[KIND] == Kind.UNMAP and event[ADDRESS] not in seen.mappings:
            state.add_mapping(event)
        seen.apply(event)
    return state


def snapshots_at(recording: Recording, indices: Iterable[int]) -> Iterator[Snapshot]:
    """The state after so many events, for each of the ascending `indices`."""
    state, rows, done = start_of(recording), recording.events.tolist(), 0
    for index in indices:
        for event in rows[done:index]:
            state.apply(event)
        done = index
        time_ns = rows[index - 1][TIME] if index else 0
        yield state.snapshot(recording.about, recording.annotations, time_ns)


def last_snapshot(recording: Recording) -> Snapshot:
    """The snapshot taken at the end, or what the events amount to."""
    if recording.end is not None:
        return recording.end
    return next(snapshots_at(recording, [len(recording.events)]))


def snapshot_at_time(recording: Recording, time_ns: int) -> Snapshot:
    """The state at a time of the recording's clock."""
    index = int(np.searchsorted(np.maximum.accumulate(recording.events["time_ns"]), time_ns, side="right"))
    return next(snapshots_at(recording, [index]))
