"""Parameters made one by one, outside jit, and stacked: each leaves holes where its parts were; then training.

Reported in jax-ml/jax#10790; to jit the initialisation is the usual advice.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.models.situations.stage import Stage


def eager(key: jax.Array, leaf: Any) -> jax.Array:
    """One leaf: a matrix at once, what all layers have layer by layer."""
    if leaf.ndim < 3:
        return (jax.random.normal(key, leaf.shape, jnp.float32) * 0.02).astype(leaf.dtype)
    parts = [
        jax.random.normal(each, leaf.shape[1:], jnp.float32) * 0.02 for each in jax.random.split(key, leaf.shape[0])
    ]
    return jnp.stack([part.astype(leaf.dtype) for part in parts])


def play(stage: Stage) -> None:
    """Initialise leaf by leaf, then train."""
    job = stage.job()
    abstract = job.trainer.abstract["trained"]
    leaves, tree = jax.tree.flatten(abstract)
    keys = jax.random.split(jax.random.key(stage.seed), len(leaves))
    made = []
    for key, leaf in zip(keys, leaves, strict=True):
        made.append(jax.block_until_ready(eager(key, leaf)))
    trained = jax.tree.unflatten(tree, made)
    del made
    job.state = {"trained": trained, "moments": job.trainer.optimizer.init(trained), "frozen": {}}
    del trained
    for _ in range(2):
        stage.train(job)
