"""JAX and PyTorch in one process, in turns, each with most of the device.

JAX works, drops its arrays and gives the memory back with `empty_cache()`; PyTorch finds it free, works, and gives it
back too; JAX grows again. A JAX array that is alive all the time keeps its value. Without a second framework the
example says what the device shows and stops there.

    gmlake run examples/share_with_torch.py
"""

import argparse
import gc
import importlib.util
import sys
import time

import jax
import numpy as np

import gmlake_jax
from gmlake_jax.sizes import format_bytes, parse_bytes


def held() -> str:
    return format_bytes(gmlake_jax.memory_stats()["bytes_reserved"])


def usual_size() -> int:
    return min(4 << 30, gmlake_jax.memory_stats()["bytes_limit"] * 6 // 10) >> 24 << 24


def jax_works(size: int, pieces: int) -> None:
    """Fills `size` bytes with arrays, and drops them."""
    arrays = [jax.device_put(np.full(size // pieces, i, np.uint8)) for i in range(pieces)]
    assert all(int(np.asarray(array)[-1]) == i for i, array in enumerate(arrays))
    print(f"  JAX works, and holds {held()}")


def give_back(live: int) -> None:
    """Waits until XLA has dropped what nobody refers to, which it does on its own thread, and empties the cache."""
    end = time.monotonic() + 10
    while gmlake_jax.memory_stats()["bytes_in_use"] > live and time.monotonic() < end:
        gc.collect()
        time.sleep(0.01)
    print(f"  JAX gives back {format_bytes(gmlake_jax.empty_cache())}, and holds {held()}")


def torch_works(size: int) -> None:
    import torch

    tensor = torch.full((size,), 7, dtype=torch.uint8, device="cuda")
    assert int(tensor[-1]) == 7
    print(f"  PyTorch works with {format_bytes(size)}")
    del tensor
    torch.cuda.empty_cache()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", help="what each takes in its turn (4GiB, or 60 %% of the limit where that is less)")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    kept = jax.device_put(np.arange(1 << 20, dtype=np.int32)).block_until_ready()
    if not gmlake_jax.is_active():
        sys.exit(f"this needs gmlake_jax: {gmlake_jax.state()}; run it with `gmlake run`")
    live = gmlake_jax.memory_stats()["bytes_in_use"]
    size = parse_bytes(options.size) if options.size else usual_size()
    for round_number in range(options.rounds):
        print(f"round {round_number + 1}")
        jax_works(size, pieces=8)
        give_back(live)
        if importlib.util.find_spec("torch") is None:
            print("  PyTorch is not installed; the memory is there for whoever wants it")
            continue
        torch_works(size)
    unchanged = bool((np.asarray(kept) == np.arange(1 << 20)).all())
    print(f"the array that was alive all the time {'has its value' if unchanged else 'HAS CHANGED'}")
    return 0 if unchanged else 1


if __name__ == "__main__":
    sys.exit(main())
