"""Serving: many texts at once, each with a cache that grows by half when it is full; texts end, others begin."""

from __future__ import annotations

import random

import jax
import jax.numpy as jnp

from benchmarks.models.situations.stage import ROW, Stage

EVENTS, TINY_EVENTS = 240, 80
FIRST = 0.05  # units
FULL = 8.0  # units: what all caches together may have
LONGEST = 1.2  # units: a text whose cache is as large ends


class Server:
    """The caches of the texts, each with its size in units."""

    def __init__(self, stage: Stage) -> None:
        self.stage, self.random = stage, random.Random(stage.seed)
        self.caches: list[tuple[float, jax.Array]] = []
        self.copy = jax.jit(lambda old, rows: jnp.zeros((rows, ROW)).at[: old.shape[0]].set(old), static_argnums=1)

    def units(self) -> float:
        """What all caches hold."""
        return sum(size for size, _ in self.caches)

    def make_room(self, more: float) -> None:
        """Texts end, at random, until there is room."""
        while self.caches and self.units() + more > FULL:
            self.caches.pop(self.random.randrange(len(self.caches)))

    def begin(self) -> None:
        """A new text."""
        size = FIRST * self.random.choice((1, 2, 3))
        self.make_room(size)
        self.caches.append((size, self.stage.make(size)))

    def grow(self) -> None:
        """A text's cache is copied into one half as large again."""
        size, old = self.caches.pop(self.random.randrange(len(self.caches)))
        if size > LONGEST:
            return
        self.make_room(2.5 * size)
        rows = self.stage.bytes(1.5 * size) // (4 * ROW)
        new = self.stage.request(4 * ROW * rows, lambda: self.copy(old, rows))
        self.caches.append((1.5 * size, new))


def play(stage: Stage) -> None:
    """Texts begin and grow."""
    server = Server(stage)
    for event in range(TINY_EVENTS if stage.tiny else EVENTS):
        if event % 4 == 0 or not server.caches:
            server.begin()
        else:
            server.grow()
