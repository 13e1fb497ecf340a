"""JAX and a second framework in one process take turns with most of the device, ten times.

JAX fills a share, drops it, gives it back; the other takes as much, drops it, gives it back; and again. The other is
PyTorch where it is installed, else the driver's own plain allocations. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import time
from collections.abc import Callable
from typing import Any

import device_memory as device
import jax
import jax.numpy as jnp

import gmlake_jax

PIECE = 512 * device.MIB


def jax_turn(pieces: int, turn: int) -> bool:
    """Whether JAX got all of its pieces, with the right values, and has given them back."""
    make = jax.jit(lambda value: jnp.full((PIECE // 4,), value, jnp.float32))
    arrays = [make(float(turn + i)) for i in range(pieces)]
    right = all(float(array[-1]) == turn + i for i, array in enumerate(arrays))
    del arrays
    end = time.monotonic() + 10
    while gmlake_jax.memory_stats()["bytes_in_use"] > PIECE and time.monotonic() < end:
        gc.collect()
        time.sleep(0.01)
    gmlake_jax.empty_cache()
    return right


def torch_turn(pieces: int, turn: int) -> bool:
    """The same with PyTorch's allocator."""
    import torch

    tensors = [torch.full((PIECE // 4,), float(turn + i), device="cuda") for i in range(pieces)]
    right = all(float(tensor[-1]) == turn + i for i, tensor in enumerate(tensors))
    del tensors
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    return right


def driver_turn(pieces: int, turn: int) -> bool:
    """The same with plain allocations."""
    pointers = [device.allocate(PIECE) for _ in range(pieces)]
    for pointer in pointers:
        if pointer is not None:
            device.free(pointer)
    return None not in pointers


def play(turns: int, share: float, other: Callable[[int, int], bool]) -> dict[str, Any]:
    """All turns; what failed, and what NVML shows between them."""
    pieces = int(device.total() * share) // PIECE
    done, used, problems = 0, [], []
    start = time.perf_counter()
    for turn in range(turns):
        for take in (jax_turn, other):
            try:
                done += take(pieces, turn)
            except Exception as error:
                problems.append(f"{take.__name__} {turn}: {str(error)[:200]}")
            used.append(device.nvml_used())
    figures = {"turns": 2 * turns, "turns_right": done, "problems": problems, "bytes_per_turn": pieces * PIECE}
    return figures | {"nvml_between_max": max(used), "seconds": round(time.perf_counter() - start, 2)}


def main() -> None:
    """Parses, runs, prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--share", type=float, default=0.7, help="of the device, for each in turn")
    options = parser.parse_args()
    has_torch = importlib.util.find_spec("torch") is not None
    figures = play(options.turns, options.share, torch_turn if has_torch else driver_turn)
    figures |= {"other": "torch" if has_torch else "driver", "ok": figures["turns_right"] == figures["turns"]}
    print(json.dumps({"benchmark": "take_turns"} | figures))


if __name__ == "__main__":
    main()
