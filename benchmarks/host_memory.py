"""How fast page-locked host memory can be made, and by which way: what the first sleep of a device waits for.

Each way makes the same number of bytes in pieces of 256 MiB and holds them, so that the next way gets pages that nobody
has touched; in the end everything is given back and all ways run again, on pages that the machine has seen before.
Making the pages (`make`) and telling the driver (`lock`) are timed apart. Prints one JSON object. Needs no JAX.

    python benchmarks/host_memory.py --gib 6
    python benchmarks/host_memory.py --gib 56 --only together_write_16    # as the allocator does it
"""

from __future__ import annotations

import argparse
import ctypes
import json
import mmap
import os
import platform
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import device_memory as device

PIECE = 256 * device.MIB
MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_POPULATE_WRITE = 14, 15, 23
FLAGS = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
PORTABLE = 1

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long)
libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
libc.memset.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t)
libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)


def use_device() -> ctypes.CDLL:
    """The driver, with the context current in the calling thread."""
    cuda, context = device.driver(), ctypes.c_void_p()
    device.check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), "cuDevicePrimaryCtxRetain")
    device.check(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent")
    return cuda


def reserve(advice: int) -> int:
    """Addresses of one piece, no page behind them."""
    address = libc.mmap(None, PIECE, mmap.PROT_READ | mmap.PROT_WRITE, FLAGS, -1, 0)
    libc.madvise(address, PIECE, advice)
    return int(address)


def populate(address: int) -> None:
    """All pages at one call to the kernel."""
    if libc.madvise(address, PIECE, MADV_POPULATE_WRITE) != 0:
        raise OSError(ctypes.get_errno(), "MADV_POPULATE_WRITE")


def write(address: int) -> None:
    """All pages by writing to them."""
    libc.memset(address, 0, PIECE)


def leave(_: int) -> None:
    """No page: the driver makes them when it locks."""


def lock(address: int) -> None:
    """Page-locked from here on."""
    cuda = use_device()
    device.check(cuda.cuMemHostRegister_v2(ctypes.c_void_p(address), ctypes.c_size_t(PIECE), PORTABLE), "lock")


def in_threads(threads: int, work: Callable[[Any], Any], items: list[Any]) -> tuple[list[Any], float]:
    """Results, and GB/s of all together."""
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda _: use_device(), range(threads)))
        start = time.perf_counter()
        results = list(pool.map(work, items))
        seconds = time.perf_counter() - start
    return results, round(len(items) * PIECE / seconds / 1e9, 2)


def by_mapping(count: int, makers: int, lockers: int, make: Callable[[int], None], advice: int) -> dict[str, float]:
    """Maps, makes and locks `count` pieces with so many threads."""
    pieces = [reserve(advice) for _ in range(count)]
    held.extend(pieces)
    _, made = in_threads(makers, make, pieces)
    _, locked = in_threads(lockers, lock, pieces)
    return {"make": made, "lock": locked, "both": round(1 / (1 / made + 1 / locked), 2)}


def by_driver(count: int, threads: int) -> dict[str, float]:
    """The driver's own allocation."""

    def allocate(_: int) -> ctypes.c_void_p:
        host = ctypes.c_void_p()
        use_device()
        device.check(device.driver().cuMemHostAlloc(ctypes.byref(host), ctypes.c_size_t(PIECE), PORTABLE), "host_alloc")
        return host

    hosts, speed = in_threads(threads, allocate, list(range(count)))
    driver_held.extend(hosts)
    return {"both": speed}


def together(count: int, threads: int, make: Callable[[int], None]) -> dict[str, float]:
    """Each thread makes and locks piece after piece, as the allocator does it."""
    pieces = [reserve(MADV_HUGEPAGE) for _ in range(count)]
    held.extend(pieces)

    def one(piece: int) -> None:
        make(piece)
        lock(piece)

    return {"both": in_threads(threads, one, pieces)[1]}


held: list[int] = []
driver_held: list[ctypes.c_void_p] = []


def give_back() -> None:
    """Everything that was made."""
    cuda = use_device()
    for piece in held:
        device.check(cuda.cuMemHostUnregister(ctypes.c_void_p(piece)), "unlock")
        libc.munmap(piece, PIECE)
    for host in driver_held:
        device.check(cuda.cuMemFreeHost(host), "cuMemFreeHost")
    held.clear()
    driver_held.clear()


def ways(count: int, most: int) -> dict[str, Callable[[], dict[str, float]]]:
    """By name; the names say threads and how."""
    return {
        f"touch_{most}_lock_{most}": lambda: by_mapping(count, most, most, write, MADV_HUGEPAGE),
        f"populate_{most}_lock_{most}": lambda: by_mapping(count, most, most, populate, MADV_HUGEPAGE),
        f"populate_{most}_lock_1": lambda: by_mapping(count, most, 1, populate, MADV_HUGEPAGE),
        "populate_8_lock_4": lambda: by_mapping(count, 8, 4, populate, MADV_HUGEPAGE),
        "populate_1_lock_1": lambda: by_mapping(count, 1, 1, populate, MADV_HUGEPAGE),
        f"small_pages_{most}_lock_{most}": lambda: by_mapping(count, most, most, populate, MADV_NOHUGEPAGE),
        f"lock_alone_{most}": lambda: by_mapping(count, most, most, leave, MADV_HUGEPAGE),
        f"together_populate_{most}": lambda: together(count, most, populate),
        f"together_write_{most}": lambda: together(count, most, write),
        f"driver_{most}": lambda: by_driver(count, most),
        "driver_1": lambda: by_driver(count, 1),
    }


def machine() -> dict[str, Any]:
    """What the figures depend on."""

    def line(path: str) -> str:
        return Path(path).read_text().strip() if Path(path).exists() else ""

    pages = "/sys/kernel/mm/transparent_hugepage/"
    with Path("/proc/meminfo").open() as file:
        memory = dict(entry.split(":") for entry in file)
    shown = ("MemTotal", "MemFree", "AnonHugePages", "HugePages_Total")
    return {
        "kernel": platform.release(),
        "cores": os.cpu_count(),
        "huge": line(pages + "enabled"),
        "defrag": line(pages + "defrag"),
        "memory": {name: memory.get(name, "").strip() for name in shown},
    }


def main() -> None:
    """Parses, runs, prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gib", type=float, default=6)
    parser.add_argument("--threads", type=int, default=min(16, os.cpu_count() or 1))
    parser.add_argument("--only", help="this way alone, by its name in the output")
    options = parser.parse_args()
    count, most = max(1, int(options.gib * device.GIB) // PIECE), options.threads
    figures: dict[str, Any] = {"benchmark": "host_memory", "pieces": count, "threads": most} | machine()
    tried = {name: way for name, way in ways(count, most).items() if options.only in (None, name)}
    figures["untouched"] = {name: way() for name, way in tried.items()}
    figures["memory_after"] = machine()["memory"]
    give_back()
    figures["touched"] = {name: way() for name, way in tried.items()}
    give_back()
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
