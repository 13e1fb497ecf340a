"""The pickle of torch.cuda.memory._snapshot(), for the viewer at pytorch.org/memory_viz and torch's own _memory_viz.py.

The viewer believes that memory lies at one address only. So it is shown the physical memory: its segments are the
blocks at home, and a lease through a stitched range is shown as the pieces that it consists of, each at home, with
frames that tell of the whole. Its sums are then the true ones. Blocks that lie next to each other are one segment, as
with PyTorch's own expandable segments.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from gmlake_jax.history import Kind, Recording, Snapshot
from gmlake_jax.history.physical import memory_spans
from gmlake_jax.history.schema import LEASE, NONE, LeaseState
from gmlake_jax.history.state import (
    ADDRESS,
    ANNOTATION,
    BLOCK_ID,
    KIND,
    REQUESTED,
    SIZE,
    STREAM,
    TIME,
    Piece,
    Row,
    State,
    joined,
    last_snapshot,
    start_of,
)
from gmlake_jax.sizes import format_bytes

# The viewer's own reader of pickles knows the protocols 2 to 4.
_PROTOCOL = 4


def torch_bytes(history: Recording | Snapshot) -> bytes:
    return pickle.dumps(to_torch(history), protocol=_PROTOCOL)


def to_torch(history: Recording | Snapshot) -> dict[str, Any]:
    """Plain lists and dicts in the shape of torch.cuda.memory._snapshot()."""
    recording = history if isinstance(history, Recording) else Recording(about=history.about, end=history)
    recording = replace(recording, end=last_snapshot(recording))
    return {
        "segments": _Segments(recording).all(),
        "device_traces": [[] for _ in range(recording.about.device)] + [list(_Trace(recording).events())],
        "allocator_settings": {},
    }


def _frames(name: str, pieces: int = 1, index: int = 0, whole: tuple[int, int] = (0, 0)) -> list[dict[str, Any]]:
    """An annotation "a/b" as a stack, innermost first; before it, which part of a stitched lease this is."""
    stack = [{"filename": "annotation", "line": 0, "name": part} for part in reversed(name.split("/")) if part]
    if pieces > 1:
        text = f"piece {index + 1} of {pieces} of {format_bytes(whole[1])} at {whole[0]:#x}"
        stack.insert(0, {"filename": "stitched", "line": index + 1, "name": text})
    return stack or [{"filename": "gmlake", "line": 0, "name": "no annotation"}]


def _requested(piece: Piece, size: int, requested: int) -> int:
    """Of the bytes asked for, those in this piece: what rounding added is at the end of the lease."""
    missing = size - (requested or size)
    return max(piece.size - max(piece.offset + piece.size - (size - missing), 0), 0)


class _Segments:
    """The segments at the end, each with blocks that fill it without a gap."""

    def __init__(self, recording: Recording):
        assert recording.end is not None
        self._recording, self._snapshot = recording, recording.end

    def all(self) -> list[dict[str, Any]]:
        blocks = sorted(self._leased(), key=lambda block: int(block["address"]))
        spans = memory_spans(self._snapshot).tolist()
        if not spans:  # nothing is known of blocks: each lease stands for its own memory
            spans = [(block["address"], block["address"] + block["size"]) for block in blocks]
        return [self._segment(start, end, blocks) for start, end in spans]

    def _leased(self) -> Iterator[dict[str, Any]]:
        state = State.of(replace(self._snapshot, leases=np.zeros(0, LEASE)))
        for address, size, requested, _, _, _, annotation, lease_state, *_ in self._snapshot.leases.tolist():
            pieces = joined(state.pieces(address, size))
            name = self._snapshot.annotation(annotation)
            for index, piece in enumerate(pieces):
                yield {
                    "address": piece.home,
                    "size": piece.size,
                    "requested_size": _requested(piece, size, requested),
                    "state": "active_allocated" if lease_state == LeaseState.LIVE else "active_pending_free",
                    "frames": _frames(name, len(pieces), index, (address, size)),
                }

    def _segment(self, start: int, end: int, blocks: list[dict[str, Any]]) -> dict[str, Any]:
        inside = [block for block in blocks if start <= block["address"] < end]
        leased = [block for block in inside if block["state"] == "active_allocated"]
        allocated, active = (sum(block["size"] for block in some) for some in (leased, inside))
        return {
            "address": start,
            "total_size": end - start,
            "allocated_size": allocated,
            "active_size": active,
            "requested_size": sum(block["requested_size"] for block in leased),
            "stream": 0,
            "device": self._recording.about.device,
            "segment_type": "large",
            "is_expandable": True,
            "segment_pool_id": (0, 0),
            "frames": [],
            "blocks": list(_filled(start, end, inside)),
        }


def _filled(start: int, end: int, blocks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for block in blocks:
        if block["address"] > start:
            yield _idle(start, block["address"])
        yield block
        start = block["address"] + block["size"]
    if start < end:
        yield _idle(start, end)


def _idle(start: int, end: int) -> dict[str, Any]:
    return {"address": start, "size": end - start, "requested_size": 0, "state": "inactive", "frames": []}


class _Trace:
    """The events as the viewer knows them. Goes through the recording once."""

    def __init__(self, recording: Recording):
        self._recording = recording
        self._state = start_of(recording)
        self._origin_us = max(recording.about.start_unix_ns, 0) // 1000
        self._held = sum(size for _, size in self._state.blocks.values())
        self._limit = recording.about.limit_bytes

    def events(self) -> Iterator[dict[str, Any]]:
        for event in self._recording.events.tolist():
            handler = _HANDLERS.get(event[KIND])
            if handler is not None:
                yield from handler(self, event)
            self._state.apply(event)

    def _entry(self, event: Row, action: str, address: int, size: int, frames: list[dict[str, Any]]) -> dict[str, Any]:
        time_us = self._origin_us + event[TIME] // 1000
        base = {"action": action, "addr": address, "size": size, "stream": event[STREAM]}
        return base | {"time_us": time_us, "frames": frames}

    def _parts(self, event: Row, size: int, annotation: int) -> Iterator[tuple[Piece, list[dict[str, Any]]]]:
        pieces = joined(self._state.pieces(event[ADDRESS], size))
        name = self._recording.annotation(annotation)
        for index, piece in enumerate(pieces):
            yield piece, _frames(name, len(pieces), index, (event[ADDRESS], size))

    def alloc(self, event: Row) -> Iterator[dict[str, Any]]:
        for piece, frames in self._parts(event, event[SIZE], event[ANNOTATION]):
            if piece.block == NONE:
                yield self._entry(event, "segment_alloc", piece.home, piece.size, frames) | {"stream": 0}
            yield self._entry(event, "alloc", piece.home, piece.size, frames)

    def free(self, event: Row) -> Iterator[dict[str, Any]]:
        lease = self._state.leases.get(event[ADDRESS])
        if lease is None:
            return
        for piece, frames in self._parts(event, lease[0], lease[5]):
            yield self._entry(event, "free_requested", piece.home, piece.size, frames)
            yield self._entry(event, "free_completed", piece.home, piece.size, frames)
            if piece.block == NONE:
                yield self._entry(event, "segment_free", piece.home, piece.size, frames) | {"stream": 0}

    def mapped(self, event: Row) -> Iterator[dict[str, Any]]:
        """A block's first mapping is its home; those in stitched ranges add no memory."""
        if event[BLOCK_ID] not in self._state.homes:
            yield self._entry(event, "segment_map", event[ADDRESS], event[SIZE], []) | {"stream": 0}

    def unmapped(self, event: Row) -> Iterator[dict[str, Any]]:
        if self._state.homes.get(event[BLOCK_ID]) == event[ADDRESS]:
            yield self._entry(event, "segment_unmap", event[ADDRESS], event[SIZE], []) | {"stream": 0}

    def created(self, event: Row) -> Iterator[dict[str, Any]]:
        self._held += event[SIZE] * (1 if event[KIND] == Kind.CREATE else -1)
        return iter(())

    def limited(self, event: Row) -> Iterator[dict[str, Any]]:
        self._limit = event[SIZE]
        return iter(())

    def refused(self, event: Row) -> Iterator[dict[str, Any]]:
        room = max(self._limit - self._held, 0)
        yield self._entry(event, "oom", 0, event[REQUESTED], _frames(self._recording.annotation(event[ANNOTATION]))) | {
            "device_free": room
        }


_HANDLERS = {
    Kind.ALLOC: _Trace.alloc,
    Kind.FREE: _Trace.free,
    Kind.MAP: _Trace.mapped,
    Kind.UNMAP: _Trace.unmapped,
    Kind.CREATE: _Trace.created,
    Kind.RELEASE: _Trace.created,
    Kind.LIMIT: _Trace.limited,
    Kind.REFUSED: _Trace.refused,
}
