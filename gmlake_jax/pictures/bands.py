"""Live memory over time in bands that lie on each other: by annotation where there are any, by size elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gmlake_jax.history import Recording
from gmlake_jax.history.schema import NONE, Table
from gmlake_jax.history.series import Integers, buffers_of

MOST_POINTS = 1200
_MOST_BANDS = 8
_THINNEST = 0.002  # of the highest total
_EXECUTABLES = ("jit_", "pjit_", "pmap_")
_SIZE_BANDS = (
    ("1 GiB and more", 1 << 30),
    ("256 MiB to 1 GiB", 1 << 28),
    ("32 to 256 MiB", 1 << 25),
    ("1 to 32 MiB", 1 << 20),
    ("below 1 MiB", 0),
)


@dataclass(frozen=True)
class Bands:
    """Bytes of each band at each time. The largest at its peak comes first."""

    time_ns: Integers
    labels: tuple[str, ...]
    bytes: NDArray[np.int64]  # a row a band

    @property
    def total(self) -> Integers:
        total: Integers = self.bytes.sum(axis=0)
        return total

    @property
    def seen(self) -> list[bool]:
        """Which bands are thick enough somewhere to be seen; a legend that names another has nothing to point at."""
        highest = np.max(self.total, initial=0)
        return [bool(row.max(initial=0) >= max(_THINNEST * highest, 1)) for row in self.bytes]


def peaks_kept(values: Integers, most: int = MOST_POINTS) -> Integers:
    """Indices of about `most` points of a curve: the first, the last, and the highest of each stretch between."""
    count = len(values)
    if count <= most:
        return np.arange(count)
    edges = np.linspace(0, count, most + 1).astype(np.int64)
    highest = [low + int(np.argmax(values[low:high])) for low, high in pairwise(edges.tolist()) if high > low]
    return np.unique([0, *highest, count - 1])


def user_name(annotation: str) -> str:
    """An annotation as the user gave it: without the executables of JAX at its end, where it has anything else."""
    parts = annotation.split("/")
    while len(parts) > 1 and parts[-1].startswith(_EXECUTABLES):
        parts.pop()
    return "/".join(parts)


def name_of_band(recording: Recording, buffers: Table) -> list[str]:
    """The band of each buffer, before small ones are put together."""
    if (buffers["annotation"] != NONE).any():
        names = [user_name(recording.annotation(index)) for index in range(-1, len(recording.annotations))]
        return [names[index + 1] or "no annotation" for index in buffers["annotation"].tolist()]
    return [_size_band(size) for size in buffers["size"].tolist()]


def _size_band(size: int) -> str:
    return next(label for label, least in _SIZE_BANDS if size >= least)


def _curves(buffers: Table, members: NDArray[Any], end_ns: int) -> tuple[Integers, NDArray[np.int64]]:
    """Times of all changes, and the bytes of each band after them. `members`: the band of each buffer."""
    starts = np.maximum(buffers["start_ns"], 0)
    ends = np.where(buffers["end_ns"] == NONE, end_ns + 1, buffers["end_ns"])
    times = np.concatenate([starts, ends])
    changes = np.concatenate([buffers["size"], -buffers["size"]])
    order = np.argsort(times, kind="stable")
    rows = np.zeros((int(members.max(initial=0)) + 1, len(times)), np.int64)
    rows[np.concatenate([members, members])[order], np.arange(len(times))] = changes[order]
    inside = times[order] <= end_ns
    return times[order][inside], np.cumsum(rows, axis=1)[:, inside]


def _merged(labels: list[str], rows: NDArray[np.int64]) -> tuple[list[str], NDArray[np.int64]]:
    """The highest bands, highest first; what is left over, or too thin to be seen, is one band, "others"."""
    peaks = rows.max(axis=1, initial=0)
    order = np.argsort(-peaks, kind="stable")
    seen = min(np.count_nonzero(peaks >= _THINNEST * np.max(rows.sum(axis=0))), _MOST_BANDS)
    shown, left = order[:seen], order[seen:]
    names = [labels[index] for index in shown]
    if not len(left):
        return names, rows[shown]
    return [*names, "others"], np.vstack([rows[shown], rows[left].sum(axis=0)])


def bands_of(recording: Recording, most: int = MOST_POINTS) -> Bands:
    """Few enough points to draw, with no peak of the total missed."""
    buffers = buffers_of(recording)
    if not len(buffers):
        return Bands(np.zeros(1, np.int64), (), np.zeros((0, 1), np.int64))
    names = name_of_band(recording, buffers)
    labels = list(dict.fromkeys(names))
    members = np.array([labels.index(name) for name in names])
    times, rows = _curves(buffers, members, recording.duration_ns)
    last = np.append(np.diff(times) > 0, True)  # of events at one time, what they lead to
    kept = np.flatnonzero(last)[peaks_kept(rows[:, last].sum(axis=0), most)]
    shown, merged = _merged(labels, rows[:, kept])
    return Bands(times[kept], tuple(shown), merged)
