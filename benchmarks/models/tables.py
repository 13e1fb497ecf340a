"""Result lines as figures and as rows of tables. Nothing here makes up a number: a cell without a line is "not run".

A cell's figure is the median over its rounds; only lines that completed count, at the table's batch and unlimited.
GiB are 2^30 bytes, and GB, as in the paper's claims, 10^9.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from benchmarks.models import search
from benchmarks.models.configurations import CONFIGURATIONS, STRATEGY_NAMES, impossible
from benchmarks.models.peers import PEERS
from benchmarks.models.results import Line
from benchmarks.models.situations import NAMES

BASE, OURS = "on_demand", "ours"
GIB, GB = 1 << 30, 1e9
NOT_RUN = "not run"
SHORT = {"out_of_memory": "out of memory", "wrong_allocator": "another allocator served"}


@dataclass(frozen=True)
class Group:
    """One row of the models: a model, a strategy, and how its layers are run."""

    model: str
    strategy: str
    layers: str = "scan"

    @property
    def title(self) -> str:
        """As the tables name it."""
        return f"{self.model} {self.strategy}" + (" unrolled" if self.layers == "unrolled" else "")


GROUPS = [Group(model, strategy) for model in CONFIGURATIONS for strategy in STRATEGY_NAMES]


@dataclass(frozen=True)
class Results:
    """All lines, and what can be asked of them. `suffix` is -tiny for a page about tiny models."""

    lines: list[Line]
    suffix: str = ""

    def runs(self, group: Group, peer: str) -> list[Line]:
        """The lines of a cell, all rounds, completed or not."""
        wanted = {
            "kind": "run",
            "model": group.model + self.suffix,
            "strategy": group.strategy,
            "layers": group.layers,
            "peer": peer,
            "batch": None,
            "length": None,
            "limit": None,
        }
        return [line for line in self.lines if all(line.get(key) == value for key, value in wanted.items())]

    def values(self, group: Group, peer: str, key: str) -> dict[int, float]:
        """One figure of a cell, by round."""
        done = [line for line in self.runs(group, peer) if line["outcome"] == "completed"]
        return {line["round"]: line[key] for line in done if line.get(key) is not None}

    def median(self, group: Group, peer: str, key: str) -> float | None:
        """The median over the rounds."""
        values = self.values(group, peer, key).values()
        return statistics.median(values) if values else None

    def ratios(self, group: Group, key: str = "step_ms_p50", base: str = BASE) -> list[float]:
        """Ours over another, round by round."""
        ours, theirs = self.values(group, OURS, key), self.values(group, base, key)
        return [ours[number] / theirs[number] for number in sorted(ours.keys() & theirs.keys())]

    def groups(self) -> list[Group]:
        """All rows: each model with each strategy, and what was run unrolled."""
        unrolled = {
            Group(line["model"].removesuffix("-tiny"), line["strategy"], "unrolled")
            for line in self.lines
            if line.get("kind") == "run" and line["layers"] == "unrolled"
        }
        return GROUPS + sorted(unrolled, key=lambda group: group.title)

    def of_kind(self, kind: str) -> list[Line]:
        """Lines that a search or a situation has left."""
        return [line for line in self.lines if line.get("kind") == kind]


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A table in Markdown."""
    names = list(head)
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def spread(values: list[float], places: int = 3) -> str:
    """Median, smallest and largest."""
    if not values:
        return NOT_RUN
    middle = f"{statistics.median(values):.{places}f}"
    return middle if len(values) == 1 else f"{middle} ({min(values):.{places}f} to {max(values):.{places}f})"


def gib(value: float | None, otherwise: str = NOT_RUN) -> str:
    """Bytes as GiB."""
    return otherwise if value is None else f"{value / GIB:.1f}"


def why_not(lines: list[Line]) -> str:
    """What a cell without a completed line says."""
    return SHORT.get(lines[-1]["outcome"], lines[-1]["outcome"]) if lines else NOT_RUN


def memory_cell(found: Results, group: Group, peer: str) -> str:
    """Memory taken, and utilisation."""
    taken = found.median(group, peer, "nvml_max_bytes")
    if taken is None:
        return why_not(found.runs(group, peer))
    used = found.median(group, peer, "utilisation")
    return gib(taken) + (f" ({used:.0%})" if used else "")


def memory_table(found: Results) -> str:
    """Device memory of each model and strategy under each allocator."""
    rows = []
    for group in found.groups():
        live = found.median(group, OURS, "peak_live_bytes")
        no = impossible(group.model, group.strategy)
        cells = ["impossible"] * len(PEERS) if no else [memory_cell(found, group, peer) for peer in PEERS]
        rows.append([group.title, gib(live, ""), *cells])
    return table(["", "live", *PEERS], rows)


def step_row(found: Results, group: Group) -> list[str] | None:
    """The steps of one row; None where nothing was run."""
    ratios = found.ratios(group)
    if not ratios:
        return None
    times = [found.median(group, peer, key) for peer in (BASE, OURS) for key in ("step_ms_p50", "step_ms_p99")]
    calls, tokens = (found.median(group, OURS, key) for key in ("driver_calls_per_step", "tokens_per_s"))
    other = found.ratios(group, base="cuda_async")
    shown = [f"{time:.1f}" if time is not None else NOT_RUN for time in times]
    return [group.title, spread(ratios), str(len(ratios)), spread(other), *shown, f"{tokens:.0f}", f"{calls or 0:.2f}"]


