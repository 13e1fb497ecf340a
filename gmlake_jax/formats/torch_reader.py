"""Reads the pickle of torch.cuda.memory._snapshot() as a recording, without trusting it.

formats/plain_pickle.py has the file loaded; here its content is looked at. PyTorch's segments become blocks that are
mapped once; what was there before the trace began is found by undoing it from the end, and appears as made at the first
moment.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gmlake_jax.formats.intervals import Intervals
from gmlake_jax.formats.plain_pickle import load_plain
from gmlake_jax.history import HistoryError, Kind, Recording
from gmlake_jax.history.schema import EVENT, MOST, About, table
from gmlake_jax.untrusted import MIB, brief, is_whole, read_regular

_SEGMENT_UP = ("segment_alloc", "segment_map")
_SEGMENT_DOWN = ("segment_free", "segment_unmap")
_FREED = ("free_completed", "free")
_ACTIVE = ("active_allocated", "active_pending_free", "active_awaiting_free")
_BROKEN = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RecursionError, MemoryError)
_MOST_BYTES = 1024 * MIB
_NUMBERS = ("addr", "address", "size", "total_size", "requested_size", "stream", "time_us", "device")


def read_torch(path: str) -> Recording:
    """The first device that has anything in the snapshot at `path`."""
    try:
        data = read_regular(path, _MOST_BYTES)
        return from_torch(load_plain(data), Path(path).name, len(data))
    except HistoryError as error:
        raise HistoryError(f"{path}: {error}") from None
    except OSError as error:
        raise HistoryError(f"{path}: {error.strerror}") from error
    except _BROKEN as error:
        text = brief(error) or type(error).__name__
        raise HistoryError(f"{path}: not a memory snapshot of PyTorch, or damaged: {text}") from error


def from_torch(content: Any, name: str = "", most_entries: int = 1 << 32) -> Recording:
    """Such a snapshot, as plain data, as a recording. Of a file of N bytes no more than N entries come."""
    if not isinstance(content, dict) or not {"segments", "device_traces"} <= set(content):
        raise HistoryError("not a memory snapshot of PyTorch: it has no segments and device_traces")
    device = _device_of(content)
    traces = content["device_traces"]
    trace = traces[device] if device < len(traces) else []
    segments = [segment for segment in content["segments"] if segment["device"] == device]
    _check_entries([trace, segments, *(segment["blocks"] for segment in segments)], most_entries)
    return _Builder(segments, trace).build(About(device=device, allocator="torch", program=name))


def _check_entries(lists: list[Any], most: int) -> None:
    """One list that is referred to again and again is small in a file and large in a recording."""
    if not all(isinstance(entries, list) for entries in lists) or sum(map(len, lists)) > most:
        raise HistoryError("its segments and traces are no lists, or refer to the same entries again and again")
    for entries in lists:
        for entry in entries:
            _check_numbers(entry)


def _check_numbers(entry: dict[str, Any]) -> None:
    for name in _NUMBERS:
        if not is_whole(entry.get(name) or 0, -MOST, MOST):
            raise HistoryError(f"{name} is {brief(entry[name], 40)}, which is no whole number of 62 bits")


def _device_of(content: dict[str, Any]) -> int:
    used = [index for index, trace in enumerate(content["device_traces"]) if trace]
    used += sorted({int(segment["device"]) for segment in content["segments"]})
    return used[0] if used else 0


def _label(frames: list[dict[str, Any]]) -> str:
    """What the innermost frames say: an annotation of ours as it was, code as function and place."""
    ours = [frame["name"] for frame in frames if frame["filename"] == "annotation"]
    if ours:
        return "/".join(reversed(ours))
    places = (
        f"{frame['name']} ({Path(frame['filename']).name}:{frame['line']})" for frame in frames if _is_code(frame)
    )
    return next(places, "")


def _is_code(frame: dict[str, Any]) -> bool:
    return frame["filename"] not in ("stitched", "gmlake", "??")


def _undo_segment(entry: dict[str, Any], memory: Intervals) -> None:
    if entry["action"] in _SEGMENT_UP:
        memory.remove(entry["addr"], entry["size"])
    elif entry["action"] in _SEGMENT_DOWN:
        memory.add(entry["addr"], entry["size"])


def _undo_lease(entry: dict[str, Any], leases: dict[int, dict[str, Any]]) -> None:
    if entry["action"] == "alloc":
        leases.pop(entry["addr"], None)
    elif entry["action"] in _FREED:
        leases[entry["addr"]] = entry


class _Builder:
    """Turns entries into events, with blocks numbered as they come. Used once."""

    def __init__(self, segments: list[dict[str, Any]], trace: list[dict[str, Any]]):
        self._segments, self._trace = segments, trace
        self._rows: list[dict[str, Any]] = []
        self._annotations: dict[str, int] = {}
        self._labels: dict[int, int] = {}  # of a list of frames, which lives as long as the entries: its annotation
        self._memory: dict[int, tuple[int, int]] = {}  # address: block, size
        self._next_block = 0
        times = [int(entry["time_us"]) for entry in trace if "time_us" in entry]
        self._origin_us = min(times, default=0)

    def build(self, about: About) -> Recording:
        memory, leases = self._undo()
        for address, size in memory:
            self._hold(0, address, size)
        for address, entry in sorted(leases.items()):
            self._alloc(0, entry | {"addr": address})
        for entry in self._trace:
            self._add((int(entry.get("time_us", self._origin_us)) - self._origin_us) * 1000, entry)
        about = About(
            about.device, allocator=about.allocator, program=about.program, start_unix_ns=self._origin_us * 1000
        )
        return Recording(about, table(EVENT, self._rows), tuple(self._annotations))

    def _undo(self) -> tuple[list[tuple[int, int]], dict[int, dict[str, Any]]]:
        """Memory and leases before the trace began."""
        memory = Intervals((segment["address"], segment["total_size"]) for segment in self._segments)
        leases = {block["address"]: block for block in self._blocks() if block["state"] in _ACTIVE}
        for entry in reversed(self._trace):
            _undo_segment(entry, memory)
            _undo_lease(entry, leases)
        return memory.spans(), leases

    def _blocks(self) -> list[dict[str, Any]]:
        """All blocks of all segments; older snapshots leave their addresses to be summed up."""
        found = []
        for segment in self._segments:
            address = segment["address"]
            for block in segment["blocks"]:
                found.append({"address": address, **block, "stream": segment.get("stream", 0)})
                address += block["size"]
        return found

    def _add(self, time_ns: int, entry: dict[str, Any]) -> None:
        action = entry["action"]
        if action == "alloc":
            self._alloc(time_ns, entry)
        elif action in _FREED:
            self._row(time_ns, Kind.FREE, address=entry["addr"], size=entry["size"], stream=_stream(entry))
        elif action in _SEGMENT_UP:
            self._hold(time_ns, entry["addr"], entry["size"])
        elif action in _SEGMENT_DOWN:
            self._give_back(time_ns, entry["addr"], entry["size"])
        elif action == "oom":
            self._row(time_ns, Kind.REFUSED, requested=entry["size"], annotation=self._annotation(entry))

    def _row(self, time_ns: int, kind: Kind, **values: int) -> None:
        self._rows.append({"time_ns": max(time_ns, 0), "kind": kind, **values})

    def _annotation(self, entry: dict[str, Any]) -> int:
        """Entries share their frames, so each list of frames is looked at once."""
        frames = entry.get("frames") or []
        if id(frames) not in self._labels:
            label = _label(frames)
            self._labels[id(frames)] = self._annotations.setdefault(label, len(self._annotations)) if label else -1
        return self._labels[id(frames)]

    def _alloc(self, time_ns: int, entry: dict[str, Any]) -> None:
        size = entry["size"]
        values = {"address": entry["addr"], "size": size, "requested": entry.get("requested_size") or size}
        self._row(time_ns, Kind.ALLOC, **values, stream=_stream(entry), annotation=self._annotation(entry))

    def _hold(self, time_ns: int, address: int, size: int) -> None:
        block = self._next_block
        self._next_block += 1
        self._memory[address] = (block, size)
        self._row(time_ns, Kind.RESERVE, range=block, address=address, size=size)
        self._row(time_ns, Kind.CREATE, block=block, size=size)
        self._row(time_ns, Kind.MAP, range=block, block=block, address=address, size=size)

    def _give_back(self, time_ns: int, address: int, size: int) -> None:
        """Of blocks that are given back in part, the rest is held anew."""
        end = address + size
        for start, (block, length) in sorted(self._memory.items()):
            if start + length <= address or start >= end:
                continue
            del self._memory[start]
            self._row(time_ns, Kind.UNMAP, range=block, block=block, address=start, size=length)
            self._row(time_ns, Kind.RELEASE, block=block, size=length)
            self._row(time_ns, Kind.DROP, range=block, address=start, size=length)
            if start < address:
                self._hold(time_ns, start, address - start)
            if start + length > end:
                self._hold(time_ns, end, start + length - end)


def _stream(entry: dict[str, Any]) -> int:
    return int(entry.get("stream") or 0)
