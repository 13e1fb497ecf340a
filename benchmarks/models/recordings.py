"""A run under ours, recorded and turned into a trace for `gmlake replay`: memory columns without a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from benchmarks.models.cell import Runner
from benchmarks.models.results import Cell

EVENTS = "4000000"  # kept: a run of an unrolled model has some hundred thousand


def record(runner: Runner, cell: Cell, trace: Path) -> None:
    """Runs the cell with GMLAKE_RECORD, then converts what it left."""
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder) / "recording.npz"
        os.environ |= {"GMLAKE_RECORD": str(raw), "GMLAKE_RECORD_EVENTS": EVENTS}
        line = runner.do(replace(cell, kind="recorded"))
        if not raw.exists():
            raise SystemExit(f"nothing was recorded: {line['outcome']} {line.get('reason', '')}")
        convert(raw, trace)


def convert(raw: Path, trace: Path) -> None:
    """`gmlake convert`."""
    command = [sys.executable, "-P", "-m", "gmlake_jax.commands.main", "convert", str(raw), str(trace), "--force"]
    subprocess.run(command, check=True)
