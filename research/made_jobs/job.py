"""The words of a made job: take memory, free it, compute for a while. Kept as the events of a trace.

A job's clock is made up: an operation takes as long as a device of 400 TFLOP/s and 3 TB/s would need for it. What a
trace is made of is told in tests/traces/README.md.
"""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np

KIB, MIB, GIB = 2**10, 2**20, 2**30

FLOPS_PER_US = 4e8
BYTES_PER_US = 3e6
LAUNCH_US = 20.0
TAKE_US, FREE_US = 0.5, 0.3

TAKEN, FREED = 0, 1


class Job:
    """What one program asks for, in order. `random` is its only source of chance: a seed makes the same job again."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.now_us = 0.0
        self.events: list[tuple[int, int, int, int, int]] = []
        self._live: dict[int, tuple[int, int]] = {}
        self._taken = 0

    # --- memory

    def take(self, size: float, stream: int = 0) -> int:
        """Takes at least a byte; returns the name by which it is freed."""
        name = self._taken
        self._taken += 1
        self._live[name] = (max(1, int(size)), stream)
        self._note(TAKEN, name)
        self.now_us += TAKE_US
        return name

    def take_all(self, sizes: list[int]) -> list[int]:
        return [self.take(size) for size in sizes]

    def free(self, *names: int) -> None:
        for name in names:
            self._note(FREED, name)
            del self._live[name]
            self.now_us += FREE_US

    def size(self, name: int) -> int:
        return self._live[name][0]

    def _note(self, what: int, name: int) -> None:
        self.events.append((what, name, *self._live[name], int(self.now_us)))

    # --- time

    def wait(self, us: float) -> None:
        self.now_us += us

    def compute(self, flops: float = 0.0, moved: float = 0.0) -> None:
        """A kernel of so many operations, that moves so many bytes."""
        self.wait(max(LAUNCH_US, flops / FLOPS_PER_US, moved / BYTES_PER_US))

    def temporary(self, size: float, flops: float = 0.0, moved: float = 0.0) -> None:
        """Memory for the time of one kernel."""
        name = self.take(size)
        self.compute(flops, moved)
        self.free(name)

    def unwind(self, saved: list[int], flops_per_byte: float) -> None:
        """A backward pass: a gradient the size of what was saved, last one first, which is then free."""
        while saved:
            name = saved.pop()
            self.temporary(self.size(name), flops=self.size(name) * flops_per_byte)
            self.free(name)

    # --- chance

    def length(self, most: int, least: int = 64) -> int:
        """The length of a text: lognormal, its median 0.45 of the most."""
        drawn = math.exp(self.random.gauss(math.log(most * 0.45), 0.6))
        return int(min(most, max(least, drawn)))

    def spread(self, low: float, high: float) -> int:
        """A size between two powers of two, each octave as likely."""
        return int(2 ** self.random.uniform(low, high))

    # --- the trace

    def arrays(self) -> dict[str, Any]:
        what, name, size, stream, time_us = np.array(self.events, np.int64).T
        return {
            "op": what.astype(np.int8),
            "id": name.astype(np.int32),
            "size": size,
            "stream": stream.astype(np.int8),
            "time_us": time_us,
        }

    def save(self, path: Path) -> None:
        meta = np.frombuffer(json.dumps({"scenario": path.stem}).encode(), np.uint8)
        np.savez_compressed(path, meta=meta, **self.arrays())
