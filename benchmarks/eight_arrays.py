"""What one call of a jitted function costs that returns eight 4 MiB arrays and two small ones.

Nearly all of such a call is allocating and freeing, so it shows the allocator's own cost per request. Prints the
median and the spread over blocks of calls, in microseconds a call.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time

import jax
import jax.numpy as jnp


def outputs(x: jax.Array) -> tuple[jax.Array, ...]:
    """Eight arrays of 4 MiB and two of 1 KiB, all different."""
    return (*(x + i for i in range(8)), x[:256] * 2, x[:256] * 3)


def main() -> None:
    """Times blocks of calls and prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=3000)
    parser.add_argument("--block", type=int, default=100, help="calls between two looks at the clock")
    options = parser.parse_args()
    call = jax.jit(outputs)
    x = jnp.arange(1 << 20, dtype=jnp.float32)
    for _ in range(options.block):
        kept = call(x)
    jax.block_until_ready(kept)
    per_call = []
    for _ in range(options.calls // options.block):
        start = time.perf_counter()
        for _ in range(options.block):
            kept = call(x)
        jax.block_until_ready(kept)
        per_call.append((time.perf_counter() - start) / options.block * 1e6)
    right = all(bool((kept[i] == x + i).all()) for i in range(8))
    print(
        json.dumps(
            {
                "us_per_call": round(statistics.median(per_call), 2),
                "us_min": round(min(per_call), 2),
                "us_max": round(max(per_call), 2),
                "calls": options.calls,
                "values_right": right,
            }
        )
    )


if __name__ == "__main__":
    main()
