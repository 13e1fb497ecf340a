"""Recordings and snapshots as files: npz (small, fast, exact) and JSON (for other programs and for reading).

Both hold the same tables under the same names. Nothing that is executed or unpickled is ever loaded, and nothing is
loaded before its type and size were looked at; whatever is wrong with a file ends in one HistoryError of one line that
names it. The file name decides the format that is written, the content the one that is read.
"""

from __future__ import annotations

import dataclasses
import io
import json
from enum import IntEnum
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gmlake_jax.errors import CommandError
from gmlake_jax.history.recording import Recording
from gmlake_jax.history.schema import (
    BLOCK,
    EVENT,
    LEASE,
    MAPPING,
    RANGE,
    About,
    HistoryError,
    Kind,
    LeaseState,
    RangeKind,
    Table,
    Way,
)
from gmlake_jax.history.snapshot import Snapshot
from gmlake_jax.npz import Arrays, open_arrays
from gmlake_jax.output import write_file
from gmlake_jax.untrusted import MIB, brief, is_whole, open_regular, parse_json, read_regular

History: TypeAlias = Recording | Snapshot

RECORDING_FORMAT = "gmlake-recording-1"
SNAPSHOT_FORMAT = "gmlake-snapshot-1"
_FORMATS = f"{RECORDING_FORMAT} and {SNAPSHOT_FORMAT}"

_SNAPSHOT_TABLES = {"ranges": RANGE, "blocks": BLOCK, "mappings": MAPPING, "leases": LEASE}
_WORDS: dict[tuple[str, str], type[IntEnum]] = {
    ("events", "kind"): Kind,
    ("events", "way"): Way,
    ("ranges", "kind"): RangeKind,
    ("leases", "state"): LeaseState,
    ("leases", "way"): Way,
}
_TABLES = frozenset({"events", *_SNAPSHOT_TABLES, *(f"end_{name}" for name in _SNAPSHOT_TABLES)})
_MOST_META = 64 * MIB
_MOST_JSON = 256 * MIB
_WRONG_TYPES = (KeyError, TypeError, AttributeError, ValueError)


# --- a history as its parts: what is not a table, and the tables


def _snapshot_parts(snapshot: Snapshot) -> tuple[dict[str, Any], dict[str, Table]]:
    meta = {
        "about": dataclasses.asdict(snapshot.about),
        "annotations": list(snapshot.annotations),
        "stats": snapshot.stats,
        "time_ns": snapshot.time_ns,
    }
    return meta, {name: getattr(snapshot, name) for name in _SNAPSHOT_TABLES}


def to_parts(history: History) -> tuple[dict[str, Any], dict[str, Table]]:
    """`history` as JSON data and tables; the tables of a recording's last snapshot begin with `end_`."""
    if isinstance(history, Snapshot):
        meta, tables = _snapshot_parts(history)
        return {"format": SNAPSHOT_FORMAT, **meta}, tables
    meta = {
        "format": RECORDING_FORMAT,
        "about": dataclasses.asdict(history.about),
        "annotations": list(history.annotations),
        "dropped": history.dropped,
        "end": None,
    }
    tables = {"events": history.events}
    if history.end is not None:
        meta["end"], end_tables = _snapshot_parts(history.end)
        tables |= {f"end_{name}": rows for name, rows in end_tables.items()}
    return meta, tables


def _about(values: dict[str, Any]) -> About:
    defaults = dataclasses.asdict(About())
    known = {name: value for name, value in values.items() if name in defaults}
    for name, value in known.items():
        if not _is_like(value, defaults[name]):
            raise HistoryError(f"about: {name} is {brief(value, 40)}, which is no {type(defaults[name]).__name__}")
    return About(**known)


def _is_like(value: Any, example: Any) -> bool:
    if isinstance(example, dict):
        return isinstance(value, dict) and all(isinstance(version, str) for version in value.values())
    return is_whole(value) if isinstance(example, int) else isinstance(value, str)


