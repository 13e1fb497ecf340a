#!/usr/bin/env python3
"""Draws docs/figures/walk.svg: requests on their way through the allocator, from its real state after each step.

    python research/draw_walk.py

Tells a short story to cc/bench/walk_main, which runs the allocator over the modelled driver, and draws what it answers:
every physical block at its home, in the colour of the lease that owns it, and below it the stitched ranges.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import replay_report
from svg import document, element, label

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "figures" / "walk.svg"
MIB = 1 << 20

LIMIT = 6400 * MIB
FILL = [f"+{number}:{512 * MIB}" for number in range(1, 13)]
STORY = [
    *FILL,
    *(f"-{number}" for number in (2, 5, 8, 11)),
    "?Twelve leases of 512 MiB, each in eight blocks of its own; four have been freed. Nothing contiguous is larger "
    "than 512 MiB.",
    f"+A:{1300 * MIB}",
    "?A asks for 1300 MiB: twenty free blocks and 20 MiB of one more are mapped side by side. No byte is moved.",
    f"+B:{700 * MIB}",
    "?B asks for 700 MiB: the range is extended, and what A left of its last block comes first, so that none is lost.",
    "-A",
    "-B",
    f"+A:{1300 * MIB}",
    f"+B:{700 * MIB}",
    "?Both are freed and asked for again, as in the next step of a program: the same addresses, no driver call.",
]

WIDTH, LEFT, TAPE, GAP = 960, 16, 20, 40
INK = {"A": "#b3462e", "B": "#2f6690"}
OTHERS, FREE = "#c9c9c2", "#ffffff"

State = dict[str, Any]


def tell(story: list[str]) -> list[State]:
    replay_report.build("walk_main")
    command = [str(replay_report.BINARIES / "walk_main"), f"--limit={LIMIT}", *story]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in output.splitlines()]


class Frame:
    """One state: addresses to places on the page, bytes of blocks to the leases that own them."""

    def __init__(self, state: State, top: float):
        self.state, self.top = state, top
        self.stitched = {one["id"] for one in state["ranges"] if one["stitched"]}
        homes = [one for one in state["mappings"] if one["range"] not in self.stitched]
        self.home = {one["block"]: one for one in homes}
        self.start = min(one["address"] for one in homes)
        self.scale = (WIDTH - 2 * LEFT) / (LIMIT + 0.0)

    @property
    def height(self) -> float:
        return 54 + TAPE + (GAP + TAPE if self.stitched else 0)

    def draw(self, calls_before: int) -> Iterator[str]:
        calls = self.state["calls"]
        yield label(LEFT, self.top + 14, self.state["title"], "start", "#111", 12)
        yield label(WIDTH - LEFT, self.top + 14, f"{calls - calls_before} driver calls", "end", "#555", 11)
        for block in self.home.values():
            yield self.cell(
                self.x(block["address"]), self.top + 24, block["size"], OTHERS if self.is_used(block) else FREE
            )
        for mapping in self.state["mappings"]:
            if mapping["range"] in self.stitched:
                yield from self.alias(mapping)

    def x(self, address: float) -> float:
        return LEFT + (address - self.start) * self.scale

    def cell(self, x: float, y: float, size: float, fill: str) -> str:
        return element(
            "rect",
            x=f"{x:.2f}",
            y=y,
            width=f"{size * self.scale:.2f}",
            height=TAPE,
            fill=fill,
            stroke="#777",
            stroke_width=0.5,
        )

    def is_used(self, block: State) -> bool:
        return any(
            lease["address"] <= block["address"] < lease["address"] + lease["size"] for lease in self.state["leases"]
        )

    def alias(self, mapping: State) -> Iterator[str]:
        """The block below its home, in its range, both in the colours of the leases through the range."""
        base = min(one["address"] for one in self.state["mappings"] if one["range"] == mapping["range"])
        shift = self.base_shift(mapping["range"])
        home, low = self.home[mapping["block"]], self.top + 24 + TAPE + GAP
        x = LEFT + shift + (mapping["address"] - base) * self.scale
        yield self.cell(x, low, mapping["size"], FREE)
        for lease in self.state["leases"]:
            begin = max(lease["address"], mapping["address"])
            end = min(lease["address"] + lease["size"], mapping["address"] + mapping["size"])
            if begin >= end:
                continue
            ink, inside = INK[lease["name"]], begin - mapping["address"]
            yield self.cell(x + inside * self.scale, low, end - begin, ink)
            yield self.cell(self.x(home["address"] + inside), self.top + 24, end - begin, ink)
            middle = mapping["size"] * self.scale / 2
            yield element(
                "line", x1=f"{self.x(home['address']) + middle:.1f}", y1=self.top + 24 + TAPE, x2=f"{x + middle:.1f}",
                y2=low, stroke=ink, stroke_width=0.6, opacity=0.6,
            )  # fmt: skip

    def base_shift(self, number: int) -> float:
        """Ranges lie side by side, in the order of their numbers."""
        sizes = [
            one["size"] for one in self.state["mappings"] if one["range"] in self.stitched and one["range"] < number
        ]
        return sum(sizes) * self.scale + 30 * sum(one < number for one in self.stitched)


def main() -> None:
    parts = [label(LEFT, 16, "physical blocks, each at its home; below, the stitched ranges", "start", "#555", 11)]
    calls, top = 0, 24.0
    for state in tell(STORY):
        frame = Frame(state, top)
        parts += frame.draw(calls)
        calls, top = state["calls"], top + frame.height
    PICTURE.write_text(document(WIDTH, top, parts))


if __name__ == "__main__":
    main()
