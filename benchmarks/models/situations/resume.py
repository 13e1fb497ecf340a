"""Resume from a checkpoint: beside the initial state, orbax restores another, which replaces it; then training.

A fresh run fits at the same limit. The restored arrays lie behind the initial ones, and the room of those is then a
hole in front of them (marin-community/marin#7115).
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import orbax.checkpoint as ocp

from benchmarks.models.situations.stage import Stage


def play(stage: Stage) -> None:
    """Save, restore, train."""
    job = stage.job()
    job.start(stage.seed)
    with tempfile.TemporaryDirectory() as folder, ocp.StandardCheckpointer() as checkpointer:
        path = Path(folder) / "state"
        kept = {name: tree for name, tree in job.state.items() if name != "frozen"}
        checkpointer.save(path, kept)
        checkpointer.wait_until_finished()
        restored = checkpointer.restore(path, kept)
    job.state = {**restored, "frozen": {}}
    del kept, restored
    for _ in range(2):
        stage.train(job)
