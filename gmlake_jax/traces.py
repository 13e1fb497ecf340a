"""Reads recorded allocation traces: our .npz and the CSV that RMM's logging writes.

A reader turns a file into columns; whether the events make sense (no free without its allocation, no negative size) is
checked once for all formats where the trace is built, in cc/bench/trace.h. Every error is one line that names the file
and, where there is one, the event.
"""

from __future__ import annotations

import csv
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gmlake_jax.errors import GmlakeError

if TYPE_CHECKING:
    from gmlake_jax import _gmlake

Integers = NDArray[np.int64]

_ALLOCATE, _FREE, _FAILED = 0, 1, 2
_RMM_COLUMNS = ("Thread", "Time", "Action", "Pointer", "Size", "Stream")
_RMM_ACTIONS = {"allocate": _ALLOCATE, "free": _FREE, "allocate failure": _FAILED}
_DAY_US = 24 * 3600 * 1_000_000


class TraceError(GmlakeError):
    """A file that is no trace, or one whose events make no sense."""


@dataclass(frozen=True)
class Columns:
    """The events of a trace, a column each; tests/traces/README.md says what they mean."""

    op: Integers
    id: Integers
    size: Integers
    stream: Integers
    time_us: Integers


def read_trace(path: str) -> _gmlake.Trace:
    """The checked trace in `path`, named after the file."""
    return check_trace(Path(path).stem, read_columns(path))


def check_trace(name: str, columns: Columns) -> _gmlake.Trace:
    """A trace of these events; TraceError where they make no sense."""
    from gmlake_jax import _gmlake

    bytes_of = {field.name: getattr(columns, field.name).tobytes() for field in fields(Columns)}
    try:
        return _gmlake.Trace(name, **bytes_of)
    except RuntimeError as error:
        raise TraceError(str(error)) from error


def read_columns(path: str) -> Columns:
    """The events in `path`, not yet checked for sense."""
    try:
        with open(path, "rb") as file:
            start = file.read(len("Thread,"))
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror}") from error
    if start.startswith(b"PK"):
        return _read_npz(path)
    if start == b"Thread,":
        return _read_rmm(path)
    raise TraceError(f"{path}: not a trace; readable are .npz files with {_column_names()}, and RMM's CSV")


def _column_names() -> str:
    return ", ".join(field.name for field in fields(Columns))


# --- npz


def _read_npz(path: str) -> Columns:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return Columns(**{field.name: _column(path, arrays, field.name) for field in fields(Columns)})
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, OSError) as error:
        raise TraceError(f"{path}: damaged or truncated: {error}") from error


def _column(path: str, arrays: Mapping[str, NDArray[np.generic]], name: str) -> Integers:
    if name not in arrays:
        raise TraceError(f"{path}: not a trace: no array {name!r}; needed are {_column_names()}")
    array = arrays[name]
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise TraceError(f"{path}: array {name!r} must be one-dimensional integers, not {array.ndim}-d {array.dtype}")
    if len(array) != len(arrays["op"]):
        raise TraceError(f"{path}: array {name!r} has {len(array)} entries, 'op' has {len(arrays['op'])}")
    return np.asarray(array, np.int64)


# --- RMM's CSV


def _read_rmm(path: str) -> Columns:
    with open(path, newline="", encoding="utf-8", errors="replace") as file:
        rows = csv.reader(file)
        header = next(rows)
        if tuple(header) != _RMM_COLUMNS:
            raise TraceError(f"{path}: not RMM's CSV: the columns are {','.join(header)}")
        events = np.array(list(_rmm_events(path, rows)), np.int64).reshape(-1, 5)
    return Columns(*np.ascontiguousarray(events.T))


def _rmm_events(path: str, rows: Iterable[list[str]]) -> Iterator[tuple[int, int, int, int, int]]:
    streams: dict[str, int] = {}
    day = latest = 0
    for number, row in enumerate(rows):
        try:
            _, clock, action, pointer, size, stream = row
            time_us = _time_of_day_us(clock)
            event = (_RMM_ACTIONS[action], int(pointer, 0) if pointer != "(nil)" else 0, int(size))
        except (ValueError, KeyError) as error:
            raise TraceError(f"{path}: event {number}: not a line of RMM's log: {','.join(row)}") from error
        day += _DAY_US * (time_us < latest - _DAY_US // 2)
        latest = time_us
        yield (*event, streams.setdefault(stream, len(streams)), day + time_us)


def _time_of_day_us(clock: str) -> int:
    """Microseconds since midnight; RMM wrote 12:34:56:789012, and 12:34:56.789012 later."""
    hours, minutes, seconds, micros = clock.replace(".", ":").split(":")
    return ((int(hours) * 60 + int(minutes)) * 60 + int(seconds)) * 1_000_000 + int(micros)
