"""The HTML report: one page that holds everything it needs, plotly's script too, and opens without a network."""

from __future__ import annotations

import html
import importlib.resources
import json
from collections.abc import Iterable, Sequence
from string import Template
from typing import Any

import numpy as np

from gmlake_jax._version import __version__
from gmlake_jax.errors import CommandError
from gmlake_jax.history import Kind, Recording, Snapshot
from gmlake_jax.history.schema import NONE
from gmlake_jax.history.series import peak_snapshot, series_of
from gmlake_jax.history.state import last_snapshot
from gmlake_jax.pictures import page_figures
from gmlake_jax.pictures.bands import user_name
from gmlake_jax.pictures.drawing import Clock, device_text
from gmlake_jax.sizes import format_bytes

_MOST_LINES = 15


def report_page(recording: Recording, others: Sequence[Recording] = ()) -> str:
    """The page. `others`: the same requests under several allocators, to be shown side by side."""
    sections = _sections(recording) + (_comparison(others) if others else [])
    figures = {name: figure for section in sections for name, figure in section.figures.items()}
    return Template(_resource("gmlake_jax.pictures", "page.html")).substitute(
        title=html.escape(f"Memory of {recording.about.program or 'a program'}"),
        subtitle=html.escape(_subtitle(recording)),
        body="\n".join(section.html() for section in sections),
        library=_plotly(),
        figures=_script_json(figures),
    )


def _script_json(value: Any) -> str:
    """JSON inside of a script element: no character of it means anything to HTML, nor ends a line of JavaScript."""
    return json.dumps(value).translate({ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"})


def _resource(package: str, name: str) -> str:
    return importlib.resources.files(package).joinpath(name).read_text(encoding="utf-8")


def _plotly() -> str:
    try:
        return _resource("plotly", "package_data/plotly.min.js")
    except ModuleNotFoundError:
        raise CommandError("the report needs plotly; pip install plotly") from None


class _Section:
    """A heading, a line of explanation, figures by name, and more HTML under them."""

    def __init__(self, title: str, text: str, figures: dict[str, Any] | None = None, more: str = ""):
        self.title, self.text, self.figures, self.more = title, text, figures or {}, more

    def html(self) -> str:
        plots = "".join(f'<div class="plot" id="{name}"></div>' for name in self.figures)
        return f"<h2>{html.escape(self.title)}</h2>\n<p>{html.escape(self.text)}</p>\n{plots}{self.more}"


def _subtitle(recording: Recording) -> str:
    about = recording.about
    versions = ", ".join(f"{name} {version}" for name, version in about.versions.items())
    parts = [about.allocator, device_text(about), versions, f"report by gmlake_jax {__version__}"]
    return "  ·  ".join(part for part in parts if part)


# --- sections


def _sections(recording: Recording) -> list[_Section]:
    known = series_of(recording).knows_blocks
    peak, end = peak_snapshot(recording), last_snapshot(recording)
    tables = f'<div class="columns">{_facts(recording)}{_holders(peak)}</div>'
    shown = [
        _Section("In short", "The second table says who held memory at the peak.", more=tables),
        _Section(
            "Memory over time",
            "Who holds it, in bands on each other; point at them for sizes, drag to zoom, double-click to reset.",
            {"timeline": page_figures.timeline(recording)},
        ),
        _Section(
            "Every buffer, in time and place",
            "A box is a buffer, from its birth to its death, where it lies in physical memory; "
            "one that was stitched has several. Point at a box for its size, annotation and address.",
            {"buffers": page_figures.buffer_map(recording)},
        ),
    ]
    return shown + (_layouts(peak, end) if known else [])


def _layouts(peak: Snapshot, end: Snapshot) -> list[_Section]:
    text = (
        "The first lines are the physical memory, by address; below them are the stitched ranges. Equal colours are "
        "the same memory; pale is idle. Point at a block to see which ranges map it."
    )
    return [
        _Section("Layout at the peak", text, {"layout-peak": page_figures.layout(peak)}),
        _Section("Layout at the end", text, {"layout-end": page_figures.layout(end)}),
    ]


def _comparison(recordings: Sequence[Recording]) -> list[_Section]:
    moment, figures = page_figures.layouts_at_telling_moment(recordings)
    shown = [
        _Section(
            "The same requests under each allocator",
            "Replayed over a model of the driver; no GPU was used for it.",
            {"compare": page_figures.side_by_side(recordings)},
        )
    ]
    for index, (recording, figure) in enumerate(zip(recordings, figures, strict=True)):
        title = f"{recording.about.allocator}: its memory at {moment}"
        shown.append(_Section(title, "Pale is idle.", {f"compare-layout-{index}": figure}))
    return shown


# --- tables


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    def line(cells: Sequence[str], tag: str) -> str:
        kinds = ["", *[' class="number"'] * (len(cells) - 1)]
        shown = (f"<{tag}{kind}>{html.escape(cell)}</{tag}>" for kind, cell in zip(kinds, cells, strict=True))
        return f"<tr>{''.join(shown)}</tr>"

    return f"<table>{line(head, 'th')}{''.join(line(row, 'td') for row in rows)}</table>"


def _facts(recording: Recording) -> str:
    series, events = series_of(recording), recording.events
    clock = Clock(recording.duration_ns)
    rows = [
        ("time covered", f"{float(clock(recording.duration_ns)):.4g} {clock.unit}"),
        ("events", f"{len(events):,}" + (f", after {recording.dropped:,} that were lost" if recording.dropped else "")),
        ("allocations", f"{int((events['kind'] == Kind.ALLOC).sum()):,}"),
        ("refused", f"{int((events['kind'] == Kind.REFUSED).sum()):,}"),
        ("most in use", format_bytes(int(np.max(series.live)))),
        ("in use at the end", format_bytes(int(series.live[-1]))),
    ]
    if series.knows_blocks:
        rows.append(("most reserved", format_bytes(int(np.max(series.reserved)))))
    if series.limit[-1] != NONE:
        rows.append(("limit", format_bytes(int(series.limit[-1]))))
    return _table(("", ""), rows)


def _holders(snapshot: Snapshot) -> str:
    """Who holds most at the peak; unnamed leases are put together by size."""
    held: dict[str, tuple[int, int]] = {}
    for size, annotation in snapshot.leases[["size", "annotation"]].tolist():
        name = user_name(snapshot.annotation(annotation)) or f"buffers of {format_bytes(size)}"
        count, total = held.get(name, (0, 0))
        held[name] = (count + 1, total + size)
    ranked = sorted(held.items(), key=lambda item: (-item[1][1], item[0]))
    rows = [(name, f"{count:,}", format_bytes(total)) for name, (count, total) in ranked[:_MOST_LINES]]
    if len(ranked) > _MOST_LINES:
        rest = [item for _, item in ranked[_MOST_LINES:]]
        rows.append(("others", f"{sum(count for count, _ in rest):,}", format_bytes(sum(total for _, total in rest))))
    return _table(("at the peak", "buffers", "bytes"), rows)
