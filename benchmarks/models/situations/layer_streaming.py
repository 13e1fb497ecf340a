"""A model larger than the device: weights come from the host layer by layer, activations stay, some gradients too."""

from __future__ import annotations

import random
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.models.configurations import Configuration
from benchmarks.models.model import Block
from benchmarks.models.situations.stage import Stage

WIDE = Configuration("wide", 0, 24, 4096, 32, 16384, 1, positions="rotary", norm="rms")
NARROW = Configuration("narrow", 0, 6, 256, 4, 1024, 1, positions="rotary", norm="rms")
STEPS, BATCH = 3, 8


class Stream:
    """One layer's programs, and its weights on the host."""

    def __init__(self, stage: Stage) -> None:
        self.c = NARROW if stage.tiny else WIDE
        self.lengths = (32, 48, 64) if stage.tiny else (512, 768, 1024)
        block = Block(self.c, 0)
        self.forward = jax.jit(lambda w, x: block.apply(w, x, jnp.arange(x.shape[1]))[0])
        self.backward = jax.jit(lambda w, x, g: jax.vjp(self.forward, w, x)[1](g))
        shapes = jax.eval_shape(block.init, jax.random.key(0), self.start(8), jnp.arange(8))
        self.host = jax.tree.map(lambda leaf: np.full(leaf.shape, 0.01, leaf.dtype), shapes)

    def start(self, length: int) -> jax.Array:
        """The first activations."""
        return jnp.zeros((BATCH, length, self.c.width), jnp.bfloat16)

    def weights(self) -> Any:
        """A layer's weights on the device."""
        return jax.block_until_ready(jax.device_put(self.host))


def step(stage: Stage, stream: Stream, length: int) -> None:
    """Forwards, then backwards; every third layer's gradients are kept until the end."""
    x, kept, gradients = stream.start(length), [], []
    for _ in range(stream.c.layers):
        kept.append(x)
        x = stage.request(x.nbytes, lambda x=x: stream.forward(stream.weights(), x))
    g = jnp.ones_like(x)
    for layer in reversed(range(stream.c.layers)):
        weights, x = stream.weights(), kept.pop()
        found, g = stage.request(x.nbytes, lambda w=weights, x=x, g=g: stream.backward(w, x, g))
        gradients += [found] if layer % 3 == 0 else []
        del weights, found


def play(stage: Stage) -> None:
    """Steps of several lengths."""
    generator = random.Random(stage.seed)
    stream = Stream(stage)
    for _ in range(STEPS):
        step(stage, stream, generator.choice(stream.lengths))
