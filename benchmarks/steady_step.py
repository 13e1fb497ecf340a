"""After warm-up, how many driver memory calls do 100 training steps make?

Runs a small two-layer network for warm-up steps, reads the allocator's counters, runs 100 more and reads them again.
Needs `GMLAKE=1`.
"""

from __future__ import annotations

import argparse
import json

import jax
import jax.numpy as jnp
import numpy as np

import gmlake_jax

CALLS = ("create", "map", "set_access", "unmap", "release", "reserve", "free_address")


def driver_calls() -> int:
    """Driver memory calls made so far for device 0."""
    calls = gmlake_jax.memory_stats()["driver_calls"]
    return sum(calls[name] for name in CALLS)


def loss(parameters: list[jax.Array], x: jax.Array) -> jax.Array:
    """Mean square of a two-layer network's output."""
    for w in parameters:
        x = jnp.tanh(x @ w)
    return jnp.mean(x**2)


@jax.jit
def step(parameters: list[jax.Array], x: jax.Array) -> tuple[list[jax.Array], jax.Array]:
    """One step of gradient descent."""
    value, gradients = jax.value_and_grad(loss)(parameters, x)
    return [w - 0.01 * g for w, g in zip(parameters, gradients, strict=True)], value


def main() -> None:
    """Prints one JSON object with the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--width", type=int, default=2048)
    parser.add_argument("--warmup", type=int, default=20)
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args()
    random = np.random.default_rng(0)
    shape = (options.width, options.width)
    parameters = [jax.device_put(random.standard_normal(shape, dtype=np.float32) * 0.02) for _ in range(4)]
    x = jax.device_put(random.standard_normal(shape, dtype=np.float32))
    history = []
    for _ in range(options.warmup):
        parameters, value = step(parameters, x)
        history.append(float(value))
    before = driver_calls()
    for _ in range(options.steps):
        parameters, value = step(parameters, x)
        history.append(float(value))
    result = {"active": gmlake_jax.is_active(), "calls_in_warmup": before}
    result |= {"calls_after_warmup": driver_calls() - before, "loss_first": history[0], "loss_last": history[-1]}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
