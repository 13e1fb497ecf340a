"""Fills a budget of device memory with 30 arrays, frees every other one, and asks for one array of four fifths of what
was freed. A plain allocator has the bytes, but in holes; gmlake_jax stitches the holes together.

    gmlake run examples/fill_the_holes.py            # fits
    gmlake run --stock examples/fill_the_holes.py    # JAX's own allocator: out of memory

Exit code: 0 if the large array fits and every byte is right, 3 if memory ran out, 1 if a byte is wrong.
"""

import argparse
import ctypes
import json
import os
import sys

import numpy as np

import gmlake_jax
from gmlake_jax.sizes import format_bytes, parse_bytes
from gmlake_jax.summary import current_stats

ARRAYS = 30
PIECES = 32  # the budget is this many arrays: two of them stay free from the start
LARGE = 12  # the large array, in arrays; 15 are freed


def device_total() -> int:
    """Memory of device 0, asked of the driver: JAX must be given its limit before it starts."""
    driver = ctypes.CDLL("libcuda.so.1")
    total, device = ctypes.c_size_t(), ctypes.c_int()
    errors = (driver.cuInit(0), driver.cuDeviceGet(ctypes.byref(device), 0))
    if any(errors) or driver.cuDeviceTotalMem_v2(ctypes.byref(total), device):
        sys.exit("no CUDA device; without a GPU: gmlake run --emulate examples/fill_the_holes.py")
    return total.value


def set_budget(budget: int, total: int) -> None:
    """The same limit for gmlake_jax and for JAX's own allocator."""
    os.environ["XLA_CLIENT_MEM_FRACTION"] = f"{budget / total:.6f}"
    if os.environ.get("GMLAKE"):
        os.environ["GMLAKE_LIMIT"] = str(budget)


def filled(value: int, size: int) -> np.ndarray:
    return np.full(size // 4, value, np.int32)


def put(value: int, size: int):
    """A device array of `size` bytes, all of them known. (A plain copy: it is true on an emulated device too.)"""
    import jax

    return jax.device_put(filled(value, size)).block_until_ready()


def fill(size: int) -> tuple[dict, bool]:
    """Live arrays by value, and whether the large one is among them."""
    arrays = {value: put(value, size) for value in range(ARRAYS)}
    for value in range(0, ARRAYS, 2):
        arrays.pop(value).delete()
    print(f"  {ARRAYS // 2} of {ARRAYS} arrays of {format_bytes(size)} freed, every other one")
    try:
        arrays[ARRAYS] = put(ARRAYS, LARGE * size)
    except Exception as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        print(f"  an array of {format_bytes(LARGE * size)}: {str(error).splitlines()[0]}")
        return arrays, False
    print(f"  an array of {format_bytes(LARGE * size)}: fits")
    return arrays, True


def intact(arrays: dict) -> bool:
    return all((np.asarray(array) == value).all() for value, array in arrays.items())


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", help="device memory to use (default: 8GiB, at most half of the device)")
    parser.add_argument("--json", metavar="FILE", help="write the outcome there")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    total = device_total()
    budget = parse_bytes(arguments.budget) if arguments.budget else min(parse_bytes("8GiB"), total // 2)
    set_budget(budget, total)
    print(f"  a budget of {format_bytes(budget)}, of {format_bytes(total)}")
    arrays, fits = fill(budget // PIECES // 4096 * 4096)
    correct = intact(arrays)
    print(f"  every byte {'is right' if correct else 'IS NOT RIGHT'}")
    print(f"  allocator: {'gmlake_jax' if gmlake_jax.is_active() else 'of JAX'} ({gmlake_jax.state()})")
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(
                {"fits": fits, "correct": correct, "active": gmlake_jax.is_active(), "memory": current_stats()}, file
            )
    return 0 if fits and correct else 3 if correct else 1


if __name__ == "__main__":
    sys.exit(main())
