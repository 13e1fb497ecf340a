"""What a situation is played on: arrays, a medium model, and requests that are looked at before they are made.

`request` is the critical point: it waits for all earlier work, logs how much is free and how large the largest hole is
under the allocator that serves, and then makes the request and awaits it. A situation is valid where total free >=
request > largest hole: then the bytes were there, and what lacked was one piece of them.

How the largest hole is found: ours says it; for JAX's default allocator, holes.py does. The driver's pool and `vmm`
have no such notion, and no verdict.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.models import measures
from benchmarks.models.configurations import Configuration
from benchmarks.models.holes import Span, critical, largest_gap
from benchmarks.models.strategies import STRATEGIES
from benchmarks.models.workload import Job

ROW = 1024  # of elements: a flat array of this size cannot be indexed with 32 bits

MEDIUM = Configuration(
    "medium", 0.87e9, 16, 2048, 16, 8192, 32000, positions="rotary", norm="rms", lengths=(512, 1024), batch={"N": 4}
)
SMALL = Configuration(
    "small", 12.6e6, 4, 512, 8, 2048, 512, positions="rotary", norm="rms", lengths=(128, 256), batch={"N": 4}
)


def live_spans() -> list[Span]:
    """Address and size of every live array on the device."""
    arrays = [array for array in jax.live_arrays() if array.sharding.memory_kind in (None, "device")]
    return [(array.unsafe_buffer_pointer(), array.nbytes) for array in arrays if array.nbytes]


def free_and_hole(served: str, base: int) -> tuple[int | None, int | None]:
    """Total free bytes and the largest hole, under the allocator that serves; `base` is where its memory begins."""
    if served == "gmlake":
        import gmlake_jax

        own = gmlake_jax.memory_stats()
        growth = own["bytes_limit"] - own["bytes_reserved"]
        return own["bytes_limit"] - own["bytes_in_use"], max(own["largest_free_block"], growth)
    if served == "bfc_preallocated":
        seen = measures.stats() or {}
        limit, free = seen["bytes_limit"], seen["bytes_limit"] - seen["bytes_in_use"]
        return free, min(free, largest_gap(live_spans(), base, limit))
    return None, None


class Stage:
    """The device of one situation. `unit` is the size that a situation measures its arrays in."""

    def __init__(self, spec: dict[str, Any], watch: measures.Watch) -> None:
        self.tiny, self.watch, self.emulate = spec["model"] == "tiny", watch, spec.get("emulate")
        self.unit = (96 << 20) if self.tiny else (1 << 30)
        self.seed = spec["seed"]
        self.requests: list[dict[str, Any]] = []
        self._make = jax.jit(lambda rows, value: jnp.full((rows, ROW), value, jnp.float32), static_argnums=0)

    def bytes(self, units: float) -> int:
        """A size in bytes, in whole rows of an array."""
        return max(1, int(self.unit * units) // (4 * ROW)) * 4 * ROW

    def make(self, units: float, value: float = 0.0) -> jax.Array:
        """An array of that size, there when this returns."""
        return jax.block_until_ready(self._make(self.bytes(units) // (4 * ROW), value))

    def slab(self, units: float) -> jax.Array:
        """One large array, as a critical request."""
        return self.request(self.bytes(units), lambda: self.make(units))

    def job(self) -> Job:
        """The medium model, to be trained without recomputation."""
        c = SMALL if self.tiny else MEDIUM
        return Job(c, STRATEGIES["N"], True, 4, self.seed)

    def train(self, job: Job) -> float:
        """One training step as a critical request: that of its temporary memory, which XLA asks for as one slab."""
        tokens = job.batch_of(max(job.c.lengths))
        state = job.state
        arguments = (state["trained"], state["moments"], state["frozen"], tokens)
        program = job.trainer.step.lower(*arguments).compile()
        need = program.memory_analysis().temp_size_in_bytes
        trained, moments, loss = self.request(need, lambda: program(*arguments))
        job.state = {**state, "trained": trained, "moments": moments}
        return float(loss)

    def request(self, size: int, make: Callable[[], Any]) -> Any:
        """Logs what is free, then makes the request and awaits it."""
        gc.collect()
        jax.block_until_ready([array for array in jax.live_arrays() if not array.is_deleted()])
        self.requests.append(critical(size, *free_and_hole(self.watch.served, self.watch.base)))
        return jax.block_until_ready(make())

    def critical(self, failed: bool) -> dict[str, Any] | None:
        """The request that failed; else the first valid one, else the largest."""
        if not self.requests or failed:
            return self.requests[-1] if self.requests else None
        valid = [each for each in self.requests if each["valid"]]
        return (valid or sorted(self.requests, key=lambda each: -each["request"]))[0]