def step_table(found: Results) -> str:
    """Step times, ours beside the default allocator on demand."""
    rows = [row for group in found.groups() if (row := step_row(found, group))]
    head = ["", "ours / default", "rounds", "ours / cuda_async", "default p50 ms", "p99", "ours p50 ms", "p99"]
    return table([*head, "tokens/s", "driver calls a step"], rows) if rows else "Not run."


def limit_table(found: Results) -> str:
    """The smallest limits that were looked for."""
    rows = []
    for line in found.of_kind("limit"):
        name = line.get("situation") or f"{line['model']} {line['strategy']}"
        live, least = line.get("peak_live_bytes"), line.get("smallest_limit_bytes")
        ratio = f"{least / live:.3f}" if live and least else ""
        rows.append([name, line["peer"], gib(live, ""), gib(least, "does not complete"), ratio])
    return table(["", "allocator", "live GiB", "smallest limit GiB", "limit / live"], rows) if rows else "Not run."


def largest_rows(found: Results) -> dict[tuple[str, str, int], dict[str, Line]]:
    """The searches for the largest batch, by model, strategy and length; then by allocator."""
    rows: dict[tuple[str, str, int], dict[str, Line]] = {}
    for line in found.of_kind("largest"):
        rows.setdefault((line["model"], line["strategy"], line["length"]), {})[line["peer"]] = line
    return rows


def largest_cell(line: Line | None) -> str:
    """The largest batch; "at least" where the runs were used up before one failed."""
    if line is None:
        return NOT_RUN
    return (
        f"at least {line['largest_batch']}" if line["failing_batch"] is None else str(line["largest_batch"] or "none")
    )


def largest_table(found: Results) -> str:
    """The largest batches that were looked for."""
    rows = largest_rows(found)
    if not rows:
        return "Not run."
    body = [
        [f"{model} {strategy}", length, *(largest_cell(by.get(peer)) for peer in PEERS)]
        for (model, strategy, length), by in rows.items()
    ]
    return table(["", "length", *PEERS], body)


def situation_line(found: Results, name: str, peer: str) -> Line | None:
    """The newest line of a situation at its limit."""
    lines = [each for each in found.of_kind("situation") if each["situation"] == name and each["peer"] == peer]
    tight = [line for line in lines if line["tight"]]
    return tight[-1] if tight else None


def situation_cell(line: Line | None) -> str:
    """How a situation ended under one allocator; with the holes where it failed for want of one piece."""
    if line is None:
        return NOT_RUN
    if line["outcome"] == "completed":
        return "completes"
    critical = line.get("critical") or {}
    if not critical.get("valid"):
        return SHORT.get(line["outcome"], line["outcome"])
    free, hole, request = (critical[key] / GIB for key in ("total_free", "largest_hole", "request"))
    return f"**fails**: {request:.2f} asked, {free:.2f} free, largest hole {hole:.2f}"


def situation_table(found: Results) -> str:
    """All situations under all allocators."""
    rows = []
    for name in NAMES:
        lines = {peer: situation_line(found, name, peer) for peer in PEERS}
        limit = next((line["limit_bytes"] for line in lines.values() if line and line.get("limit_bytes")), None)
        rows.append([name, gib(limit, ""), *(situation_cell(line) for line in lines.values())])
    return table(["", "limit GiB", *PEERS], rows)


def savings(found: Results) -> list[float]:
    """Bytes that ours takes less than the default allocator on demand, for each cell that ran under both."""
    pairs = [[found.median(group, peer, "nvml_max_bytes") for peer in (BASE, OURS)] for group in found.groups()]
    return [base - ours for base, ours in pairs if base is not None and ours is not None]


def less_fragmentation(found: Results) -> list[float]:
    """By how much utilisation is higher, for each cell that ran under both."""
    pairs = [[found.median(group, peer, "utilisation") for peer in (BASE, OURS)] for group in found.groups()]
    return [ours - base for base, ours in pairs if base is not None and ours is not None]


def claims(found: Results) -> str:
    """The paper's claims beside what was measured here."""
    saved, less = [value / GB for value in savings(found)], less_fragmentation(found)
    ratios = [statistics.median(found.ratios(group)) for group in found.groups() if found.ratios(group)]

    def shown(values: list[float], choose: Any, form: str) -> str:
        return form.format(choose(values)) if values else NOT_RUN

    rows = [
        ["memory less, average", "9.2 GB", shown(saved, statistics.mean, "{:.1f} GB"), len(saved)],
        ["memory less, at most", "25 GB", shown(saved, max, "{:.1f} GB"), len(saved)],
        ["fragmentation less, average", "15 %", shown(less, statistics.mean, "{:.1%}"), len(less)],
        ["fragmentation less, at most", "33 %", shown(less, max, "{:.1%}"), len(less)],
        ["step time, ratio", "no slowdown", spread(ratios), len(ratios)],
    ]
    return table(["", "GMLake on PyTorch, A100", "here", "cells"], rows)


def best_peer(found: Results, group: Group) -> tuple[str, float] | None:
    """The allocator other than ours that takes least."""
    taken = {peer: found.median(group, peer, "nvml_max_bytes") for peer in PEERS if peer != OURS}
    known = {peer: value for peer, value in taken.items() if value is not None}
    return min(known.items(), key=lambda item: item[1]) if known else None


def no_help(found: Results) -> list[str]:
    """Cells in which another allocator takes as little memory, to a hundredth."""
    named = []
    for group in found.groups():
        ours, best = found.median(group, OURS, "nvml_max_bytes"), best_peer(found, group)
        if ours is not None and best is not None and best[1] <= search.MARGIN * ours:
            named.append(f"{group.title} ({best[0]} {gib(best[1])}, ours {gib(ours)} GiB)")
    return named
