"""Two phases on one GPU that do not fit together: a rollout engine in JAX with a large cache, and a trainer beside it.

The engine holds weights and a cache for tokens. The trainer is somebody else on the same device (another framework,
another process), played here by plain allocations of the driver. For as long as it trains, the engine sleeps: its
weights go to the host, the cache, which is disposable, is dropped. Then the engine wakes, under the same addresses,
with the same programs.

    gmlake run examples/rollout_and_train.py             # fits
    gmlake run examples/rollout_and_train.py --no-sleep  # does not

Exit code: 0 if all rounds fit and every sample of the weights is right, 3 if memory ran out, 1 if a byte is wrong.
"""

import argparse
import ctypes
import sys

import jax
import numpy as np

import gmlake_jax
from gmlake_jax.sizes import format_bytes

WEIGHTS, CACHE, TRAINER = 0.2, 0.45, 0.6  # shares of the device: the cache and the trainer do not fit together
LAYERS = 4
SAMPLES, SAMPLE = 64, 1 << 16  # of each weight: so many pieces of so many bytes, first and last included


def put(size: int, value: int) -> jax.Array:
    return jax.device_put(np.full(size, value, np.uint8)).block_until_ready()


def read(array: jax.Array, offset: int) -> np.ndarray:
    """A piece of an array, straight from its address, as a captured graph would find it."""
    piece = np.empty(min(SAMPLE, array.nbytes), np.uint8)
    source = ctypes.c_uint64(array.unsafe_buffer_pointer() + offset)
    target = ctypes.c_void_p(piece.ctypes.data)
    if ctypes.CDLL("libcuda.so.1").cuMemcpyDtoH_v2(target, source, ctypes.c_size_t(piece.nbytes)):
        sys.exit(f"the driver cannot read {piece.nbytes} bytes of an array")
    return piece


def holds(array: jax.Array, value: int) -> bool:
    """Whether samples all over an array have the right bytes; all of it would take long on a large device."""
    offsets = np.linspace(0, max(array.nbytes - SAMPLE, 0), SAMPLES, dtype=np.int64)
    return all((read(array, int(offset)) == value).all() for offset in offsets)


class Engine:
    """The rollout: weights that must be kept, a cache that need not."""

    def __init__(self, total: int):
        self.weights = [put(int(total * WEIGHTS) // LAYERS, layer + 1) for layer in range(LAYERS)]
        caches = [put(int(total * CACHE) // LAYERS, 0) for _ in range(LAYERS)]
        self.caches = gmlake_jax.tag("kv_cache", caches, disposable=True)
        self.shift = jax.jit(lambda cache: cache + 1, donate_argnums=0)

    def roll_out(self) -> None:
        """Works on the cache in place; its address, and so its tag, stays the same."""
        self.caches = [self.shift(cache) for cache in self.caches]
        jax.block_until_ready(self.caches)

    def is_right(self) -> bool:
        return all(holds(weight, layer) for layer, weight in enumerate(self.weights, start=1))


def device_total() -> int:
    total, device = ctypes.c_size_t(), ctypes.c_int(0)
    if ctypes.CDLL("libcuda.so.1").cuDeviceTotalMem_v2(ctypes.byref(total), device):
        sys.exit("no CUDA device; without a GPU: gmlake run --emulate examples/rollout_and_train.py")
    return total.value


def train(size: int) -> bool:
    """Takes `size` bytes of the device and gives them back; whether there was room."""
    driver, pointer = ctypes.CDLL("libcuda.so.1"), ctypes.c_uint64()
    if driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size)):
        print(f"  training: no room for {format_bytes(size)}")
        return False
    print(f"  training: {format_bytes(size)} while the engine sleeps")
    driver.cuMemFree_v2(pointer)
    return True


def play_round(engine: Engine, size: int, sleeps: bool) -> bool:
    """A rollout and a training; whether both fitted."""
    engine.roll_out()
    print(f"  rollout: the engine holds {format_bytes(gmlake_jax.memory_stats()['bytes_reserved'])}")
    if not sleeps:
        return train(size)
    with gmlake_jax.asleep(tags=["kv_cache"]) as report:
        print(f"  asleep: {report}")
        return train(size)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-sleep", action="store_true", help="leave the engine awake while the trainer works")
    options = parser.parse_args()
    jax.block_until_ready(jax.device_put(0.0))
    if not gmlake_jax.is_active():
        sys.exit(f"this needs gmlake_jax: {gmlake_jax.state()}; run it with `gmlake run`")
    total = device_total()
    engine = Engine(total)
    for number in range(options.rounds):
        print(f"round {number + 1}")
        if not play_round(engine, int(total * TRAINER), not options.no_sleep):
            return 3
    right = engine.is_right()
    print(f"every weight {'is right' if right else 'IS NOT RIGHT'}")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
