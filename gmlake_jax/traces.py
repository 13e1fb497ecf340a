"""Reads recorded allocation traces: our .npz and the CSV that RMM's logging writes.

A reader turns a file into columns; whether the events make sense (no free without its allocation, no negative size) is
checked once for all formats where the trace is built, in cc/bench/trace.h. Every error is one line that names the file
and, where there is one, the event.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gmlake_jax.errors import GmlakeError
from gmlake_jax.npz import Arrays, open_arrays
from gmlake_jax.untrusted import MIB, brief, is_whole, open_regular

if TYPE_CHECKING:
    from gmlake_jax import _gmlake

Integers = NDArray[np.int64]

_ALLOCATE, _FREE, _FAILED = 0, 1, 2
_RMM_COLUMNS = ("Thread", "Time", "Action", "Pointer", "Size", "Stream")
_RMM_ACTIONS = {"allocate": _ALLOCATE, "free": _FREE, "allocate failure": _FAILED}
_DAY_US = 24 * 3600 * 1_000_000
_MOST_CSV = 512 * MIB

# What columns may hold. More would overflow sums of sizes, or the 32 bits of a stream.
_MOST_SIZE = 1 << 48
_MOST_TOTAL = 1 << 62
_MOST_STREAM = 1 << 31
_MOST_TIME_US = 1 << 52


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
    columns, name = read_columns(path), Path(path).stem
    try:
        return check_trace(name, columns)
    except TraceError as error:
        raise TraceError(f"{path}: {str(error).removeprefix(f'{name}: ')}") from None


def check_trace(name: str, columns: Columns) -> _gmlake.Trace:
    """A trace of these events; TraceError where they make no sense."""
    from gmlake_jax import _gmlake

    check_range(columns)
    bytes_of = {field.name: getattr(columns, field.name).tobytes() for field in fields(Columns)}
    try:
        return _gmlake.Trace(name.encode(errors="replace").decode(), **bytes_of)
    except RuntimeError as error:
        raise TraceError(str(error)) from error


def check_range(columns: Columns) -> None:
    """Negative numbers are left to the native side, which says what they mean."""
    for name, most in (("size", _MOST_SIZE), ("stream", _MOST_STREAM), ("time_us", _MOST_TIME_US)):
        values = getattr(columns, name)
        wrong = np.flatnonzero((values >= most) | (values < -most))
        if len(wrong):
            raise TraceError(f"event {wrong[0]}: {name} {values[wrong[0]]} is too large; it must be below {most}")
    if np.sum(columns.size, dtype=np.float64) >= _MOST_TOTAL:
        raise TraceError("its sizes add up to more than 62 bits hold")


def read_columns(path: str) -> Columns:
    """The events in `path`, not yet checked for sense."""
    try:
        with open_regular(path, 1 << 62) as file:
            start = file.read(len("Thread,"))
        if start.startswith(b"PK"):
            return _read_npz(path)
        if start == b"Thread,":
            return _read_rmm(path)
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror}") from error
    except (ValueError, csv.Error) as error:
        raise TraceError(f"{path}: {brief(error)}") from error
    raise TraceError(f"{path}: not a trace; readable are .npz files with {_column_names()}, and RMM's CSV")


def _column_names() -> str:
    return ", ".join(field.name for field in fields(Columns))


# --- npz


def _read_npz(path: str) -> Columns:
    names = [field.name for field in fields(Columns)]
    with open_arrays(path) as arrays:
        for name in names:
            _check_column(arrays, name)
        return Columns(**{name: _column(arrays, name) for name in names})


def _check_column(arrays: Arrays, name: str) -> None:
    if name not in arrays.names:
        raise ValueError(f"not a trace: no array {name!r}; needed are {_column_names()}")
    dtype, length = arrays.header(name)
    if dtype.kind not in "iu":
        raise ValueError(f"array {name!r} must be one-dimensional integers, not {dtype}")
    if length != arrays.header("op").length:
        raise ValueError(f"array {name!r} has {length} entries, 'op' has {arrays.header('op').length}")


def _column(arrays: Arrays, name: str) -> Integers:
    values = arrays.read(name)
    if values.dtype.kind == "u" and len(values) and values.max() > np.iinfo(np.int64).max:
        raise ValueError(f"array {name!r} has {values.max()}, which does not fit into 64 bits with a sign")
    return np.asarray(values, np.int64)


# --- RMM's CSV


def _read_rmm(path: str) -> Columns:
    with open_regular(path, _MOST_CSV) as file:
        rows = csv.reader(io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline=""))
        header = next(rows)
        if tuple(header) != _RMM_COLUMNS:
            raise ValueError(f"not RMM's CSV: the columns are {','.join(header)}")
        events = np.fromiter(_rmm_events(rows), np.dtype((np.int64, 5)))
    return Columns(*np.ascontiguousarray(events.T))


def _rmm_events(rows: Iterable[list[str]]) -> Iterator[tuple[int, int, int, int, int]]:
    streams: dict[str, int] = {}
    day = latest = 0
    for number, row in enumerate(rows):
        try:
            _, clock, action, pointer, size, stream = row
            time_us = _time_of_day_us(clock)
            event = (_RMM_ACTIONS[action], _whole(pointer, 0) if pointer != "(nil)" else 0, _whole(size))
        except (ValueError, KeyError) as error:
            raise ValueError(f"event {number}: not a line of RMM's log: {brief(','.join(row), 100)}") from error
        day += _DAY_US * (time_us < latest - _DAY_US // 2)
        latest = time_us
        yield (*event, streams.setdefault(stream, len(streams)), day + time_us)


def _whole(text: str, base: int = 10) -> int:
    number = int(text, base)
    if not is_whole(number):
        raise ValueError(f"{text} does not fit into 62 bits")
    return number


def _time_of_day_us(clock: str) -> int:
    """Microseconds since midnight; RMM wrote 12:34:56:789012, and 12:34:56.789012 later."""
    hours, minutes, seconds, micros = map(int, clock.replace(".", ":").split(":"))
    if not (0 <= hours < 24 and 0 <= minutes < 60 and 0 <= seconds < 62 and 0 <= micros < 1_000_000):
        raise ValueError(f"{clock} is no time of day")
    return ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + micros
