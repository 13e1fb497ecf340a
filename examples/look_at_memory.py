"""Record what happens to device memory, with names for who asks for it, and save it for `gmlake plot` and `report`.

gmlake run --emulate examples/look_at_memory.py recording.npz     # without a GPU
gmlake report recording.npz -o recording.html
"""

import sys

import jax.numpy as jnp

import gmlake_jax

MIB = 1 << 20


def array(name, mebibytes):
    with gmlake_jax.annotate(name):
        return jnp.zeros((mebibytes * MIB // 4,), jnp.float32).block_until_ready()


def work():
    weights = [array("weights", 24) for _ in range(4)]
    cache = [array("cache", 48) for _ in range(8)]
    cache = cache[::2]  # holes of 48 MiB are left behind
    sequence = array("long sequence", 160)  # and this lies in them
    for step in range(6):
        gmlake_jax.mark("step")
        activations = [array("activations", 12 + 4 * step) for _ in range(3)]
        cache.append(array("cache", 8))
        del activations
    return weights, cache, sequence


def main():
    jnp.zeros(()).block_until_ready()  # the device must exist before it can be recorded
    with gmlake_jax.record() as recorder:
        kept = work()
    recorder.save(sys.argv[1], force=True)
    print(f"Wrote {sys.argv[1]}")
    return kept


if __name__ == "__main__":
    main()
