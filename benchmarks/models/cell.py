"""Runs one cell in a child process with a budget of time, and appends its line to the results.

The child is chosen its allocator by its environment, is ended with all its own children when the budget is over, and
leaves a line whatever happened: a failure is a result, with its reason.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks import alternate
from benchmarks.models import holes, peers, results
from benchmarks.models.results import Cell, Line

CHILD = Path(__file__).with_name("child.py")
ALLOWANCE = 256  # ballast leaves this part of the device beside the limit: for modules and workspaces of libraries
GRACE = 0.85  # of the budget: when the child stops measuring by itself
NO_GRAPHS = "--xla_gpu_enable_command_buffer="  # the emulated device cannot update the copies of a graph
SECONDS = 240.0


@dataclass
class Runner:
    """How cells are run: budget, file, compilation cache, emulated memory, steps."""

    out: Path
    budget: float = SECONDS
    cache: Path = Path.home() / ".cache" / "gmlake-benchmark-models"
    emulate: str | None = None
    steps: int = 30
    seed: int = 0

    def lines(self) -> list[Line]:
        """All results so far."""
        return results.read(self.out)

    def total(self) -> int:
        """Bytes of the device: as a child has seen it, else as nvidia-smi says."""
        seen = [line["device_bytes"] for line in self.lines() if line.get("device_bytes")]
        return seen[-1] if seen else asked_total(self.emulate)

    def specification(self, cell: Cell, budget: float) -> dict[str, Any]:
        """What the child is told."""
        peer = peers.PEERS[cell.peer]
        limited = cell.limit is not None and peer.limit_by == "ballast"
        return {
            **{name: value for name, value in asdict(cell).items() if name not in ("kind", "peer", "limit")},
            "role": cell.kind,
            "served": peer.serves,
            "lengths": [cell.length] if cell.length else None,
            "ballast": cell.limit + self.total() // ALLOWANCE if limited and cell.limit else None,
            "seconds": budget * GRACE,
            "steps": self.steps,
            "seed": self.seed,
            "cache": str(self.cache),
            "emulate": self.emulate,
        }

    def environment(self, cell: Cell) -> dict[str, str]:
        """The child's environment."""
        chosen = peers.environment(peers.PEERS[cell.peer], cell.limit, self.total() if cell.limit else 0)
        chosen |= {"TF_CPP_MIN_LOG_LEVEL": "0"} if cell.kind == "situation" else {}  # for holes.dumped
        flags = chosen.get("XLA_FLAGS", "")
        return chosen | ({"XLA_FLAGS": f"{flags} {NO_GRAPHS}".strip()} if self.emulate else {})

    def start(self, cell: Cell, budget: float) -> subprocess.Popen[str]:
        """The child of a cell, in a process group of its own."""
        command = [sys.executable, str(CHILD), json.dumps(self.specification(cell, budget))]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, env=self.environment(cell), stdout=pipe, stderr=pipe, text=True, start_new_session=True
        )

    def execute(self, cell: Cell, budget: float, limit: int | None) -> Line:
        """Runs a cell; its result without the machine."""
        begun = time.monotonic()
        limited = replace(cell, limit=limit)
        found = outcome_of(self.start(limited, budget), budget)
        took = round(time.monotonic() - begun, 1)
        return {**found, **asdict(cell), "limit_bytes": limit, "seconds_in_all": took}

    def do(self, cell: Cell, budget: float | None = None, limit: int | None = None) -> Line:
        """Runs a cell, at `limit` or its own, and appends its line; but not that a shortened budget was too short."""
        budget = budget or self.budget
        line = self.execute(cell, budget, limit or cell.limit) | machine()
        line |= {"emulated": True} if self.emulate else {}
        if line["outcome"] != "timeout" or budget >= self.budget:
            results.append(self.out, line)
        print(f"{cell.title()}: {line['outcome']} {line.get('reason', '')[:200]}", flush=True)
        return line

    def once(self, cell: Cell, budget: float | None = None) -> Line:
        """The result of a cell, run only where there is none yet."""
        return results.find(self.lines(), cell) or self.do(cell, budget)


def asked_total(emulate: str | None) -> int:
    """Bytes of the first GPU as nvidia-smi says, or of the emulated device."""
    if emulate:
        return int(emulate.removesuffix("GiB")) << 30
    query = ["nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits"]
    text = subprocess.run(query, capture_output=True, text=True, check=True).stdout
    return int(text.splitlines()[0]) << 20


def machine() -> Line:
    """GPU, driver, versions, date and command: what every line carries."""
    command = shlex.join(["python", "-m", "benchmarks.models", *sys.argv[1:]])
    return {**alternate.gpu(), "versions": alternate.versions(), "date": time.strftime("%Y-%m-%d"), "command": command}


def outcome_of(child: subprocess.Popen[str], budget: float) -> Line:
    """What the child printed, or how it ended."""
    try:
        out, err = child.communicate(timeout=budget)
    except subprocess.TimeoutExpired:
        end(child)
        return {"outcome": "timeout", "reason": f"no result within {budget:.0f} s"}
    end(child)
    try:
        found = dict(json.loads(out.strip().splitlines()[-1]))
        return found | at_failure(found, err)
    except (IndexError, ValueError, TypeError):
        return {"outcome": "crash", "reason": f"exit code {child.returncode}: {err.strip()[-500:]}"}


def at_failure(found: Line, err: str) -> Line:
    """What a situation's line says of the failure, where the default allocator has logged it."""
    logged = holes.dumped(err) if found["outcome"] == "out_of_memory" and "critical" in found else None
    return {"critical": logged} if logged else {}


def end(child: subprocess.Popen[str]) -> None:
    """Ends the child and whatever it has started: its process group, which is its own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
