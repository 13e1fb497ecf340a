"""A slab of two thirds of the device in every step, beside a process whose own use goes up and down (marin#8508).

Not a matter of holes, but of who keeps what: an allocator that gives the slab back after each step may not get it
again.
Played on the whole device, without a limit.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.models import measures
from benchmarks.models.situations.stage import Stage

CHILD = Path(__file__).resolve().parents[1] / "child.py"
SLAB, RESIDENTS, BASE, JITTER = 0.64, 0.05, 0.15, 0.02  # shares of the device
WARM_UP, STEPS, TINY_STEPS = 10, 300, 20


def start_neighbour(spec: dict[str, Any]) -> subprocess.Popen[str]:
    """The other process, once it holds its base."""
    command = [sys.executable, str(CHILD), json.dumps({"role": "neighbour", **spec})]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    if process.stdout.readline().strip() != "ready":
        process.kill()
        raise RuntimeError("out of memory: the device is too full for the neighbour")
    return process


def play(stage: Stage) -> dict[str, Any]:
    """All steps beside the neighbour; driver calls, milliseconds."""
    total = stage.watch.device.total()
    sizes = {"base": int(total * BASE), "jitter": int(total * JITTER)}
    process = start_neighbour(sizes | {"emulate": stage.emulate})
    try:
        return step(stage, total)
    finally:
        process.kill()


def step(stage: Stage, total: int) -> dict[str, Any]:
    """All steps: a slab each, with a value that is looked at. The first failure ends it."""
    residents = [stage.make(RESIDENTS * total / stage.unit / 8) for _ in range(8)]
    calls, times, wrong = 0, [], 0
    for number in range(WARM_UP + (TINY_STEPS if stage.tiny else STEPS)):
        calls = measures.memory_calls() if number == WARM_UP else calls
        start = time.perf_counter()
        slab = stage.make(SLAB * total / stage.unit, float(number))
        wrong += float(slab[-1, -1]) != number
        del slab
        times.append(1e3 * (time.perf_counter() - start))
    del residents
    made, times = measures.memory_calls() - calls, sorted(times[WARM_UP:])
    p99 = times[int(0.99 * len(times))]
    return {"driver_calls": made, "wrong": wrong, "ms_p50": statistics.median(times), "ms_p99": p99}
