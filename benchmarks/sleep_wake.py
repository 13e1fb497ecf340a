"""Sleep and wake of many gibibytes: how fast beside a plain page-locked copy, every byte compared, graphs still valid.

Fills the device with arrays of random bits, some of them stitched out of holes, captures a jitted program in a CUDA
graph, measures the link with plain copies, and then sleeps and wakes several times. After each wake every array is
compared, on the device, with the same random bits made again, and the program must give what it gave before. The first
sleep pays for page-locked host memory, unless `--prepare` has it made before: in the foreground (`wait`), which is
timed apart, or in the background while the program runs `--work` seconds (`background`). Prints one JSON object.

    GMLAKE=1 XLA_FLAGS=--xla_gpu_graph_min_graph_size=1 python benchmarks/sleep_wake.py --prepare wait
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import time
from typing import Any

import device_memory as device
import jax
import jax.numpy as jnp

import gmlake_jax

PROBE = 2 * device.GIB
PIECE = 448 * device.MIB


@jax.jit
def _differ(array: jax.Array, seed: jax.Array) -> jax.Array:
    return jnp.sum(array != jax.random.bits(jax.random.key(seed), array.shape, jnp.uint32))


def make(size: int, seed: int) -> jax.Array:
    """`size` bytes of random bits that can be made again."""
    bits = jax.jit(lambda s: jax.random.bits(jax.random.key(s), (size // 4,), jnp.uint32))
    return bits(seed).block_until_ready()


def fill(total: int) -> dict[int, jax.Array]:
    """Arrays by seed, `total` bytes in all; the last ones lie in the holes that others left."""
    arrays = {seed: make(PIECE, seed) for seed in range(total // PIECE)}
    for seed in range(0, len(arrays) // 4 * 2, 2):
        del arrays[seed]
    gc.collect()
    time.sleep(0.3)
    holes = total - sum(array.nbytes for array in arrays.values())
    large = 3 * PIECE
    return arrays | {1000 + i: make(large, 1000 + i) for i in range(holes // large)}


def count_wrong(arrays: dict[int, jax.Array]) -> int:
    """Words that are not what they were made."""
    return sum(int(_differ(array, seed)) for seed, array in arrays.items())


def copy_bandwidth() -> dict[str, float]:
    """GB/s of plain copies of 2 GiB between page-locked host memory and the device, best of five."""
    cuda, host = device.driver(), ctypes.c_void_p()
    pointer = device.allocate(PROBE)
    assert pointer is not None, "no room for the probe"
    device.check(cuda.cuMemHostAlloc(ctypes.byref(host), ctypes.c_size_t(PROBE), 0), "cuMemHostAlloc")
    there, size = ctypes.c_uint64(pointer), ctypes.c_size_t(PROBE)
    copies = {
        "to_host": lambda: cuda.cuMemcpyDtoHAsync_v2(host, there, size, None),
        "to_device": lambda: cuda.cuMemcpyHtoDAsync_v2(there, host, size, None),
    }
    found = {}
    for name, copy in copies.items():
        times = []
        for _ in range(5):
            start = time.perf_counter()
            device.check(copy(), name)
            device.check(cuda.cuStreamSynchronize(None), "cuStreamSynchronize")
            times.append(time.perf_counter() - start)
        found[name] = round(PROBE / min(times) / 1e9, 2)
    device.free(pointer)
    device.check(cuda.cuMemFreeHost(host), "cuMemFreeHost")
    return found


def describe(report: gmlake_jax.sleeping.SleepReport, link: float) -> dict[str, Any]:
    """The figures of one sleep or wake."""
    speed = report.bandwidth / 1e9
    seconds = {"seconds": round(report.total_seconds, 3), "copy_seconds": round(report.copy_seconds, 3)}
    return {
        "bytes": report.copied_bytes,
        "gb_per_s": round(speed, 2),
        "share_of_link": round(speed / link, 3),
    } | seconds


def steps_in(seconds: float) -> tuple[int, float]:
    """How many steps a program makes in so long, and the longest of them in milliseconds."""
    step = jax.jit(lambda x: jnp.tanh(x @ x))
    x = step(jnp.full((4096, 4096), 1e-4)).block_until_ready()
    end, longest, count = time.perf_counter() + seconds, 0.0, 0
    while (start := time.perf_counter()) < end:
        x = step(x).block_until_ready()
        longest, count = max(longest, time.perf_counter() - start), count + 1
    return count, round(longest * 1e3, 2)


def prepare(how: str, work_s: float) -> dict[str, Any]:
    """Page-locked memory for what is alive, before the first sleep; how long it took, and what the program did then."""
    if how == "no":
        return {}
    undisturbed = steps_in(2.0)
    start = time.perf_counter()
    gmlake_jax.prepare_sleep(wait=how == "wait")
    called = time.perf_counter() - start
    figures = {"call_seconds": round(called, 3), "gb_made": round(gmlake_jax.memory_stats()["bytes_on_host"] / 1e9, 2)}
    if how == "wait":
        return figures | {"gb_per_s": round(figures["gb_made"] / called, 2)}
    disturbed = steps_in(work_s)
    made = round(gmlake_jax.memory_stats()["bytes_on_host"] / 1e9, 2)
    steps = {"steps_per_s_before": undisturbed[0] / 2.0, "steps_per_s_meanwhile": disturbed[0] / work_s}
    return figures | steps | {"longest_step_ms": [undisturbed[1], disturbed[1]], "gb_made": made}


def play(arrays: dict[int, jax.Array], rounds: int) -> dict[str, Any]:
    """All rounds; the first pays for the page-locked memory that the others reuse, where it was not prepared."""
    program = jax.jit(lambda x, y: jnp.sin(x) @ y + jnp.cos(y))
    inputs = (jax.random.normal(jax.random.key(1), (1024, 1024)), jax.random.normal(jax.random.key(2), (1024, 1024)))
    before = [program(*inputs) for _ in range(3)][-1].block_until_ready()
    link, awake = copy_bandwidth(), device.nvml_used()
    sleeps, wakes, slept, wrong, same = [], [], [], 0, True
    for _ in range(rounds):
        jax.block_until_ready(list(arrays.values()))
        sleeps.append(describe(gmlake_jax.sleep(timeout=10), link["to_host"]))
        slept.append(device.nvml_used())
        wakes.append(describe(gmlake_jax.wake(), link["to_device"]))
        same = same and bool((program(*inputs) == before).all())
        wrong += count_wrong(arrays)
    figures = {"link": link, "sleeps": sleeps, "wakes": wakes, "wrong_words": wrong, "program_same": same}
    return figures | {"nvml_awake": awake, "nvml_asleep": max(slept)}


def main() -> None:
    """Parses, runs, prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gib", type=float, default=60)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--prepare", choices=("no", "wait", "background"), default="no")
    parser.add_argument("--work", type=float, default=30, help="seconds of work beside --prepare background")
    options = parser.parse_args()
    arrays = fill(int(options.gib * device.GIB))
    stitched = gmlake_jax.memory_stats()["ways"]["stitch"]["count"]
    jax.block_until_ready(list(arrays.values()))
    figures = {"stitched": stitched, "arrays": len(arrays), "prepare": options.prepare}
    figures |= {"prepared": prepare(options.prepare, options.work)} | play(arrays, options.rounds)
    counted = figures["sleeps"][options.prepare == "no" :] + figures["wakes"][options.prepare == "no" :]
    warm = min(entry["share_of_link"] for entry in counted)
    ok = warm >= 0.8 and figures["wrong_words"] == 0 and figures["program_same"]
    first = {"first_sleep_gb_per_s": figures["sleeps"][0]["gb_per_s"]}
    print(json.dumps({"benchmark": "sleep_wake"} | first | figures | {"share_of_link_warm": warm, "ok": ok}))


if __name__ == "__main__":
    main()
