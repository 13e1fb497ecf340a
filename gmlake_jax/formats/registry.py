"""The formats by name, and which one a file is of: by its content when reading, by its name when writing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gmlake_jax.errors import CommandError
from gmlake_jax.formats import leases, perfetto, torch_reader, torch_writer
from gmlake_jax.history import HistoryError, Recording, Snapshot, files
from gmlake_jax.traces import TraceError, read_columns
from gmlake_jax.untrusted import open_regular

History = Recording | Snapshot


@dataclass(frozen=True)
class Format:
    """A kind of file that can be written. `suffixes` of file names mean it, the longest that fits."""

    name: str
    suffixes: tuple[str, ...]
    encode: Callable[[History], bytes]
    about: str


FORMATS = {
    item.name: item
    for item in (
        Format("npz", (".npz",), files.npz_bytes, "ours, complete: to keep"),
        Format("json", (".json",), files.json_bytes, "ours, complete: for other programs"),
        Format("trace", (".trace.npz",), leases.trace_bytes, "for gmlake replay: allocations and frees"),
        Format("torch", (".pickle", ".pkl"), torch_writer.torch_bytes, "for pytorch.org/memory_viz"),
        Format(
            "perfetto",
            (".perfetto.json", ".trace.json"),
            perfetto.perfetto_bytes,
            "for ui.perfetto.dev, chrome://tracing",
        ),
        Format("rmm", (".csv",), leases.rmm_bytes, "the CSV that RMM logs and its benchmark replays"),
    )
}


def format_for(path: str, name: str | None = None) -> Format:
    """The format called `name`, or the one that the file name means."""
    if name is not None:
        return FORMATS[name]
    fitting = [(len(suffix), item) for item in FORMATS.values() for suffix in item.suffixes if path.endswith(suffix)]
    if not fitting:
        suffixes = ", ".join(suffix for item in FORMATS.values() for suffix in item.suffixes)
        raise CommandError(
            f"{path}: no format has such a name; end it with one of {suffixes}, or give --to", exit_code=2
        )
    return max(fitting, key=lambda pair: pair[0])[1]


def read_history(path: str) -> History:
    """The history in `path`, of whatever readable format. HistoryError or TraceError, one line, for anything else."""
    start = _start_of(path)
    if start.startswith(b"\x80"):
        return torch_reader.read_torch(path)
    is_rmm = start.startswith(b"Thread,")
    if not is_rmm and not (start.startswith(b"PK") and files.is_trace(path)):
        return files.load(path)
    columns = read_columns(path)
    try:
        return leases.recording_of(columns, Path(path).name, is_rmm=is_rmm)
    except (HistoryError, TraceError) as error:
        raise HistoryError(f"{path}: {error}") from None


def read_recording(path: str) -> Recording:
    """As `read_history`, where only events will do."""
    history = read_history(path)
    if isinstance(history, Snapshot):
        raise HistoryError(f"{path}: a snapshot, not a recording; it has no events")
    return history


def _start_of(path: str) -> bytes:
    try:
        with open_regular(path, 1 << 62) as file:
            return file.read(16)
    except OSError as error:
        raise HistoryError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise HistoryError(f"{path}: {error}") from error