def _annotations(meta: dict[str, Any]) -> tuple[str, ...]:
    names = meta["annotations"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise HistoryError("annotations: a list of names is needed")
    return tuple(names)


def _whole(meta: dict[str, Any], name: str) -> int:
    value = meta[name]
    if not is_whole(value):
        raise HistoryError(f"{name} is {brief(value, 40)}, which is no whole number of 62 bits")
    return int(value)


def _snapshot_of(meta: dict[str, Any], tables: dict[str, Table], prefix: str = "") -> Snapshot:
    return Snapshot(
        about=_about(meta["about"]),
        annotations=_annotations(meta),
        stats=dict(meta["stats"]),
        time_ns=_whole(meta, "time_ns"),
        **{name: tables[prefix + name] for name in _SNAPSHOT_TABLES},
    )


def from_parts(meta: dict[str, Any], tables: dict[str, Table]) -> History:
    """The inverse of `to_parts`."""
    if meta["format"] == SNAPSHOT_FORMAT:
        return _snapshot_of(meta, tables)
    return Recording(
        about=_about(meta["about"]),
        events=tables["events"],
        annotations=_annotations(meta),
        dropped=_whole(meta, "dropped"),
        end=_snapshot_of(meta["end"], tables, "end_") if meta["end"] is not None else None,
    )


def _check_format(name: Any) -> None:
    if name not in (RECORDING_FORMAT, SNAPSHOT_FORMAT):
        raise HistoryError(f"format {brief(repr(name), 40)} is not one that this version reads ({_FORMATS})")


# --- npz


def npz_bytes(history: History) -> bytes:
    meta, tables = to_parts(history)
    buffer = io.BytesIO()
    encoded = np.frombuffer(json.dumps(meta).encode(), np.uint8)
    arrays: dict[str, Any] = {"meta": encoded, **tables}
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def _load_npz(path: str | Path) -> History:
    with open_arrays(path) as arrays:
        if "meta" not in arrays.names or not {"events", "ranges"} & arrays.names:
            raise HistoryError("not a recording or snapshot of gmlake_jax: its arrays are others")
        tables = sorted(arrays.names & _TABLES)
        _check_types(arrays, tables)
        meta = _as_object(parse_json(arrays.read("meta").tobytes()))
        _check_format(meta.get("format"))
        return from_parts(meta, {name: arrays.read(name) for name in tables})


def _check_types(arrays: Arrays, tables: list[str]) -> None:
    dtype, size = arrays.header("meta")
    if dtype != np.uint8 or size > _MOST_META:
        raise HistoryError("array 'meta' is not one that gmlake_jax writes")
    for name in tables:
        dtype = arrays.header(name).dtype
        if dtype != _dtype_of(name):
            raise HistoryError(f"table {name!r} does not have the columns {', '.join(_dtype_of(name).names or ())}")


def _as_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise HistoryError("not a recording or snapshot of gmlake_jax")
    return value


# --- JSON


def _dtype_of(name: str) -> np.dtype[Any]:
    return EVENT if name == "events" else _SNAPSHOT_TABLES[name.removeprefix("end_")]


def _words_of(name: str, column: str) -> type[IntEnum] | None:
    return _WORDS.get((name.removeprefix("end_"), column))


def _column_to_json(name: str, column: str, rows: Table) -> list[Any]:
    words = _words_of(name, column)
    values: list[Any] = rows[column].tolist()
    return [words(value).name.lower() for value in values] if words else values


def _column_from_json(name: str, column: str, values: list[Any]) -> NDArray[Any]:
    words = _words_of(name, column)
    numbers = np.array([words[value.upper()] for value in values] if words else values)
    if numbers.size and not _fit(numbers, np.iinfo(_dtype_of(name)[column])):
        raise HistoryError(f"table {name!r}: column {column} must be whole numbers of {_dtype_of(name)[column]}")
    return numbers


def _fit(numbers: NDArray[Any], bounds: np.iinfo) -> bool:
    """Whether they are a list of whole numbers within these bounds."""
    whole = numbers.ndim == 1 and numbers.dtype.kind in "iu"
    return whole and bool(bounds.min <= numbers.min() and numbers.max() <= bounds.max)


def json_bytes(history: History) -> bytes:
    meta, tables = to_parts(history)
    shown = {
        name: {column: _column_to_json(name, column, rows) for column in rows.dtype.names or ()}
        for name, rows in tables.items()
    }
    return json.dumps(meta | {"tables": shown}).encode() + b"\n"


def _table_from_json(name: str, columns: Any) -> Table:
    dtype = _dtype_of(name)
    if not _are_columns(columns, dtype.names or ()):
        raise HistoryError(f"table {name!r} needs columns of equal length: {', '.join(dtype.names or ())}")
    rows = np.zeros(max(map(len, columns.values())), dtype)
    for column, values in columns.items():
        rows[column] = _column_from_json(name, column, values)
    return rows


def _are_columns(columns: Any, names: tuple[str, ...]) -> bool:
    """Lists of one length under these names."""
    if not isinstance(columns, dict) or set(columns) != set(names):
        return False
    lists = all(isinstance(values, list) for values in columns.values())
    return lists and len({len(values) for values in columns.values()}) == 1


def _load_json(path: str | Path) -> History:
    data = read_regular(path, _MOST_JSON)
    if not any(name.encode() in data for name in (RECORDING_FORMAT, SNAPSHOT_FORMAT)):  # before much is made of it
        raise HistoryError(f"not a recording or snapshot of gmlake_jax: {_what_else(data)}")
    meta = _as_object(parse_json(data))
    _check_format(meta.get("format"))
    tables = {name: columns for name, columns in meta["tables"].items() if name in _TABLES}
    return from_parts(meta, {name: _table_from_json(name, columns) for name, columns in tables.items()})


def _what_else(data: bytes) -> str:
    """For the user who took another file, or one of another version."""
    try:
        content = parse_json(data) if len(data) < MIB else None
    except ValueError as error:
        return brief(error)
    if isinstance(content, dict) and "format" in content:
        return f"its format is {brief(content['format'], 40)}, and this version reads {_FORMATS}"
    return f"its format is none of {_FORMATS}"


# --- both

_ENCODERS = {".npz": npz_bytes, ".json": json_bytes}


def save(history: History, path: str | Path, *, force: bool = False) -> None:
    """Writes what the end of `path` says. CommandError where that is nothing known, or where `path` exists."""
    encode = _ENCODERS.get(Path(path).suffix)
    if encode is None:
        raise CommandError(f"{path}: no format has such a name; end it with one of {', '.join(_ENCODERS)}")
    write_file(path, encode(history), force=force, how="force=True")


def load(path: str | Path) -> History:
    """The recording or snapshot in `path`, in either format. HistoryError, one line, where there is none."""
    try:
        with open_regular(path, 1 << 62) as file:
            read = _load_npz if file.read(2) == b"PK" else _load_json
        return read(path)
    except HistoryError as error:
        raise HistoryError(f"{path}: {error}") from None
    except OSError as error:
        raise HistoryError(f"{path}: {error.strerror}") from error
    except _WRONG_TYPES as error:
        what = f"no {error}" if isinstance(error, KeyError) else error
        raise HistoryError(f"{path}: not a recording or snapshot of gmlake_jax: {brief(what)}") from error


def load_recording(path: str | Path) -> Recording:
    """The recording in `path`; HistoryError where it is something else."""
    history = load(path)
    if not isinstance(history, Recording):
        raise HistoryError(f"{path}: a snapshot, not a recording; it has no events")
    return history


def load_snapshot(path: str | Path) -> Snapshot:
    """The snapshot in `path`, or the one at the end of the recording there."""
    history = load(path)
    snapshot = history.end if isinstance(history, Recording) else history
    if snapshot is None:
        raise HistoryError(f"{path}: a recording without a snapshot of its end")
    return snapshot


def is_trace(path: str | Path) -> bool:
    """Whether the npz at `path` is a trace for replay, which has other arrays."""
    try:
        with open_arrays(path) as arrays:
            return "op" in arrays.names
    except (ValueError, OSError):  # the reader of recordings will say what is wrong
        return False
