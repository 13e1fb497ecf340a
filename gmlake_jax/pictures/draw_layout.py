"""Where everything lies: physical memory as a tape on some lines, and under it the ranges that are stitched of it.

Equal colours are the same physical memory, in whichever range it shows up; pale is idle.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from gmlake_jax.history import Snapshot
from gmlake_jax.history.schema import NONE
from gmlake_jax.pictures import colors
from gmlake_jax.pictures.bands import user_name
from gmlake_jax.pictures.drawing import Scale, heading, need_blocks, new_figure
from gmlake_jax.pictures.tape import Part, Tape, tape_of, wrapped
from gmlake_jax.sizes import format_bytes

_LINES = 8
_MOST_ROWS = 14
_ROW_HEIGHT = 0.72
_CHARACTER = 0.0075  # of a line, as wide as a character of a label


def layout_figure(snapshot: Snapshot) -> Any:
    tape = tape_of(snapshot)
    need_blocks(bool(tape.parts), "layout")
    rows = min(len(tape.rows), _MOST_ROWS)
    figure = new_figure(10, 3.4 + 0.3 * rows)
    ratios = {"height_ratios": [_LINES, max(rows, 1)]} if rows else {}
    panels = figure.subplots(2 if rows else 1, 1, squeeze=False, gridspec_kw=ratios)[:, 0]
    draw_tape(panels[0], tape, snapshot)
    held = f"{format_bytes(snapshot.live_bytes)} leased of {format_bytes(tape.size)} held"
    panels[0].set_title(heading(snapshot.about, f"Physical memory, by address  ·  {held}"))
    if rows:
        _draw_rows(panels[1], tape, snapshot)
    return figure


def color_of(part: Part) -> str:
    if part.doubtful:
        return colors.DOUBT
    full = colors.place_color(part.place)
    return full if part.lease != NONE else colors.pale(full)


def draw_tape(axes: Any, tape: Tape, snapshot: Snapshot, lines: int = _LINES, narrow: float = 1) -> None:
    """`narrow`: how many times narrower than usual the panel is, for the labels."""
    width = max(-(-tape.size // lines), 1)
    scale = Scale(width)
    pieces: list[list[tuple[int, Part]]] = [[] for _ in range(lines)]
    for line, start, part in wrapped(tape.parts, width):
        pieces[line].append((start, part))
    for line, shown in enumerate(pieces):
        _draw_bar(axes, shown, -line, scale)
        for start, size, lease in runs(shown):
            text = _fitting(lease, snapshot, size / width / narrow)
            _write(axes, float(scale(start + size / 2)), -line, text, lease)
            if size > 0.004 * width and start > 0:
                axes.plot([float(scale(start))] * 2, [-line, -line - _ROW_HEIGHT], color="white", lw=0.8)
    _blank(axes, lines, f"{lines} lines of {format_bytes(width)} each; pale is idle, white marks are edges of leases")


def _draw_bar(axes: Any, shown: list[tuple[int, Part]], top: float, scale: Scale) -> None:
    boxes = [(float(scale(start)), float(scale(part.size))) for start, part in shown]
    axes.broken_barh(boxes, (top - _ROW_HEIGHT, _ROW_HEIGHT), facecolors=[color_of(part) for _, part in shown], lw=0)


def runs(shown: list[tuple[int, Part]]) -> list[tuple[int, int, int]]:
    """Parts beside each other that belong to one lease, or to none: start, size and lease."""
    found: list[tuple[int, int, int]] = []
    for start, part in shown:
        if found and found[-1][2] == part.lease:
            found[-1] = (found[-1][0], start + part.size - found[-1][0], part.lease)
        else:
            found.append((start, part.size, part.lease))
    return found


def _fitting(lease: int, snapshot: Snapshot, share: float) -> str:
    """The longest of some texts that fits into this share of the line."""
    if lease == NONE:
        texts = ["idle"]
    else:
        row = snapshot.leases[lease]
        name = user_name(snapshot.annotation(int(row["annotation"]))).rpartition("/")[2]
        size = format_bytes(int(row["size"]))
        texts = [f"{name} {size}", name, size] if name else [size]
    return next((text for text in texts if len(text) * _CHARACTER < share), "")


def _write(axes: Any, x: float, top: float, text: str, lease: int) -> None:
    color = "white" if lease != NONE else "#555555"
    axes.text(x, top - _ROW_HEIGHT / 2, text, ha="center", va="center", fontsize=6.5, color=color, clip_on=True)


def _blank(axes: Any, lines: int, text: str) -> None:
    axes.set_ylim(-lines, 0.1)
    axes.margins(x=0.005)
    axes.set_yticks([])
    axes.set_xticks([])
    axes.set_xlabel(text, fontsize=8)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _draw_rows(axes: Any, tape: Tape, snapshot: Snapshot) -> None:
    shown = tape.rows[:_MOST_ROWS]
    scale = Scale(max(row.size for row in shown))
    for line, row in enumerate(shown):
        _draw_bar(axes, [(part.start, part) for part in row.parts], -line, scale)
        _draw_seams(axes, row.parts, line, scale)
        label = f"{format_bytes(row.size)} of {len({part.block for part in row.parts})} blocks"
        axes.text(0, -line - _ROW_HEIGHT / 2, f"range {row.range}  {label}  ", ha="right", va="center", fontsize=7)
    more = len(tape.rows) - len(shown)
    text = f"{more} more stitched ranges are not shown" if more else ""
    _blank(axes, len(shown), text)
    shared = sum(len(ranges) > 1 for ranges in tape.sharing.values())
    title = f"Stitched ranges  ·  equal colours are the same memory; {shared} of {len(tape.sharing)} blocks are shared"
    axes.set_title(title)


def _draw_seams(axes: Any, parts: tuple[Part, ...], line: int, scale: Scale) -> None:
    """Where blocks meet that do not lie together on the tape: what was stitched."""
    for first, second in pairwise(parts):
        if second.block != first.block and second.place < first.place:
            axes.plot([float(scale(second.start))] * 2, [-line, -line - _ROW_HEIGHT], color="white", lw=1.2)
