"""After empty_cache(), does NVML show no more than what is alive and what was never ours?

Fills a share of the device with arrays, deletes three of four, empties the cache, and compares NVML's used memory with
live bytes plus what was in use before the first array (context, kernels, neighbours). Prints one JSON object.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from typing import Any

import device_memory as device
import jax
import jax.numpy as jnp

import gmlake_jax

TOLERANCE = 64 * device.MIB


def settle(live: int) -> int:
    """Waits until XLA has dropped what was deleted; the live bytes."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        gc.collect()
        used: int = gmlake_jax.memory_stats()["bytes_in_use"]
        if used <= live:
            break
        time.sleep(0.01)
    return gmlake_jax.memory_stats()["bytes_in_use"]


def outside() -> int:
    """Used memory of the device that is not ours."""
    return device.nvml_used() - gmlake_jax.memory_stats()["bytes_reserved"]


def run(share: float, size: int) -> dict[str, Any]:
    """One round; the figures."""
    make = jax.jit(lambda value: jnp.full((size // 4,), value, jnp.float32))
    make(0.0).block_until_ready()
    gc.collect()
    gmlake_jax.empty_cache()
    never_ours = outside()
    arrays = [make(float(i)).block_until_ready() for i in range(int(device.total() * share) // size)]
    full = device.nvml_used()
    kept = arrays[::4]
    del arrays
    live = settle(len(kept) * size + 4 * device.MIB)
    given = gmlake_jax.empty_cache()
    used = device.nvml_used()
    right = all(float(array[0]) == float(array[-1]) == 4.0 * i for i, array in enumerate(kept))
    difference = used - live - never_ours
    figures = {"nvml_full": full, "nvml_after": used, "live": live, "never_ours": never_ours, "given": given}
    return figures | {"difference": difference, "values_right": right, "ok": right and abs(difference) <= TOLERANCE}


def main() -> None:
    """Parses, runs, prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=0.8, help="of the device, to be filled")
    parser.add_argument("--mib", type=int, default=192, help="size of one array")
    options = parser.parse_args()
    print(json.dumps({"benchmark": "give_back"} | run(options.share, options.mib * device.MIB)))


if __name__ == "__main__":
    main()
