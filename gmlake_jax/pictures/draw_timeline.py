"""Memory over time: who holds it, in bands; what is reserved for it; the limit; refusals and named moments."""

from __future__ import annotations

from typing import Any

import numpy as np

from gmlake_jax.history import Kind, Recording
from gmlake_jax.history.schema import NONE
from gmlake_jax.history.series import Series, marks_of, series_of
from gmlake_jax.pictures import colors
from gmlake_jax.pictures.bands import bands_of, peaks_kept
from gmlake_jax.pictures.drawing import Clock, Scale, add_legend, heading, new_figure

_MOST_MARKS = 40


def timeline_figure(recording: Recording) -> Any:
    figure = new_figure(10, 4.6)
    axes = figure.add_subplot()
    draw_timeline(axes, recording)
    axes.set_title(heading(recording.about, "Memory over time"))
    add_legend(axes, loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
    return figure


def draw_timeline(axes: Any, recording: Recording, top: float = 0) -> None:
    """Fills `axes`; `top` is the least number of bytes that the axis must reach."""
    series = series_of(recording)
    highest = max(float(np.max(series.live)), float(np.max(series.reserved)), top)
    scale, clock = Scale(highest), Clock(recording.duration_ns)
    _draw_bands(axes, recording, scale, clock)
    if series.knows_blocks:
        kept = peaks_kept(series.reserved)
        x, y = clock(series.time_ns[kept]), scale(series.reserved[kept])
        axes.step(x, y, where="post", color=colors.RESERVED, lw=1.4, label="reserved")
    if near_limit(series, highest):
        _draw_limit(axes, series, scale, clock)
        highest = max(highest, float(np.max(series.limit)))
    _draw_moments(axes, recording, scale, clock)
    axes.set_xlabel(f"time ({clock.unit})")
    axes.set_ylabel(scale.unit)
    axes.set_xlim(0, max(float(clock(recording.duration_ns)), 1e-9))
    axes.set_ylim(0, float(scale(highest)) * 1.08 or 1)


def _draw_bands(axes: Any, recording: Recording, scale: Scale, clock: Clock) -> None:
    bands = bands_of(recording)
    shown = colors.group_colors(bands.labels)
    times = clock(np.append(bands.time_ns, recording.duration_ns))
    bottom = np.zeros(len(times))
    for label, row, seen in zip(bands.labels, bands.bytes, bands.seen, strict=True):
        top = bottom + scale(np.append(row, row[-1]))
        name = _short(label) if seen else None
        axes.fill_between(times, bottom, top, step="post", color=shown[label], lw=0, label=name)
        bottom = top


def _short(label: str) -> str:
    return label if len(label) <= 32 else f"…{label[-31:]}"


def near_limit(series: Series, highest: float) -> bool:
    """Whether the limit is known and can be shown: far above everything it would press the picture flat."""
    return bool((series.limit != NONE).all()) and float(np.min(series.limit)) < 1.5 * highest


def _draw_limit(axes: Any, series: Series, scale: Scale, clock: Clock) -> None:
    limit = series.limit
    kept = np.unique([0, *np.flatnonzero(np.diff(limit)) + 1, len(limit) - 1])
    x, y = clock(series.time_ns[kept]), scale(limit[kept])
    axes.step(x, y, where="post", color=colors.LIMIT, lw=1.2, ls="--", label="limit")


def _draw_moments(axes: Any, recording: Recording, scale: Scale, clock: Clock) -> None:
    events = recording.events
    refused = np.flatnonzero(events["kind"] == Kind.REFUSED)
    if len(refused):
        live = series_of(recording).live[refused]
        x, y = clock(events["time_ns"][refused]), scale(live)
        label = f"refused: {len(refused)}"
        axes.plot(x, y, "x", color=colors.REFUSED, ms=6, mew=1.8, label=label, zorder=5, clip_on=False)
    for time_ns, _ in marks_of(recording)[:_MOST_MARKS]:
        axes.axvline(float(clock(time_ns)), color="#000000", lw=0.5, alpha=0.35)
