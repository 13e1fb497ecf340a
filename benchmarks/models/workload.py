"""The training job of a cell: steps of several lengths; evaluation, sampling and reads of parameters in between.

A `Job` first runs every program once (warm-up), then the events of a plan that a seed decides, and measures each
training step from its dispatch to its loss. The same seed gives the same events and the same tokens under every
allocator. `programs` lists what it will run, by shapes, so that the compilation cache can be filled beforehand.
"""

from __future__ import annotations

import hashlib
import random
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.models.configurations import Configuration
from benchmarks.models.model import Transformer, initial
from benchmarks.models.strategies import State, Strategy, Trainer, placed

SAMPLED_TOKENS = 8
EVERY = {"evaluate": 8, "read": 10, "sample": 12}  # training steps


@dataclass(frozen=True)
class Event:
    """One thing that the job does."""

    kind: str  # train, evaluate, sample, read
    length: int


def plan(lengths: tuple[int, ...], steps: int, seed: int) -> list[Event]:
    """The events of `steps` training steps."""
    generator = random.Random(seed)
    events = []
    for step in range(1, steps + 1):
        events.append(Event("train", generator.choice(lengths)))
        events += [Event(kind, max(lengths)) for kind, every in EVERY.items() if step % every == 0]
    return events


class Decoder:
    """Greedy decoding with a cache of keys and values that has room for `length` tokens."""

    def __init__(self, trainer: Trainer, scanned: bool, batch: int, length: int) -> None:
        self.batch = batch
        self.model = Transformer(trainer.c, scanned, rank=trainer.model.rank, cached=length)
        shapes = jax.eval_shape(initial(self.model, batch), jax.random.key(0))["cache"]
        self.abstract = jax.tree.map(self.on_device, shapes)
        self.token = self.on_device(jax.ShapeDtypeStruct((batch, 1), jnp.int32))
        self.empty = jax.jit(self._empty, out_shardings=placed(self.abstract, "device"))
        self.step = jax.jit(self._decode, donate_argnums=1)

    @staticmethod
    def on_device(leaf: Any) -> jax.ShapeDtypeStruct:
        """The shape of an array that is committed to the device, as what the program returns is."""
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=placed(leaf, "device"))

    def _empty(self) -> Any:
        return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), self.abstract)

    def _decode(self, variables: Any, cache: Any, token: jax.Array, place: jax.Array) -> Any:
        scores, changed = self.model.apply({**variables, "cache": cache}, token, place, mutable=["cache"])
        return jnp.argmax(scores[:, -1:], axis=-1).astype(jnp.int32), changed["cache"]

    def run(self, variables: Any, tokens: int, cache: Any = None, first: int = 0) -> tuple[jax.Array, Any]:
        """The last token, and the cache, after `tokens` more."""
        cache = self.empty() if cache is None else cache
        token = jax.device_put(np.zeros(self.token.shape, np.int32), self.token.sharding)
        for place in range(first, first + tokens):
            token, cache = self.step(variables, cache, token, jnp.int32(place))
        return token, cache


@dataclass
class Measured:
    """What the steps took, and their losses."""

    milliseconds: list[tuple[int, float]] = field(default_factory=list)  # with the length
    losses: list[float] = field(default_factory=list)

    def figures(self, batch: int) -> dict[str, Any]:
        """The columns of a result line."""
        times = sorted(ms for _, ms in self.milliseconds)
        lengths = sorted({length for length, _ in self.milliseconds})
        by_length = {
            str(length): round(statistics.median(ms for at, ms in self.milliseconds if at == length), 3)
            for length in lengths
        }
        tokens = batch * sum(length for length, _ in self.milliseconds)
        return {
            "measured_steps": len(times),
            "step_ms_p50": round(statistics.median(times), 3),
            "step_ms_p99": round(times[min(len(times) - 1, int(0.99 * len(times)))], 3),
            "step_ms_by_length": by_length,
            "tokens_per_s": round(tokens / (sum(times) / 1e3), 1),
            "loss_first": self.losses[0],
            "loss_last": self.losses[-1],
            "losses_sha256": hashlib.sha256(np.asarray(self.losses, np.float32).tobytes()).hexdigest()[:16],
        }


