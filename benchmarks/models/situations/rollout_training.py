"""Rollout and training in turns, as in reinforcement learning: caches that double as the text grows, then steps."""

from __future__ import annotations

import random
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.models.situations.stage import Stage
from benchmarks.models.workload import Decoder, Job

ROUNDS, DOUBLINGS, TOKENS = 3, 3, 4
BATCHES = (12, 16, 24)
FIRST_LENGTH, TINY_FIRST_LENGTH = 256, 16


def longer(leaf: jax.Array) -> jax.Array:
    """A cache with twice the room; its second axis from the end but two is the text."""
    return jnp.pad(leaf, [(0, leaf.shape[i] if i == leaf.ndim - 3 else 0) for i in range(leaf.ndim)])


def rollout(stage: Stage, job: Job, batch: int) -> jax.Array:
    """The last tokens of a batch; the caches are dropped."""
    double = jax.jit(longer)
    length, done = TINY_FIRST_LENGTH if stage.tiny else FIRST_LENGTH, 0
    leaves: list[jax.Array] = []
    tree: Any = None
    variables = job.trainer.variables(job.state)
    for _ in range(DOUBLINGS + 1):
        decoder = Decoder(job.trainer, True, batch, length)
        cache = jax.tree.unflatten(tree, leaves) if leaves else None
        token, cache = decoder.run(variables, TOKENS, cache, done)
        done, length = done + TOKENS, 2 * length
        leaves, tree = jax.tree.flatten(cache)
        del cache
        grow(stage, double, leaves)
    return jax.block_until_ready(token)


def grow(stage: Stage, double: Any, leaves: list[jax.Array]) -> None:
    """Every array of a cache is replaced by one with twice the room, one after the other."""
    for i, size in enumerate([2 * leaf.nbytes for leaf in leaves]):
        leaves[i] = stage.request(size, lambda i=i: double(leaves[i]))


def play(stage: Stage) -> None:
    """Rounds of rollout and training; what was rolled out is kept."""
    generator = random.Random(stage.seed)
    job = stage.job()
    job.start(stage.seed)
    kept = []
    for _ in range(ROUNDS):
        kept.append(rollout(stage, job, generator.choice(BATCHES)))
        for _ in range(2):
            stage.train(job)
