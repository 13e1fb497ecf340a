"""The figures of the HTML report, as plotly's JSON: plain dicts, made without plotly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gmlake_jax.history import Kind, Recording, Snapshot, Way
from gmlake_jax.history.schema import NONE
from gmlake_jax.history.series import marks_of, series_of
from gmlake_jax.history.state import snapshot_at_time
from gmlake_jax.pictures import colors
from gmlake_jax.pictures.bands import Bands, bands_of, name_of_band, peaks_kept
from gmlake_jax.pictures.draw_compare import peaks, telling_moment, verdict
from gmlake_jax.pictures.draw_layout import color_of
from gmlake_jax.pictures.draw_timeline import near_limit
from gmlake_jax.pictures.drawing import Clock, Scale
from gmlake_jax.pictures.extent import Extent, Extents, extents_of
from gmlake_jax.pictures.tape import Part, Tape, tape_of, wrapped
from gmlake_jax.sizes import format_bytes

Figure = dict[str, Any]

_MOST_EXTENTS = 2500
_TAPE_LINES = 8
_MOST_ROWS = 20
_FONT = {"family": "system-ui, DejaVu Sans, sans-serif", "size": 12}


def _layout(height: int, **rest: Any) -> Figure:
    base = {"height": height, "margin": {"l": 70, "r": 20, "t": 30, "b": 50}, "font": _FONT, "plot_bgcolor": "white"}
    return base | {"hoverlabel": {"align": "left"}, "legend": {"orientation": "h", "y": -0.2, "yanchor": "top"}} | rest


def _axis(title: str, **rest: Any) -> Figure:
    return {"title": {"text": title}, "zeroline": False, "gridcolor": "#eeeeee", **rest}


def _floats(values: Any) -> list[float]:
    return [float(f"{value:.6g}") for value in np.asarray(values, np.float64)]


# --- memory over time


def timeline(recording: Recording) -> Figure:
    live, reserved = peaks(recording)
    scale, clock = Scale(max(live, reserved)), Clock(recording.duration_ns)
    traces = [*_band_traces(bands_of(recording), recording, scale, clock), *_line_traces(recording, scale, clock)]
    shapes = [_mark(float(clock(time_ns)), name) for time_ns, name in marks_of(recording)[:100]]
    whole = [0, float(clock(recording.duration_ns))]
    axes = {"xaxis": _axis(f"time ({clock.unit})", range=whole), "yaxis": _axis(scale.unit, rangemode="tozero")}
    return {"data": traces, "layout": _layout(430, hovermode="x unified", shapes=shapes, **axes)}


def _mark(time: float, name: str) -> Figure:
    line = {"color": "#888888", "width": 1, "dash": "dot"}
    return {"type": "line", "x0": time, "x1": time, "yref": "paper", "y0": 0, "y1": 1, "line": line, "name": name}


def _band_traces(bands: Bands, recording: Recording, scale: Scale, clock: Clock, axis: str = "") -> list[Figure]:
    shown = colors.group_colors(bands.labels)
    times = _floats(clock(np.append(bands.time_ns, recording.duration_ns)))
    return [
        {
            "type": "scatter",
            "name": label,
            "x": times,
            "y": _floats(scale(np.append(row, row[-1]))),
            "text": [format_bytes(size) for size in [*row.tolist(), int(row[-1])]],
            "hovertemplate": "%{text}",
            "stackgroup": f"live{axis}",
            "line": {"width": 0, "shape": "hv", "color": shown[label]},
            "fillcolor": shown[label],
            "xaxis": f"x{axis}",
            "yaxis": f"y{axis}",
            "legendgroup": label,
            "showlegend": seen and not axis,
        }
        for label, row, seen in zip(bands.labels, bands.bytes, bands.seen, strict=True)
    ]


def _line_traces(recording: Recording, scale: Scale, clock: Clock, axis: str = "") -> list[Figure]:
    series = series_of(recording)
    lines = []
    if series.knows_blocks:
        lines.append(("reserved", series.reserved, {"color": colors.RESERVED, "width": 2}))
    if near_limit(series, max(peaks(recording))):
        lines.append(("limit", series.limit, {"color": colors.LIMIT, "width": 1.5, "dash": "dash"}))
    traces = [_line(name, values, line, series.time_ns, scale, clock) for name, values, line in lines]
    return [trace | {"xaxis": f"x{axis}", "yaxis": f"y{axis}", "showlegend": not axis} for trace in traces] + [
        trace | {"xaxis": f"x{axis}", "yaxis": f"y{axis}"} for trace in _refusals(recording, scale, clock)
    ]


def _line(name: str, values: Any, line: Figure, times: Any, scale: Scale, clock: Clock) -> Figure:
    kept = peaks_kept(values)
    return {
        "type": "scatter",
        "name": name,
        "x": _floats(clock(times[kept])),
        "y": _floats(scale(values[kept])),
        "text": [format_bytes(size) for size in values[kept].tolist()],
        "hovertemplate": "%{text}",
        "line": line | {"shape": "hv"},
    }


def _refusals(recording: Recording, scale: Scale, clock: Clock) -> list[Figure]:
    refused = np.flatnonzero(recording.events["kind"] == Kind.REFUSED)[:500]
    if not len(refused):
        return []
    live = series_of(recording).live[refused]
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": "refused",
            "x": _floats(clock(recording.events["time_ns"][refused])),
            "y": _floats(scale(live)),
            "text": [f"refused {format_bytes(size)}" for size in recording.events["requested"][refused].tolist()],
            "hovertemplate": "%{text}",
            "marker": {"symbol": "x", "size": 9, "color": colors.REFUSED},
        }
    ]


# --- every buffer in time and place


def buffer_map(recording: Recording) -> Figure:
    extents = extents_of(recording, _MOST_EXTENTS)
    scale, clock = Scale(extents.size), Clock(recording.duration_ns)
    names = name_of_band(recording, extents.buffers)
    shown = colors.group_colors(bands_of(recording).labels)
    names = [name if name in shown else "others" for name in names]
    traces = []
    for label, color in shown.items():
        members = [extent for extent in extents.shown if names[extent.buffer] == label]
        if members:
            traces.append(_boxes(label, members, recording, extents, scale, clock, color))
    axes = {
        "xaxis": _axis(f"time ({clock.unit})", range=[0, float(clock(recording.duration_ns))]),
        "yaxis": _axis(f"place in memory ({scale.unit})", range=[0, float(scale(extents.size))]),
    }
    return {"data": traces, "layout": _layout(520, hovermode="closest", barmode="overlay", **axes)}


def _boxes(
    label: str,
    members: Sequence[Extent],
    recording: Recording,
    extents: Extents,
    scale: Scale,
    clock: Clock,
    color: str,
) -> Figure:
    starts = clock([extent.start_ns for extent in members])
    ends = clock([extent.end_ns for extent in members])
    shortest = float(clock(recording.duration_ns)) / 1500
    return {
        "type": "bar",
        "orientation": "h",
        "name": label,
        "base": _floats(starts),
        "x": _floats(np.maximum(ends - starts, shortest)),
        "y": _floats(scale([extent.place + extent.size / 2 for extent in members])),
        "width": _floats(scale([extent.size for extent in members])),
        "hovertext": [_describe(extent, recording, extents, clock) for extent in members],
        "hoverinfo": "text",
        "marker": {"color": color, "line": {"width": _edges(members, extents.size, 0.004), "color": "white"}},
    }


def _edges(parts: Sequence[Extent] | Sequence[Part], whole: int, least: float) -> list[float]:
    """Widths of white edges: none around what is small, which they would hide."""
    return [0.6 if part.size > least * whole else 0 for part in parts]


def _describe(extent: Extent, recording: Recording, extents: Extents, clock: Clock) -> str:
    row = extents.buffers[extent.buffer]
    name = recording.annotation(int(row["annotation"])) or "no annotation"
    start = "before" if row["start_ns"] == NONE else f"{float(clock(row['start_ns'])):.6g} {clock.unit}"
    end = "the end" if row["end_ns"] == NONE else f"{float(clock(row['end_ns'])):.6g} {clock.unit}"
    lines = [f"<b>{_escaped(name)}</b>", f"{format_bytes(int(row['size']))}, asked for {int(row['requested']):,} B"]
    lines += [f"from {start} to {end}", f"address {int(row['address']):#x}, stream {int(row['stream'])}"]
    if extent.pieces > 1:
        lines.append(f"stitched of {extent.pieces} pieces; this one has {format_bytes(extent.size)}")
    if row["way"]:
        lines.append(f"served by {Way(int(row['way'])).name.lower()}")
    return "<br>".join(lines)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


# --- layout


def layout(snapshot: Snapshot) -> Figure:
    """The tape on some lines, and below it the stitched ranges, all on one axis of bytes from the line's beginning."""
    tape = tape_of(snapshot)
    width = max(-(-tape.size // _TAPE_LINES), 1)
    rows = tape.rows[:_MOST_ROWS]
    scale = Scale(max([width, *(row.size for row in rows)]))
    names = [f"memory {line + 1}" for line in range(_TAPE_LINES)] + [f"range {row.range}" for row in rows]
    boxes = [(names[line], start, part) for line, start, part in wrapped(tape.parts, width)]
    boxes += [(f"range {row.range}", part.start, part) for row in rows for part in row.parts]
    axes = {
        "xaxis": _axis(scale.unit),
        "yaxis": _axis("", categoryorder="array", categoryarray=names[::-1], automargin=True),
    }
    height = 110 + 26 * len(names)
    return {
        "data": [_tape_trace(boxes, snapshot, tape, scale)],
        "layout": _layout(height, hovermode="closest", barmode="overlay", showlegend=False, **axes),
    }


def _tape_trace(boxes: list[tuple[str, int, Part]], snapshot: Snapshot, tape: Tape, scale: Scale) -> Figure:
    edges = _edges([part for _, _, part in boxes], tape.size, 0.002)
    return {
        "type": "bar",
        "orientation": "h",
        "base": _floats(scale([start for _, start, _ in boxes])),
        "x": _floats(scale([part.size for _, _, part in boxes])),
        "y": [name for name, _, _ in boxes],
        "width": 0.78,
        "hovertext": [_describe_part(part, snapshot, tape) for _, _, part in boxes],
        "hoverinfo": "text",
        "marker": {"color": [color_of(part) for _, _, part in boxes], "line": {"width": edges, "color": "white"}},
    }


def _describe_part(part: Part, snapshot: Snapshot, tape: Tape) -> str:
    ranges = ", ".join(str(number) for number in tape.sharing[part.block])
    lines = [_describe_lease(part, snapshot), f"{format_bytes(part.size)} of block {part.block}"]
    lines.append(f"mapped by {len(tape.sharing[part.block])} ranges: {ranges}" if ranges else "mapped nowhere")
    return "<br>".join(lines)


def _describe_lease(part: Part, snapshot: Snapshot) -> str:
    if part.doubtful:
        return "<b>in doubt</b>: kept, never used again"
    if part.lease == NONE:
        return "<b>idle</b>"
    lease = snapshot.leases[part.lease]
    name = _escaped(snapshot.annotation(int(lease["annotation"])) or "leased")
    return f"<b>{name}</b>: {format_bytes(int(lease['size']))} at {int(lease['address']):#x}"


# --- side by side


def side_by_side(recordings: Sequence[Recording]) -> Figure:
    """Memory over time of each, and under it the memory at the moment that tells most."""
    top = max(max(peaks(one)) for one in recordings)
    scale, clock = Scale(top), Clock(recordings[0].duration_ns)
    share = 1 / len(recordings)
    traces: list[Figure] = []
    axes: Figure = {}
    notes = []
    for index, recording in enumerate(recordings):
        axis = "" if index == 0 else str(index + 1)
        domain = [index * share + (0.03 if index else 0), (index + 1) * share - 0.02]
        traces += _band_traces(bands_of(recording), recording, scale, clock, axis)
        traces += _line_traces(recording, scale, clock, axis)
        axes[f"xaxis{axis}"] = _axis(f"time ({clock.unit})", domain=domain, anchor=f"y{axis}")
        limits = {"range": [0, float(scale(top)) * 1.08], "anchor": f"x{axis}"}
        axes[f"yaxis{axis}"] = _axis("" if index else scale.unit, **limits)
        notes.append(_note(verdict(recording), domain[0]))
    rest = {"annotations": notes}
    return {"data": traces, "layout": _layout(430, hovermode="x", **axes, **rest)}


def _note(text: str, x: float) -> Figure:
    place = {"xref": "paper", "yref": "paper", "x": x, "y": 1.08, "xanchor": "left"}
    return {"text": f"<b>{_escaped(text)}</b>", "showarrow": False, "font": {"size": 13}, **place}


def layouts_at_telling_moment(recordings: Sequence[Recording]) -> tuple[str, list[Figure]]:
    """When that is, in words, and the layout of each then."""
    moment_ns = telling_moment(recordings)
    clock = Clock(recordings[0].duration_ns)
    figures = [layout(snapshot_at_time(one, moment_ns)) for one in recordings]
    return f"{float(clock(moment_ns)):.4g} {clock.unit}", figures
