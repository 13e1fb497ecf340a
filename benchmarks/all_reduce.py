"""A sharded jit with an all-reduce over all GPUs: the checksum must be every allocator's, and the time is compared.

Buffers that collectives read come from default device memory here, so this fails or hangs where a mapping lacks the
peers' access. Resharding by `device_put` is timed apart: it takes forty times as long as the step and hides it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec


def main() -> None:
    """Runs the steps, checks the sum on the host, prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--width", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args()
    mesh = Mesh(np.array(jax.devices()), ("x",))
    rows, whole = NamedSharding(mesh, PartitionSpec("x")), NamedSharding(mesh, PartitionSpec())

    @jax.jit
    def step(x: jax.Array, w: jax.Array) -> tuple[jax.Array, jax.Array]:
        y = jnp.tanh(x @ w)
        gradient = jax.lax.with_sharding_constraint(x.T @ y, whole)
        return y, w - 1e-4 * gradient / x.shape[0]

    n = options.width
    host = np.random.default_rng(0).standard_normal((n, n), dtype=np.float32) * 0.02
    x, w = jax.device_put(host, rows), jax.device_put(host.T.copy(), whole)
    step_ms, reshard_ms = [], []
    for _ in range(options.steps):
        start = time.perf_counter()
        y, w = jax.block_until_ready(step(x, w))
        stepped = time.perf_counter()
        resharded = jax.block_until_ready(jax.device_put(y, NamedSharding(mesh, PartitionSpec(None, "x"))))
        step_ms.append((stepped - start) * 1e3)
        reshard_ms.append((time.perf_counter() - stepped) * 1e3)
    same = bool(np.array_equal(np.asarray(resharded), np.asarray(y)))
    checksum = float(np.asarray(w, dtype=np.float64).sum())
    print(
        json.dumps(
            {
                "devices": len(jax.devices()),
                "checksum": checksum,
                "reshard_equal": same,
                "step_ms": round(statistics.median(step_ms[options.steps // 5 :]), 3),
                "reshard_ms": round(statistics.median(reshard_ms[options.steps // 5 :]), 3),
            }
        )
    )


if __name__ == "__main__":
    main()
