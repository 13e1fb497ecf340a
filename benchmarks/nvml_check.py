"""Are the statistics what NVIDIA's management library (NVML) sees?

Allocates, frees, stitches and gives memory back, and after each step compares the device's memory with NVML's: what the
device has in all, what is free, and by how much `bytes_reserved` and NVML's "used" have moved since the beginning.
Prints one JSON object a step, and exits with 1 where they differ by more than a hundredth of what moved plus 4 MiB.
Needs `GMLAKE=1` and a device that nobody else uses meanwhile.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import sys
from collections.abc import Iterator

import jax
import numpy as np

import gmlake_jax

MIB = 1 << 20
TOLERANCE = 4 * MIB


class Memory(ctypes.Structure):
    """nvmlMemory_t."""

    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


class Nvml:
    """One device, by its number in NVML (which ignores CUDA_VISIBLE_DEVICES)."""

    def __init__(self, index: int):
        self._library = ctypes.CDLL("libnvidia-ml.so.1")
        self._device = ctypes.c_void_p()
        self._call("nvmlInit_v2")
        self._call("nvmlDeviceGetHandleByIndex_v2", index, ctypes.byref(self._device))

    def _call(self, name: str, *arguments: object) -> None:
        if result := getattr(self._library, name)(*arguments):
            raise SystemExit(f"{name} failed with {result}")

    def read(self) -> Memory:
        """What NVML says now."""
        memory = Memory()
        self._call("nvmlDeviceGetMemoryInfo", self._device, ctypes.byref(memory))
        return memory


def array(megabytes: int) -> jax.Array:
    """An array of so many MiB, there when this returns."""
    return jax.device_put(np.zeros(megabytes * MIB, np.uint8)).block_until_ready()


def steps(size: int) -> Iterator[str]:
    """Does one thing after the other; yields what was done."""
    arrays = [array(size) for _ in range(32)]
    yield f"32 arrays of {size} MiB"
    for each in arrays[::2]:
        each.delete()
    yield "every other one deleted"
    stitched = array(size * 12)
    yield f"one of {size * 12} MiB"
    stitched.delete()
    for each in arrays[1::2]:
        each.delete()
    yield "all deleted"
    gmlake_jax.empty_cache()
    yield "empty_cache()"


def compare(step: str, nvml: Nvml, start: tuple[int, int]) -> bool:
    """Prints one comparison; whether the two agree."""
    stats, seen = gmlake_jax.memory_stats(), nvml.read()
    reserved, used = stats["bytes_reserved"] - start[0], seen.used - start[1]
    agree = abs(reserved - used) <= TOLERANCE + abs(used) // 100
    agree &= (
        abs(stats["bytes_device_total"] - stats["bytes_device_free"] - stats["bytes_reserved"])
        == stats["bytes_outside"]
    )
    print(
        json.dumps(
            {
                "step": step,
                "agree": agree,
                "bytes_reserved": stats["bytes_reserved"],
                "reserved_since_start": reserved,
                "nvml_used_since_start": used,
                "bytes_device_free": stats["bytes_device_free"],
                "nvml_free": seen.free,
                "bytes_outside": stats["bytes_outside"],
            }
        ),
        flush=True,
    )
    return agree


def main() -> None:
    """Compares after each step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=256, help="MiB of each array")
    parser.add_argument("--nvml-index", type=int, default=0)
    options = parser.parse_args()
    nvml = Nvml(options.nvml_index)
    array(1).delete()  # the context, and the modules that every program loads
    gmlake_jax.empty_cache()
    start = gmlake_jax.memory_stats()["bytes_reserved"], nvml.read().used
    agreed = [compare(step, nvml, start) for step in steps(options.size)]
    sys.exit(0 if all(agreed) else 1)


if __name__ == "__main__":
    main()
