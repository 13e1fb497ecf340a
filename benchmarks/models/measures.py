"""What a child process sees of memory: the device from outside (NVML), the allocator from inside, the compile cache.

`Watch` is made before the first array. It fills the device from outside where the peer follows no limit (ballast),
reads which allocator serves, and then samples the device's used memory on a thread of its own, every 20 ms, so that a
peak inside a step is seen. Sampling costs some microseconds each time, under every allocator alike.
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np

from benchmarks.models import peers

PERIOD = 0.02  # seconds
NO_CALLS = ("time_us", "record_event")  # of driver_calls: not about memory


def device_memory() -> Any:
    """benchmarks/device_memory.py, which the scripts of that folder import by its bare name."""
    sys.path.append(str(Path(__file__).resolve().parents[1]))
    import device_memory

    return device_memory


def stats() -> dict[str, Any] | None:
    """JAX's statistics of the first device; None where the allocator has none."""
    return jax.local_devices()[0].memory_stats()


def small_addresses() -> list[int]:
    """Where two small arrays lie."""
    arrays = [jax.device_put(np.zeros(1, np.float32)) for _ in range(2)]
    return [array.unsafe_buffer_pointer() for array in arrays]


def is_ours() -> bool:
    """Whether gmlake_jax serves; False where it is not installed."""
    try:
        import gmlake_jax
    except ImportError:
        return False
    return bool(gmlake_jax.is_active())


def memory_calls() -> int:
    """Driver calls about memory that ours has made; 0 under a peer."""
    if not is_ours():
        return 0
    import gmlake_jax

    calls = gmlake_jax.memory_stats()["driver_calls"]
    return sum(count for name, count in calls.items() if name not in NO_CALLS)


def cached(folder: str | None) -> int:
    """Programs in the compilation cache."""
    return sum(1 for path in Path(folder).glob("*-cache")) if folder and Path(folder).exists() else 0


class Watch:
    """Memory of one child process, from its start to its result."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.device = device_memory()
        self.start = time.monotonic()
        self.deadline = self.start + spec.get("seconds", 1e9)
        self.context = self.device.nvml_used()
        self.leave_only(spec.get("ballast"))
        small = small_addresses()
        self.base = min(small)  # what serves first begins there
        self.served = peers.identify(is_ours(), stats(), small)
        self.cache, self.programs = spec.get("cache"), cached(spec.get("cache"))
        self.most, self.after_warm_up, self.calls = 0, 0, 0
        threading.Thread(target=self.sample, daemon=True).start()

    def leave_only(self, limit: int | None) -> None:
        """Takes the device's memory but for `limit`, with plain allocations, for the rest of the process."""
        self.ballast = self.device.memory_info()[0] - limit if limit else 0
        if self.ballast > 0 and self.device.allocate(self.ballast) is None:
            raise SystemExit(f"the device has no {self.ballast} bytes to fill")

    def sample(self) -> None:
        """Looks at the device until the process ends."""
        while True:
            self.look()
            time.sleep(PERIOD)

    def look(self) -> int:
        """The device's used memory now."""
        used = self.device.nvml_used()
        self.most = max(self.most, used)
        return used

    def warmed_up(self) -> None:
        """From here on, steps are measured."""
        self.after_warm_up, self.calls = self.look(), memory_calls()

    def driver_calls(self, steps: int) -> dict[str, Any]:
        """Driver calls about memory a step since the warm-up; None under a peer, whose calls nobody counts."""
        made = (memory_calls() - self.calls) / max(1, steps) if is_ours() else None
        return {"driver_calls_per_step": made}

    def figures(self) -> dict[str, Any]:
        """The memory columns of a result. Ballast is not counted as taken."""
        self.look()
        seen = stats() or {}
        live, pool = seen.get("peak_bytes_in_use"), seen.get("peak_pool_bytes")
        reserved = pool if pool is not None else self.most - self.context - self.ballast
        return {
            "served": self.served,
            "device_bytes": self.device.total(),
            "nvml_context_bytes": self.context,
            "nvml_max_bytes": self.most - self.ballast,
            "nvml_warm_bytes": max(0, self.after_warm_up - self.ballast),
            "ballast_bytes": self.ballast,
            "bytes_limit": seen.get("bytes_limit"),
            "peak_live_bytes": live,
            "peak_reserved_bytes": reserved,
            "reserved_from": "allocator" if pool is not None else "nvml",
            "utilisation": round(live / reserved, 4) if live and reserved else None,
            "compiled_anew": cached(self.cache) - self.programs,
            "child_s": round(time.monotonic() - self.start, 1),
        }
