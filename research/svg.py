"""Small SVG pictures for the documentation: curves in a grid of panels. Text in, text out; no library."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

INKS = ("#b3462e", "#2f6690")
GREY = "#8a8a8a"


def element(name: str, text: str = "", **attributes: object) -> str:
    spelled = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in attributes.items())
    return f"<{name}{spelled}>{escape(text)}</{name}>" if text else f"<{name}{spelled}/>"


def label(x: float, y: float, text: str, anchor: str = "middle", fill: str = "#333", size: int = 10) -> str:
    return element("text", text, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, fill=fill, font_size=size)


def document(width: float, height: float, parts: list[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" font-family="sans-serif">'
    )
    ground = element("rect", width="100%", height="100%", fill="#ffffff")
    return "\n".join([head, ground, *parts, "</svg>", ""])


@dataclass(frozen=True)
class Curve:
    """One line of a panel."""

    name: str
    values: list[float]


@dataclass(frozen=True)
class Panel:
    """Curves over the same values; the one in use carries dots."""

    title: str
    names: list[str]
    curves: list[Curve]
    dot: int


@dataclass(frozen=True)
class Sheet:
    """Rows of panels."""

    rows: list[list[Panel]]

    WIDTH = 230
    HEIGHT = 120
    LEFT, RIGHT, TOP, BOTTOM = 34, 40, 22, 20

    def draw(self) -> str:
        parts = [
            part
            for down, row in enumerate(self.rows)
            for across, panel in enumerate(row)
            for part in self.panel(panel, across * self.WIDTH, down * self.HEIGHT)
        ]
        return document(self.WIDTH * max(map(len, self.rows)), self.HEIGHT * len(self.rows), parts)

    def panel(self, panel: Panel, left: float, top: float) -> Iterator[str]:
        high = max(max(curve.values) for curve in panel.curves) or 1.0
        bottom = top + self.HEIGHT - self.BOTTOM
        yield label(left + self.LEFT, top + 14, panel.title, "start", "#111", 11)
        yield element("line", x1=left + self.LEFT, x2=left + self.WIDTH - self.RIGHT, y1=bottom, y2=bottom, stroke=GREY)
        yield label(left + self.LEFT - 4, top + self.TOP + 8, f"{high:.3g}", "end", GREY, 9)
        yield label(left + self.LEFT - 4, bottom + 3, "0", "end", GREY, 9)
        for i, name in enumerate(panel.names):
            yield label(self.x(panel, i, left), bottom + 12, name, size=9, fill="#111" if i == panel.dot else GREY)
        for ink, curve in zip(INKS, panel.curves, strict=False):
            yield from self.curve(panel, curve, ink, left, bottom, high)

    def curve(self, panel: Panel, curve: Curve, ink: str, left: float, bottom: float, high: float) -> Iterator[str]:
        rise = (self.HEIGHT - self.BOTTOM - self.TOP - 6) / high
        spots = [(self.x(panel, i, left), bottom - value * rise) for i, value in enumerate(curve.values)]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
        yield element("polyline", points=line, fill="none", stroke=ink, stroke_width=1.5)
        x, y = spots[panel.dot]
        yield element("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=3, fill=ink)
        yield label(spots[-1][0] + 5, spots[-1][1] + 3, curve.name, "start", ink, 9)

    def x(self, panel: Panel, index: int, left: float) -> float:
        inner = self.WIDTH - self.LEFT - self.RIGHT - 24
        return left + self.LEFT + 12 + inner * index / max(1, len(panel.names) - 1)
