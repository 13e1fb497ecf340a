"""What the first run of a program waits for whose temporary memory must be stitched of holes.

Arrays fill a part of the device and every other one goes; a program is compiled that needs most of the holes at once,
and run. With `GMLAKE_STITCH_AHEAD=0` its first run makes the mappings, otherwise they are made when it is compiled.
Prints the time of the first and of the next runs in milliseconds, and what the driver was asked for in the first.
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

MIB = 1 << 20
ROWS, INNER = 1024, 16


def holes(count: int, mebibytes: int) -> list[jax.Array]:
    """Arrays with as many holes between them."""
    arrays = [jnp.zeros(mebibytes * MIB, jnp.uint8) for _ in range(2 * count)]
    jax.block_until_ready(arrays)
    for array in arrays[::2]:
        array.delete()
    return arrays[1::2]


def product_of_products(x: jax.Array, y: jax.Array, z: jax.Array) -> jax.Array:
    """(x y) z; x y, and perhaps a copy of it, is what the temporary memory is for."""
    return (x @ y) @ z


def timed(run: Any, *arguments: jax.Array) -> tuple[float, jax.Array]:
    """Milliseconds of one run, until its result is there, and the result."""
    start = time.perf_counter()
    result = run(*arguments).block_until_ready()
    return (time.perf_counter() - start) * 1e3, result


def main() -> None:
    """Makes the holes, compiles, runs, and prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--holes", type=int, default=128)
    parser.add_argument("--hole-mib", type=int, default=64)
    parser.add_argument("--pause", type=float, default=0, help="seconds between compiling and the first run")
    options = parser.parse_args()
    columns = options.holes * options.hole_mib * MIB * 9 // 20 // (4 * ROWS)
    x, y, z = (jnp.ones(shape, jnp.float32) for shape in ((ROWS, INNER), (INNER, columns), (columns, 8)))
    kept = holes(options.holes, options.hole_mib)
    compiled = jax.jit(product_of_products).lower(x, y, z).compile()
    time.sleep(options.pause)
    before = gmlake_jax.memory_stats()
    first, result = timed(compiled, x, y, z)
    after = gmlake_jax.memory_stats()
    later = [timed(compiled, x, y, z)[0] for _ in range(20)]
    calls = {name: after["driver_calls"][name] - before["driver_calls"][name] for name in ("create", "map", "time_us")}
    print(
        json.dumps(
            {
                "first_ms": round(first, 2),
                "later_ms": round(statistics.median(later), 2),
                "temporary_gib": round(compiled.memory_analysis().temp_size_in_bytes / (1 << 30), 2),
                "first_run_calls": calls,
                "prepared": after["num_prepared_ranges"],
                "prepared_used": after["num_prepared_ranges_used"],
                "kept": len(kept),
                "values_right": bool((np.asarray(result) == INNER * columns).all()),
            }
        )
    )


if __name__ == "__main__":
    main()
