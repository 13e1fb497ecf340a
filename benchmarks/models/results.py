"""Result lines: what identifies a cell, and the file of JSON lines that cells are appended to and looked up in.

A line has the fields of its `Cell`, `outcome` (completed, out_of_memory, error, timeout, crash, wrong_allocator) with a
`reason` where that is not completed, what the child measured (measures.Watch.figures, workload.Measured.figures), and
the machine: gpu, driver, versions, date, command. README.md has the whole schema.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Line = dict[str, Any]
RETRIED = ("timeout", "crash")  # outcomes that `plan` may try once more where it is asked to


@dataclass(frozen=True)
class Cell:
    """One thing to run. Fields that do not apply are None."""

    kind: str  # run, recorded, situation, warm
    model: str
    peer: str
    strategy: str | None = None
    layers: str = "scan"
    round: int = 0
    batch: int | None = None
    length: int | None = None  # sequences of this length alone
    limit: int | None = None  # bytes
    situation: str | None = None
    tight: bool = False  # at the limit that the job's own live peak decides; `limit_bytes` of the line says which

    @property
    def programs(self) -> tuple[Any, ...]:
        """Cells that agree in this run the same compiled programs."""
        return self.kind, self.model, self.strategy, self.layers, self.batch, self.length, self.situation

    def title(self) -> str:
        """The cell in a few words."""
        own = (self.situation,) if self.situation else (self.model, self.strategy, self.layers)
        words = (*own, self.peer, f"round {self.round}")
        limit = f"limit {self.limit / 2**30:.2f} GiB" if self.limit else "tight limit" if self.tight else None
        batch = f"batch {self.batch}" if self.batch else None
        length = f"length {self.length}" if self.length else None
        return " ".join(word for word in (*words, limit, batch, length) if word)


FIELDS = [each.name for each in dataclasses.fields(Cell)]


def cell_of(line: Line) -> Cell:
    """The cell that a line is the result of."""
    return Cell(**{name: line[name] for name in FIELDS if name in line})


def read(path: Path) -> list[Line]:
    """All lines of a file; none where there is no file. A last line that was cut off is left out."""
    lines = []
    for text in path.read_text().splitlines() if path.exists() else []:
        try:
            lines.append(json.loads(text))
        except json.JSONDecodeError:
            continue
    return lines


def append(path: Path, line: Line) -> None:
    """Adds one line, whole. A line that was cut off before it is ended first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    cut = path.exists() and (text := path.read_bytes()) and not text.endswith(b"\n")
    with path.open("a") as file:
        file.write(("\n" if cut else "") + json.dumps(line) + "\n")


def find(lines: Iterable[Line], cell: Cell) -> Line | None:
    """The newest result of a cell."""
    found = [line for line in lines if line.get("kind") == cell.kind and cell_of(line) == cell]
    return found[-1] if found else None


def missing(lines: list[Line], cells: Iterable[Cell], retry: bool = False) -> list[Cell]:
    """The cells without a result, in their order; with `retry`, also those that ended for want of time."""
    left = []
    for cell in cells:
        line = find(lines, cell)
        if line is None or (retry and line["outcome"] in RETRIED):
            left.append(cell)
    return left
