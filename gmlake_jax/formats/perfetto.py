"""Chrome's trace event JSON, which Perfetto opens: counters of memory, and a slice for each buffer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from gmlake_jax.history import Kind, Recording, Snapshot, Way
from gmlake_jax.history.schema import NONE, HistoryError
from gmlake_jax.history.series import Integers, buffers_of, marks_of, series_of
from gmlake_jax.sizes import format_bytes

_PROCESS, _EVENTS = 1, 1


def perfetto_bytes(history: Recording | Snapshot) -> bytes:
    if isinstance(history, Snapshot):
        raise HistoryError("a snapshot has no events; this format holds nothing else")
    events = [*_names(history), *_counters(history), *_slices(history), *_instants(history)]
    shown = {"traceEvents": events, "displayTimeUnit": "ms", "otherData": {"program": history.about.program}}
    return json.dumps(shown, separators=(",", ":")).encode() + b"\n"


def _event(phase: str, name: str, time_ns: int, **rest: Any) -> dict[str, Any]:
    return {"ph": phase, "name": name, "ts": time_ns / 1000, "pid": _PROCESS, "tid": _EVENTS, **rest}


def _names(recording: Recording) -> Iterator[dict[str, Any]]:
    about = replace(recording.about, device_name=recording.about.device_name or "device")
    yield _event("M", "process_name", 0, args={"name": f"{about.allocator}: {about.device_name} {about.device}"})
    yield _event("M", "thread_name", 0, args={"name": "memory"})


def _counters(recording: Recording) -> Iterator[dict[str, Any]]:
    """A value where it changes, and no more: Perfetto draws steps."""
    series = series_of(recording)
    shown = {"live": series.live, "requested": series.requested}
    if series.knows_blocks:
        shown |= {"reserved": series.reserved, "mapped": series.mapped}
    if (series.limit != NONE).all():
        shown["limit"] = series.limit
    for name, values in shown.items():
        for index in _changes(values, series.time_ns):
            yield _event("C", f"{name} (bytes)", int(series.time_ns[index]), args={"bytes": int(values[index])})


def _changes(values: Integers, times: Integers) -> Integers:
    """The last index of each time at which the value is another than before."""
    last = np.flatnonzero(np.append(np.diff(times) > 0, True))
    kept = np.ones(len(last), bool)
    kept[1:] = np.diff(values[last]) != 0
    found: Integers = last[kept]
    return found


def _slices(recording: Recording) -> Iterator[dict[str, Any]]:
    """Asynchronous slices, which may overlap. A buffer that was there before or stays is as long as the recording."""
    for index, row in enumerate(buffers_of(recording).tolist()):
        address, size, requested, stream, start, end, annotation, way = row
        name = recording.annotation(annotation) or "buffer"
        arguments = {
            "size": format_bytes(size),
            "bytes": size,
            "requested": requested,
            "address": hex(address),
            "stream": stream,
            "served by": Way(way).name.lower(),
            "alive at the end": end == NONE,
        }
        identity = {"cat": "buffer", "id": index}
        yield _event("b", name, max(start, 0), args=arguments, **identity)
        yield _event("e", name, recording.duration_ns if end == NONE else end, **identity)


def _instants(recording: Recording) -> Iterator[dict[str, Any]]:
    for time_ns, name in marks_of(recording):
        yield _event("i", name or "mark", time_ns, s="p")
    refused = recording.events[recording.events["kind"] == Kind.REFUSED]
    for time_ns, requested in refused[["time_ns", "requested"]].tolist():
        yield _event("i", f"refused {format_bytes(requested)}", time_ns, s="p", args={"bytes": requested})
