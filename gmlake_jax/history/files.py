"""Recordings and snapshots as files: npz (small, fast, exact) and JSON (for other programs and for reading).

Both hold the same tables under the same names. Nothing that is executed or unpickled is ever loaded; whatever is wrong
with a file ends in one HistoryError of one line that names it. The file name decides the format that is written, the
content the one that is read.
"""

from __future__ import annotations

import dataclasses
import io
import json
import zipfile
import zlib
from enum import IntEnum
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

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
from gmlake_jax.output import write_file

History: TypeAlias = Recording | Snapshot

RECORDING_FORMAT = "gmlake-recording-1"
SNAPSHOT_FORMAT = "gmlake-snapshot-1"

_SNAPSHOT_TABLES = {"ranges": RANGE, "blocks": BLOCK, "mappings": MAPPING, "leases": LEASE}
_WORDS: dict[tuple[str, str], type[IntEnum]] = {
    ("events", "kind"): Kind,
    ("events", "way"): Way,
    ("ranges", "kind"): RangeKind,
    ("leases", "state"): LeaseState,
    ("leases", "way"): Way,
}
_DAMAGED = (zipfile.BadZipFile, zlib.error, ValueError, EOFError, OSError, KeyError, TypeError, NotImplementedError)


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


def _about(values: Any) -> About:
    known = {item.name for item in dataclasses.fields(About)}
    return About(**{name: value for name, value in values.items() if name in known})


def _snapshot_of(meta: dict[str, Any], tables: dict[str, Table], prefix: str = "") -> Snapshot:
    return Snapshot(
        about=_about(meta["about"]),
        annotations=tuple(map(str, meta["annotations"])),
        stats=dict(meta["stats"]),
        time_ns=int(meta["time_ns"]),
        **{name: tables[prefix + name] for name in _SNAPSHOT_TABLES},
    )


def from_parts(meta: dict[str, Any], tables: dict[str, Table]) -> History:
    """The inverse of `to_parts`."""
    if meta["format"] == SNAPSHOT_FORMAT:
        return _snapshot_of(meta, tables)
    return Recording(
        about=_about(meta["about"]),
        events=tables["events"],
        annotations=tuple(map(str, meta["annotations"])),
        dropped=int(meta["dropped"]),
        end=_snapshot_of(meta["end"], tables, "end_") if meta["end"] is not None else None,
    )


def _check_format(name: Any) -> None:
    if name not in (RECORDING_FORMAT, SNAPSHOT_FORMAT):
        known = f"{RECORDING_FORMAT} and {SNAPSHOT_FORMAT}"
        raise HistoryError(f"format {name!r} is not one that this version reads ({known})")


# --- npz


def npz_bytes(history: History) -> bytes:
    meta, tables = to_parts(history)
    buffer = io.BytesIO()
    encoded = np.frombuffer(json.dumps(meta).encode(), np.uint8)
    arrays: dict[str, Any] = {"meta": encoded, **tables}
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def _load_npz(data: bytes) -> History:
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        if "meta" not in arrays or not {"events", "ranges"} & set(arrays):
            raise HistoryError("not a recording or snapshot of gmlake_jax: its arrays are others")
        meta = json.loads(arrays["meta"].tobytes())
        _check_format(meta.get("format"))
        return from_parts(meta, {name: arrays[name] for name in arrays.files if name != "meta"})


# --- JSON


def _dtype_of(name: str) -> np.dtype[Any]:
    return EVENT if name == "events" else _SNAPSHOT_TABLES[name.removeprefix("end_")]


def _words_of(name: str, column: str) -> type[IntEnum] | None:
    return _WORDS.get((name.removeprefix("end_"), column))


def _column_to_json(name: str, column: str, rows: Table) -> list[Any]:
    words = _words_of(name, column)
    values: list[Any] = rows[column].tolist()
    return [words(value).name.lower() for value in values] if words else values


def _column_from_json(name: str, column: str, values: list[Any]) -> list[int]:
    words = _words_of(name, column)
    return [words[value.upper()] for value in values] if words else values


def json_bytes(history: History) -> bytes:
    meta, tables = to_parts(history)
    shown = {
        name: {column: _column_to_json(name, column, rows) for column in rows.dtype.names or ()}
        for name, rows in tables.items()
    }
    return json.dumps(meta | {"tables": shown}).encode() + b"\n"


def _table_from_json(name: str, columns: dict[str, list[Any]]) -> Table:
    dtype = _dtype_of(name)
    lengths = {len(values) for values in columns.values()}
    if set(columns) != set(dtype.names or ()) or len(lengths) > 1:
        raise HistoryError(f"table {name!r} needs columns of equal length: {', '.join(dtype.names or ())}")
    rows = np.zeros(lengths.pop(), dtype)
    for column, values in columns.items():
        rows[column] = _column_from_json(name, column, values)
    return rows


def _load_json(data: bytes) -> History:
    meta = json.loads(data)
    if not isinstance(meta, dict):
        raise HistoryError("not a recording or snapshot of gmlake_jax")
    _check_format(meta.get("format"))
    return from_parts(meta, {name: _table_from_json(name, columns) for name, columns in meta["tables"].items()})


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
        data = Path(path).read_bytes()
    except OSError as error:
        raise HistoryError(f"{path}: {error.strerror}") from error
    read = _load_npz if data.startswith(b"PK") else _load_json
    try:
        return read(data)
    except HistoryError as error:
        raise HistoryError(f"{path}: {error}") from None
    except _DAMAGED as error:
        kind = "damaged or truncated" if data.startswith(b"PK") else "not a recording or snapshot of gmlake_jax"
        raise HistoryError(f"{path}: {kind}: {_first_line(error)}") from error


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:200]


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
        with zipfile.ZipFile(path) as archive:
            return "op.npy" in archive.namelist()
    except _DAMAGED:
        return False
