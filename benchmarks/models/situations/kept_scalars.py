"""`losses.append(loss)`: a training step whose small results are kept, and an evaluation with more temporary memory.

The result is allocated while the step's temporary memory is there, and stays behind it, in the middle of what the
evaluation then needs in one piece (jax-ml/jax#9064).
"""

from __future__ import annotations

import random

from benchmarks.models.situations.stage import Stage

TURNS = 30
STEP, EVALUATION = 4.5, 6.0  # units


def play(stage: Stage) -> None:
    """Slabs of two sizes in turns, a small array kept of each of the smaller ones."""
    generator = random.Random(stage.seed)
    kept = []
    for _ in range(TURNS):
        step = stage.slab(STEP)
        kept.append(stage.make(generator.choice((0.0001, 0.0005, 0.001))))
        del step
        evaluation = stage.slab(EVALUATION)
        del evaluation
