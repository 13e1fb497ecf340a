"""What does recording every request and free add to a training step?

Trains a small network; blocks of steps run with recording off and on in turn, so that whatever else the machine does
hits both alike. Prints one JSON object: median step times, their ratio, and how many events a step has. The bar is 1 %.
Needs `GMLAKE=1`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import gmlake_jax


def loss(parameters: list[jax.Array], x: jax.Array) -> jax.Array:
    """Mean square of a deep network's output."""
    for w in parameters:
        x = jnp.tanh(x @ w)
    return jnp.mean(x**2)


@jax.jit
def gradients_of(parameters: list[jax.Array], x: jax.Array) -> list[jax.Array]:
    """Gradients alone, so that each step hands many arrays from one program to the next."""
    return jax.grad(loss)(parameters, x)


@jax.jit
def update(parameters: list[jax.Array], gradients: list[jax.Array]) -> list[jax.Array]:
    """One step of gradient descent."""
    return [w - 0.01 * g for w, g in zip(parameters, gradients, strict=True)]


def run_block(parameters: list[jax.Array], x: jax.Array, steps: int) -> tuple[list[jax.Array], float]:
    """Seconds a step, over `steps` steps."""
    begin = time.perf_counter()
    for _ in range(steps):
        parameters = update(parameters, gradients_of(parameters, x))
    jax.block_until_ready(parameters)
    return parameters, (time.perf_counter() - begin) / steps


def measure(parameters: list[jax.Array], x: jax.Array, blocks: int, steps: int) -> dict[str, Any]:
    """Alternates off, on, on, off, … and compares."""
    times: dict[bool, list[float]] = {False: [], True: []}
    events = 0
    for block in range(blocks):
        for on in (False, True) if block % 2 == 0 else (True, False):
            recorder = gmlake_jax.record() if on else None
            parameters, seconds = run_block(parameters, x, steps)
            times[on].append(seconds)
            if recorder is not None:
                events = len(recorder.stop().events)
    off, on_ = statistics.median(times[False]), statistics.median(times[True])
    pairs = [b / a for a, b in zip(times[False], times[True], strict=True)]
    return {
        "step_us_off": round(1e6 * off, 1),
        "step_us_recording": round(1e6 * on_, 1),
        "ratio_of_medians": round(on_ / off, 4),
        "median_of_ratios": round(statistics.median(pairs), 4),
        "events_per_step": round(events / steps, 1),
    }


def main() -> None:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--width", type=int, default=2048)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--blocks", type=int, default=20)
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args()
    random = np.random.default_rng(0)
    shape = (options.width, options.width)
    parameters = [jax.device_put(random.standard_normal(shape, dtype=np.float32) * 0.02) for _ in range(options.layers)]
    x = jax.device_put(random.standard_normal(shape, dtype=np.float32))
    parameters, _ = run_block(parameters, x, 20)
    result = {"active": gmlake_jax.is_active(), "width": options.width, "layers": options.layers}
    result |= measure(parameters, x, options.blocks, options.steps)
    print(json.dumps(result | {"within_bar": result["median_of_ratios"] < 1.01}))


if __name__ == "__main__":
    main()
