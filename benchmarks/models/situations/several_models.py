"""Several models loaded one by one in float32 and stored in bfloat16, then one activation (google/torchax#16).

Each array in bfloat16 is made while its original in float32 is there, and stays where it was made.
"""

from __future__ import annotations

import random

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.models.situations.stage import ROW, Stage

MODELS = 3
STORED = 2.0  # units of each model, in bfloat16
SIZES = (0.02, 0.05, 0.1, 0.25, 0.4)  # units of an array, in bfloat16


def sizes(generator: random.Random) -> list[float]:
    """The arrays of a model."""
    found: list[float] = []
    while sum(found) < STORED:
        found.append(min(generator.choice(SIZES), STORED - sum(found) + 0.001))
    return found


def load(stage: Stage, units: list[float]) -> list[jax.Array]:
    """All arrays of a model in float32, then each in bfloat16 and its original dropped."""
    host = [np.zeros((stage.bytes(2 * each) // (4 * ROW), ROW), np.float32) for each in units]
    arrays = [jax.block_until_ready(jax.device_put(each)) for each in host]
    for i in range(len(arrays)):
        arrays[i] = jax.block_until_ready(arrays[i].astype(jnp.bfloat16))
    return arrays


def play(stage: Stage) -> None:
    """Models, then slabs of all that is left of the peak."""
    generator = random.Random(stage.seed)
    models = [load(stage, sizes(generator)) for _ in range(MODELS)]
    for _ in range(3):
        slab = stage.slab(STORED)
        del slab
    del models
