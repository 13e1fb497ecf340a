"""The same requests under several allocators: memory over time side by side, and the memory itself at one moment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gmlake_jax.history import About, Kind, Recording
from gmlake_jax.history.series import series_of
from gmlake_jax.history.state import snapshot_at_time
from gmlake_jax.pictures.draw_layout import draw_tape
from gmlake_jax.pictures.draw_timeline import draw_timeline
from gmlake_jax.pictures.drawing import Clock, add_legend, heading, new_figure
from gmlake_jax.pictures.tape import tape_of
from gmlake_jax.sizes import format_bytes


def compare_figure(recordings: Sequence[Recording]) -> Any:
    figure = new_figure(5.6 * len(recordings), 6.4)
    above, below = figure.subplots(2, len(recordings), squeeze=False, gridspec_kw={"height_ratios": [3, 2]})
    top = max(max(peaks(one)) for one in recordings)
    moment_ns = telling_moment(recordings)
    clock = Clock(recordings[0].duration_ns)
    for column, recording in enumerate(recordings):
        draw_timeline(above[column], recording, float(top))
        above[column].set_title(verdict(recording))
        above[column].axvline(float(clock(moment_ns)), color="#000000", lw=0.8, ls=":")
        snapshot = snapshot_at_time(recording, moment_ns)
        draw_tape(below[column], tape_of(snapshot), snapshot, lines=5, narrow=1.8)
        below[column].set_title(f"physical memory at {float(clock(moment_ns)):.4g} {clock.unit}; pale is idle")
    add_legend(above[0], loc="upper left", fontsize=7, frameon=True, framealpha=0.85, edgecolor="none")
    figure.suptitle(
        heading(About(program=recordings[0].about.program), "The same requests under each allocator"),
        fontweight="bold",
        fontsize=11,
        x=0.01,
        ha="left",
    )
    return figure


def peaks(recording: Recording) -> tuple[int, int]:
    """Most bytes leased, and most bytes held."""
    series = series_of(recording)
    return int(np.max(series.live)), int(np.max(series.reserved))


def verdict(recording: Recording) -> str:
    """What an allocator took for the job, and what it refused."""
    live, reserved = peaks(recording)
    refused = int((recording.events["kind"] == Kind.REFUSED).sum())
    taken = f"{recording.about.allocator}: holds {format_bytes(reserved)} for {format_bytes(live)}"
    return f"{taken}, refuses {refused}" if refused else taken


def telling_moment(recordings: Sequence[Recording]) -> int:
    """When to look: just before the first refusal; without any, when most is leased."""
    refusals = [time for one in recordings for time in one.events["time_ns"][one.events["kind"] == Kind.REFUSED]]
    if refusals:
        return max(int(min(refusals)) - 1, 0)
    series = series_of(recordings[0])
    return int(series.time_ns[int(np.argmax(series.live))])
