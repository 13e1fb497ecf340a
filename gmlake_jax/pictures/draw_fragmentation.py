"""Idle memory: how much of it lies together over time, and in which pieces at the worst moment."""

from __future__ import annotations

from typing import Any

import numpy as np

from gmlake_jax.history import Recording, Snapshot
from gmlake_jax.history.series import series_of
from gmlake_jax.history.state import snapshot_at_time
from gmlake_jax.pictures import colors
from gmlake_jax.pictures.drawing import Clock, Scale, add_legend, heading, need_blocks, new_figure
from gmlake_jax.pictures.holes import Holes, by_size, hole_sizes, holes_of
from gmlake_jax.sizes import format_bytes


def fragmentation_figure(history: Recording | Snapshot) -> Any:
    """Two panels for a recording, the second alone for a snapshot."""
    if isinstance(history, Snapshot):
        need_blocks(len(history.blocks) > 0, "fragmentation")
        figure = new_figure(10, 3.4)
        _draw_pieces(figure.add_subplot(), history, heading(history.about, "Idle pieces by size"))
        return figure
    need_blocks(series_of(history).knows_blocks, "fragmentation")
    figure = new_figure(10, 6.2)
    above, below = figure.subplots(2, 1)
    holes = holes_of(history)
    _draw_holes(above, history, holes)
    worst_ns = int(holes.time_ns[holes.worst])
    clock = Clock(history.duration_ns)
    when = f"Idle pieces by size, when most lay scattered: at {float(clock(worst_ns)):.4g} {clock.unit}"
    _draw_pieces(below, snapshot_at_time(history, worst_ns), when)
    return figure


def _draw_holes(axes: Any, recording: Recording, holes: Holes) -> None:
    scale, clock = Scale(int(np.max(holes.idle))), Clock(recording.duration_ns)
    times = clock(holes.time_ns)
    together, all_idle = scale(holes.largest), scale(holes.idle)
    axes.fill_between(times, 0, together, step="post", color=colors.LARGEST, lw=0, label="largest idle piece")
    label = "idle elsewhere: no use to one large array, unless stitched"
    axes.fill_between(times, together, all_idle, step="post", color=colors.SCATTERED, lw=0, label=label)
    axes.axvline(float(times[holes.worst]), color="#000000", lw=0.7, ls=":")
    axes.set_title(heading(recording.about, "Idle memory over time"))
    axes.set_ylabel(scale.unit)
    axes.set_xlabel(f"time ({clock.unit})")
    axes.set_xlim(0, max(float(clock(recording.duration_ns)), 1e-9))
    axes.set_ylim(0, max(float(np.max(all_idle)) * 1.25, 1e-9))
    add_legend(axes, loc="upper right", ncols=2, fontsize=8)


def _pieces_text(count: int, size: int) -> str:
    return f"{count:,} piece{'s' * (count != 1)}\n{format_bytes(size)}" if count else ""


def _draw_pieces(axes: Any, snapshot: Snapshot, title: str) -> None:
    sizes = hole_sizes(snapshot)
    labels, counts, total = by_size(sizes)
    scale = Scale(max(total.tolist(), default=0))
    bars = axes.bar(labels, scale(total), color=colors.SCATTERED, width=0.7)
    texts = [_pieces_text(count, size) for count, size in zip(counts.tolist(), total.tolist(), strict=True)]
    axes.bar_label(bars, texts, fontsize=8, padding=2)
    axes.margins(y=0.25)
    axes.set_xlim(-0.6, max(len(labels), 6) - 0.4)
    axes.set_ylabel(scale.unit)
    axes.set_xlabel("size of the piece")
    idle, largest = int(sizes.sum()), max(sizes.tolist(), default=0)
    axes.set_title(f"{title}\n{format_bytes(idle)} idle in {len(sizes):,} pieces, the largest {format_bytes(largest)}")
