"""A slab of most of the device in every step, beside a neighbour whose own use goes up and down: who fails, who remaps?

The neighbour is another process with plain driver allocations: a base, and a part that changes every few
milliseconds. The program holds some residents, and in each step makes, checks and drops one slab. Prints one JSON
object: failures, and driver calls about memory per step after the warm-up, which should both be 0.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from typing import Any

import device_memory as device

WARM_UP = 10
ROW = 1024  # of elements: a flat array of this size cannot be indexed with 32 bits


def be_the_neighbour(base: int, jitter: int) -> None:
    """Until standard input ends: holds `base - jitter`, and up to twice `jitter` more, changing all the time."""
    generator = random.Random(5)
    held = device.allocate(base - jitter)
    print("ready" if held is not None else "full", flush=True)
    parent = os.getppid()
    while os.getppid() == parent:
        more = device.allocate(generator.randrange(1, 2 * jitter))
        time.sleep(generator.uniform(0.001, 0.02))
        if more is not None:
            device.free(more)


def start_neighbour(base: int, jitter: int) -> subprocess.Popen[str]:
    """The other process, once it holds its base."""
    command = [sys.executable, __file__, "--neighbour", str(base), str(jitter)]
    neighbour = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert neighbour.stdout is not None
    if neighbour.stdout.readline().strip() != "ready":
        raise SystemExit("the device is too full for the neighbour")
    return neighbour


def memory_calls() -> int:
    """Driver calls about memory so far."""
    import gmlake_jax

    if not gmlake_jax.is_active():
        return 0
    calls = gmlake_jax.memory_stats()["driver_calls"]
    return sum(count for name, count in calls.items() if name not in ("time_us", "record_event"))


def play(steps: int, slab: int, resident: int) -> dict[str, Any]:
    """All steps; the figures."""
    import jax
    import jax.numpy as jnp

    make = jax.jit(lambda rows, value: jnp.full((rows, ROW), value, jnp.float32), static_argnums=0)
    residents = [make(resident // 4 // ROW // 8, float(i)).block_until_ready() for i in range(8)]
    failures, wrong, times, calls = 0, 0, [], 0
    for step in range(WARM_UP + steps):
        if step == WARM_UP:
            calls = memory_calls()
        start = time.perf_counter()
        try:
            array = make(slab // 4 // ROW, float(step))
            wrong += float(array[-1, -1]) != step
            del array
        except Exception as error:
            failures += 1
            print(str(error)[:300], file=sys.stderr)
        times.append(time.perf_counter() - start)
    wrong += sum(float(array[-1, -1]) != i for i, array in enumerate(residents))
    ms = sorted(1e3 * t for t in times[WARM_UP:])
    made = memory_calls() - calls
    figures = {"steps": steps, "failures": failures, "wrong": wrong, "driver_calls_after_warm_up": made}
    return figures | {"ms_p50": round(statistics.median(ms), 3), "ms_p99": round(ms[int(0.99 * len(ms))], 3)}


def main() -> None:
    """Parses, runs, prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--slab", type=float, default=0.70, help="share of the device")
    parser.add_argument("--residents", type=float, default=0.05, help="share of the device")
    parser.add_argument("--base", type=float, default=0.15, help="share of the device that the neighbour holds")
    parser.add_argument("--jitter", type=float, default=0.02, help="share of the device by which that goes up and down")
    parser.add_argument("--neighbour", type=int, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.neighbour:
        be_the_neighbour(*options.neighbour)
        return
    total = device.total()
    neighbour = start_neighbour(int(total * options.base), int(total * options.jitter))
    try:
        slab = int(total * options.slab) // device.MIB * device.MIB
        figures = play(options.steps, slab, int(total * options.residents) // device.MIB * device.MIB)
    finally:
        neighbour.kill()
    ok = not (figures["failures"] or figures["wrong"] or figures["driver_calls_after_warm_up"])
    print(json.dumps({"benchmark": "jittering_neighbour", "slab_bytes": slab} | figures | {"ok": ok}))


if __name__ == "__main__":
    main()