class Job:
    """One model trained by one strategy."""

    def __init__(self, c: Configuration, strategy: Strategy, scanned: bool, batch: int, seed: int = 0) -> None:
        self.c, self.batch = c, batch
        self.trainer = Trainer(c, strategy, scanned)
        self.decoder = Decoder(self.trainer, scanned, batch, max(c.lengths))
        self.tokens = np.random.default_rng(seed)
        self.state: State = {}

    def programs(self) -> Iterator[tuple[Any, tuple[Any, ...]]]:
        """Each jitted function with the shapes that it will be called with."""
        state = self.abstract_state()
        variables = self.trainer.variables(state)
        yield self.trainer.init, (jax.random.key(0),)
        for length in self.c.lengths:
            tokens = jax.ShapeDtypeStruct((self.batch, length), jnp.int32)
            yield self.trainer.step, (state["trained"], state["moments"], state["frozen"], tokens)
        yield self.trainer.loss, (state["trained"], state["frozen"], tokens)
        yield self.decoder.empty, ()
        place = jax.ShapeDtypeStruct((), jnp.int32)
        yield self.decoder.step, (variables, self.decoder.abstract, self.decoder.token, place)

    def abstract_state(self) -> State:
        """The state as shapes, each in its kind of memory."""
        return jax.tree.map(
            lambda leaf, place: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=place),
            self.trainer.abstract,
            self.trainer.shardings(),
        )

    def compile(self) -> None:
        """Compiles everything without running it, into JAX's compilation cache."""
        for program, shapes in self.programs():
            program.lower(*shapes).compile()

    def start(self, seed: int = 0) -> None:
        """Makes the state on the device."""
        self.state = jax.block_until_ready(self.trainer.init(jax.random.key(seed)))

    def warm_up(self) -> None:
        """Every program once, short sequences first."""
        for length in self.c.lengths:
            self.play(Event("train", length))
        for kind in EVERY:
            self.play(Event(kind, max(self.c.lengths)))

    def play(self, event: Event) -> float | None:
        """Does one event, to its end; the loss if it has one."""
        return getattr(self, event.kind)(event.length)

    def batch_of(self, length: int) -> jax.Array:
        """Tokens, small numbers more often than large ones, so that there is something to learn."""
        drawn = self.tokens.random((self.batch, length)) ** 2 * self.c.vocabulary
        return jnp.asarray(drawn.astype(np.int32))

    def train(self, length: int) -> float:
        """One training step."""
        self.state, loss = self.trainer.train(self.state, self.batch_of(length))
        return float(loss)

    def evaluate(self, length: int) -> float:
        """The loss of one batch."""
        return float(self.trainer.evaluate(self.state, self.batch_of(length)))

    def sample(self, length: int) -> None:
        """A few tokens, one after the other."""
        jax.block_until_ready(self.decoder.run(self.trainer.variables(self.state), min(SAMPLED_TOKENS, length))[0])

    def read(self, _: int) -> None:
        """The largest and the smallest trained array to the host, as a logger does."""
        leaves = sorted(jax.tree.leaves(self.state["trained"]), key=lambda leaf: leaf.size)
        np.asarray(leaves[0]), np.asarray(leaves[-1])

    def measure(self, events: list[Event], deadline: float) -> Measured:
        """Plays the events until they end, or `time.monotonic()` passes the deadline."""
        measured = Measured()
        for event in events:
            if measured.losses and time.monotonic() > deadline:
                break
            start = time.perf_counter()
            loss = self.play(event)
            if loss is not None and event.kind == "train":
                measured.milliseconds.append((event.length, 1e3 * (time.perf_counter() - start)))
                measured.losses.append(loss)
        return measured
