"""A program near the limit: residents of eight sizes replaced at random, then one slab of half the budget, each round.

The device is filled from outside (plain driver allocations) until `--budget` GiB are left, so that every allocator
lives in the same space. Each slab is awaited, so that a failure shows where it happens; residents are checked by
value. Prints failures and milliseconds a round.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import random
import statistics
import time
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.errors import JaxRuntimeError

GIB = 1 << 30
MIB = 1 << 20
RESIDENT_MIB = (34, 66, 98, 130, 194, 258, 322, 450)
SLAB_SHARE = (0.511, 0.533, 0.551)  # of the budget
RESIDENT_SHARE = 0.409  # of the budget


def free_device_memory() -> tuple[int, int]:
    """Free and total bytes of device 0, as the driver says."""
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    assert ctypes.CDLL("libcuda.so.1").cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)) == 0
    return free.value, total.value


def retain_context() -> int:
    """Makes device 0's primary context current; returns the device's total bytes."""
    cuda = ctypes.CDLL("libcuda.so.1")
    context = ctypes.c_void_p()
    assert cuda.cuInit(0) == 0
    assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert cuda.cuCtxSetCurrent(context) == 0
    return free_device_memory()[1]


def occupy(leave: int) -> None:
    """Takes the device's memory but for `leave` bytes, for the rest of the process."""
    pointer = ctypes.c_uint64()
    size = free_device_memory()[0] - leave
    assert ctypes.CDLL("libcuda.so.1").cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size)) == 0


class Residents:
    """Arrays that live across rounds, each with the value it must still hold."""

    def __init__(self, make: Any, budget: int, seed: int) -> None:
        self.make, self.budget, self.random = make, budget, random.Random(seed)
        self.live: list[tuple[Any, float, int]] = []
        self.bytes, self.failures, self.wrong = 0, 0, 0

    def replace_one(self) -> None:
        """Frees at random until there is room, then adds one resident."""
        count = self.random.choice(RESIDENT_MIB) * MIB // 4
        while self.bytes + count * 4 > self.budget:
            _, _, old = self.live.pop(self.random.randrange(len(self.live)))
            self.bytes -= old * 4
        value = float(self.random.randrange(1000))
        try:
            self.live.append((self.make(count, value), value, count))
            self.bytes += count * 4
        except JaxRuntimeError:
            self.failures += 1

    def check(self) -> None:
        """Looks at the first, middle and last element of every resident."""
        for array, value, count in self.live:
            self.wrong += any(float(array[i]) != value for i in (0, count // 2, count - 1))


@dataclass
class Round:
    """Milliseconds of one round, by phase, and whether the slab failed."""

    residents: float
    dispatch: float
    wait: float
    failed: bool

    @property
    def total(self) -> float:
        return self.residents + self.dispatch + self.wait


def play_round(make: Any, residents: Residents, slabs: list[int]) -> Round:
    """Three residents replaced, then a slab that is made, awaited and dropped."""
    start = time.perf_counter()
    for _ in range(3):
        residents.replace_one()
    replaced = dispatched = time.perf_counter()
    failed = False
    try:
        slab = make(residents.random.choice(slabs), 1.0)
        dispatched = time.perf_counter()
        slab.block_until_ready()
    except JaxRuntimeError:
        failed = True
    end = time.perf_counter()
    return Round((replaced - start) * 1e3, (dispatched - replaced) * 1e3, (end - dispatched) * 1e3, failed)


def summarise(rounds: list[Round]) -> dict[str, Any]:
    """Medians of the phases and of the whole, and the failures."""
    totals = sorted(r.total for r in rounds)
    medians = {f"ms_{name}": [getattr(r, name) for r in rounds] for name in ("residents", "dispatch", "wait")}
    return {
        "rounds": len(rounds),
        "slab_failures": sum(r.failed for r in rounds),
        "ms_p50": round(statistics.median(totals), 2),
        "ms_p99": round(totals[int(len(totals) * 0.99)], 2),
        "total_s": round(sum(totals) / 1e3, 2),
        **{name: round(statistics.median(values), 2) for name, values in medians.items()},
    }


def run(options: argparse.Namespace) -> dict[str, Any]:
    """All rounds; the figures."""
    total = retain_context()
    budget = int(options.budget * GIB)
    os.environ.setdefault("XLA_CLIENT_MEM_FRACTION", f"{budget / total:.4f}")
    make = jax.jit(lambda n, v: jnp.full((n,), v, jnp.float32), static_argnums=0)
    slabs = [int(budget * share) // MIB * MIB // 4 for share in SLAB_SHARE]  # whole MiB: XLA fills odd counts slowly
    for mib in RESIDENT_MIB:
        make(mib * MIB // 4, 0.0).block_until_ready()
    if os.environ.get("XLA_PYTHON_CLIENT_ALLOCATOR", "gmlake" if os.environ.get("GMLAKE") else "default") != "default":
        occupy(budget + int(0.35 * GIB))
    residents = Residents(make, int(budget * RESIDENT_SHARE), options.seed)
    rounds: list[Round] = []
    deadline = time.perf_counter() + options.seconds
    while len(rounds) < options.rounds and time.perf_counter() < deadline:
        rounds.append(play_round(make, residents, slabs))
        if len(rounds) % 25 == 1:
            residents.check()
    residents.check()
    return summarise(rounds) | {"resident_failures": residents.failures, "wrong_values": residents.wrong}


def allocator_figures() -> dict[str, Any]:
    """What our allocator asked of the driver, where it is active: whether a slow round is the driver's time or not."""
    if not os.environ.get("GMLAKE"):
        return {}
    import gmlake_jax

    stats = gmlake_jax.memory_stats()
    return {name: stats[name] for name in ("driver_calls", "ways", "peak_bytes_reserved", "bytes_limit")}


def main() -> None:
    """Parses, runs, prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=float, default=22.5, help="GiB that the allocator may use")
    parser.add_argument("--rounds", type=int, default=250)
    parser.add_argument("--seconds", type=float, default=90, help="stop early after this")
    parser.add_argument("--seed", type=int, default=3)
    print(json.dumps(run(parser.parse_args()) | allocator_figures()))


if __name__ == "__main__":
    main()
