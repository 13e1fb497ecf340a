"""Idle memory: how much there is, and how much of it would do for one large array that must not be stitched."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gmlake_jax.history import Recording, Snapshot
from gmlake_jax.history.physical import idle_spans
from gmlake_jax.history.series import Integers, series_of, times_of
from gmlake_jax.history.state import snapshots_at
from gmlake_jax.pictures.bands import peaks_kept
from gmlake_jax.sizes import format_bytes

_MOST_MOMENTS = 300


@dataclass(frozen=True)
class Holes:
    """Idle bytes at some moments of a recording: all, and those of the largest contiguous piece."""

    time_ns: Integers
    idle: Integers
    largest: Integers

    @property
    def worst(self) -> int:
        """The moment at which most idle bytes lay outside the largest piece."""
        return int(np.argmax(self.idle - self.largest))


def hole_sizes(snapshot: Snapshot) -> Integers:
    """The sizes of all contiguous idle pieces, largest first."""
    spans = idle_spans(snapshot)
    sizes: Integers = np.sort(spans["end"] - spans["start"])[::-1]
    return sizes


def moments_of(recording: Recording, most: int = _MOST_MOMENTS) -> Integers:
    """Counts of events after which to look: those with most idle memory are among them."""
    series = series_of(recording)
    return peaks_kept(series.reserved - series.live, most)


def holes_of(recording: Recording) -> Holes:
    moments = moments_of(recording)
    times = np.concatenate([[0], times_of(recording)])[moments]
    sizes = [hole_sizes(snapshot) for snapshot in snapshots_at(recording, moments.tolist())]
    idle = np.array([some.sum() for some in sizes], np.int64)
    largest = np.array([max(some.tolist(), default=0) for some in sizes], np.int64)
    return Holes(times.astype(np.int64), idle, largest)


_LEAST_CLASS = 10  # 4 ** 10 is 1 MiB; all that is smaller is one class


def by_size(sizes: Integers) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
    """Number and bytes of the pieces in classes of size, a power of four each."""
    classes = np.maximum(np.floor(np.log2(np.maximum(sizes, 1)) / 2).astype(np.int64), _LEAST_CLASS - 1)
    steps = range(int(np.min(classes)), int(np.max(classes)) + 1) if len(classes) else range(0)
    counts = np.array([(classes == step).sum() for step in steps], np.int64)
    total = np.array([sizes[classes == step].sum() for step in steps], np.int64)
    return [_class_name(step) for step in steps], counts, total


def _class_name(step: int) -> str:
    if step < _LEAST_CLASS:
        return "below 1 MiB"
    return f"{format_bytes(4.0**step)} to {format_bytes(4.0 ** (step + 1))}".replace(".0", "")
