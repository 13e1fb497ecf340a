"""The pictures of docs/benchmarks.md: bars of memory as in the paper's figure, largest batches, step-time ratios."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.models import tables
from benchmarks.models.configurations import CONFIGURATIONS, STRATEGY_NAMES
from benchmarks.models.results import Line
from benchmarks.models.tables import GIB, OURS, Group, Results

sys.path.append(str(Path(__file__).resolve().parents[2] / "research"))

from svg import GREY, document, element, label

INKS = {
    "default": "#b0a8a0",
    "fraction95": "#d4cdc5",
    "on_demand": "#b3462e",
    "cuda_async": "#d9a441",
    "vmm": "#7a9e5f",
    "platform": "#8a6fa8",
    "ours": "#2f6690",
}
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 430, 150, 40, 26, 22
BAR = 11


@dataclass(frozen=True)
class Bar:
    """One bar: its ink, its value, and the part of it that is drawn full (the rest is pale)."""

    peer: str
    value: float
    full: float


@dataclass(frozen=True)
class Panel:
    """Groups of bars with a name each; a group without bars says that it was not run."""

    title: str
    groups: list[tuple[str, list[Bar]]]
    unit: str

    def draw(self, left: float, top: float) -> Iterator[str]:
        """All of it, at a place of the sheet."""
        high = max((bar.value for _, bars in self.groups for bar in bars), default=0.0)
        base, step = top + HEIGHT - BOTTOM, (WIDTH - LEFT - 10) / len(self.groups)
        yield label(left + LEFT, top + 15, self.title, "start", "#111", 12)
        if high:
            yield label(left + LEFT - 4, top + TOP + 10, f"{high:.3g}", "end", GREY, 9)
            yield label(left + LEFT - 4, top + TOP + 21, self.unit, "end", GREY, 8)
        yield element("line", x1=left + LEFT, x2=left + WIDTH - 10, y1=base, y2=base, stroke=GREY)
        for index, (name, bars) in enumerate(self.groups):
            middle = left + LEFT + step * (index + 0.5)
            yield label(middle, base + 13, name, size=10)
            yield from self.bars(bars, middle, base, (HEIGHT - TOP - BOTTOM - 4) / (high or 1))

    def bars(self, bars: list[Bar], middle: float, base: float, rise: float) -> Iterator[str]:
        """The bars of one group side by side."""
        if not bars:
            yield label(middle, base - 5, tables.NOT_RUN, fill=GREY, size=8)
        for number, bar in enumerate(bars):
            x = middle + (number - len(bars) / 2) * BAR
            for value, opacity in ((bar.value, 0.35), (bar.full, 1)):
                tall = value * rise
                place = {"x": f"{x:.1f}", "y": f"{base - tall:.1f}", "width": BAR - 1.5, "height": f"{tall:.1f}"}
                yield element("rect", **place, fill=INKS[bar.peer], fill_opacity=opacity)


def legend(text: str, peers: list[str]) -> list[str]:
    """What the inks mean, in the first line of the sheet."""
    parts, x = [label(LEFT, 16, text, "start", "#333", 11)], LEFT + 5.4 * len(text) + 16
    for peer in peers:
        parts.append(element("rect", x=f"{x:.0f}", y=8, width=10, height=10, fill=INKS[peer]))
        parts.append(label(x + 14, 17, peer, "start", "#333", 11))
        x += 26 + 6.4 * len(peer)
    return parts


def sheet(panels: list[Panel], text: str) -> str:
    """Panels two abreast, under a legend."""
    drawn = {bar.peer for panel in panels for _, bars in panel.groups for bar in bars}
    shown = [peer for peer in INKS if peer in drawn]
    parts = legend(text, shown)
    for number, panel in enumerate(panels):
        parts += panel.draw((number % 2) * WIDTH, 28 + (number // 2) * HEIGHT)
    return document(min(2, len(panels)) * WIDTH, 28 + HEIGHT * ((len(panels) + 1) // 2), parts)


def memory_bars(found: Results, group: Group) -> list[Bar]:
    """What each allocator took, and how much of it was live at the peak."""
    bars = []
    for peer in INKS:
        taken, live = (found.median(group, peer, key) for key in ("nvml_max_bytes", "peak_live_bytes"))
        if taken is not None:
            bars.append(Bar(peer, taken / GIB, (live or 0) / GIB))
    return bars


def memory(found: Results) -> str:
    """A panel for each model, a group for each strategy."""
    panels = [
        Panel(model, [(s, memory_bars(found, Group(model, s))) for s in STRATEGY_NAMES], "GiB")
        for model in CONFIGURATIONS
    ]
    return sheet(panels, "device memory taken; full: live at the peak")


def largest_bars(by_peer: dict[str, Line]) -> list[Bar]:
    """The largest batch under each allocator."""
    sizes = {peer: by_peer[peer]["largest_batch"] or 0 for peer in INKS if peer in by_peer}
    return [Bar(peer, size, size) for peer, size in sizes.items()]


def largest(found: Results) -> str | None:
    """The largest batch of each search."""
    rows = tables.largest_rows(found)
    if not rows:
        return None
    groups = [(f"{model} {strategy}", largest_bars(by)) for (model, strategy, _), by in rows.items()]
    portions = [groups[i : i + 3] for i in range(0, len(groups), 3)]
    return sheet([Panel("", portion, "batch") for portion in portions], "largest batch that trains")


def ratios(found: Results) -> str | None:
    """Step-time ratio of each row, all rounds as a line and the median as a dot."""
    rows = [(group.title, values) for group in found.groups() if (values := found.ratios(group))]
    if not rows:
        return None
    every = [value for _, values in rows for value in values]
    scale = Scale(min(0.95, *every), max(1.05, *every))
    bottom = 30 + 18 * len(rows)
    parts = [label(scale.place(1), 16, "step time, ours / default on demand", size=11), *scale.marks(bottom)]
    for number, (title, values) in enumerate(rows):
        parts += ratio_row(title, [scale.place(value) for value in values], 36 + 18 * number)
    return document(760, bottom + 22, parts)


@dataclass(frozen=True)
class Scale:
    """Ratios from left to right."""

    low: float
    high: float

    def place(self, value: float) -> float:
        """Where a ratio is drawn."""
        return 170 + 560 * (value - self.low) / (self.high - self.low)

    def marks(self, bottom: float) -> Iterator[str]:
        """Lines at both ends and at 1."""
        for mark in (self.low, 1.0, self.high):
            x = f"{self.place(mark):.1f}"
            yield element("line", x1=x, x2=x, y1=24, y2=bottom, stroke="#ccc")
            yield label(self.place(mark), bottom + 13, f"{mark:.2f}", fill=GREY)


def ratio_row(title: str, places: list[float], y: float) -> Iterator[str]:
    """One row of the ratios."""
    ink = INKS[OURS]
    yield label(160, y + 4, title, "end")
    yield element("line", x1=f"{min(places):.1f}", x2=f"{max(places):.1f}", y1=y, y2=y, stroke=ink, stroke_width=2)
    yield element("circle", cx=f"{statistics.median(places):.1f}", cy=y, r=4, fill=ink)
