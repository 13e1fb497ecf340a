"""What the first GPU says of its memory, all processes together: NVML's number, and the driver's plain allocations.

Shared by the benchmarks of this folder that look at the device from outside. ctypes alone, so that nothing is
installed.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

GIB = 1 << 30
MIB = 1 << 20
NVML_NOT_SUPPORTED = 3


class _NvmlMemory(ctypes.Structure):
    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


def check(result: int, what: str) -> None:
    """Ends the benchmark with the name of the call that failed."""
    if result != 0:
        raise SystemExit(f"{what} failed with error {result}")


@functools.cache
def driver() -> ctypes.CDLL:
    """The CUDA driver, with device 0's primary context current in this thread."""
    cuda = ctypes.CDLL("libcuda.so.1")
    context = ctypes.c_void_p()
    check(cuda.cuInit(0), "cuInit")
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), "cuDevicePrimaryCtxRetain")
    check(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent")
    return cuda


@functools.cache
def _nvml() -> tuple[Any, Any]:
    """NVML, and its handle of what CUDA calls device 0, found by PCI address: the two may number GPUs differently."""
    library = ctypes.CDLL("libnvidia-ml.so.1")
    bus, handle = ctypes.create_string_buffer(32), ctypes.c_void_p()
    check(library.nvmlInit_v2(), "nvmlInit")
    check(driver().cuDeviceGetPCIBusId(bus, 32, 0), "cuDeviceGetPCIBusId")
    found = library.nvmlDeviceGetHandleByPciBusId_v2(bus, ctypes.byref(handle))
    check(found, "nvmlDeviceGetHandleByPciBusId")
    return library, handle


def nvml_used() -> int:
    """Bytes in use on the GPU, as nvidia-smi shows them."""
    library, handle = _nvml()
    memory = _NvmlMemory()
    result = library.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory))
    if result == NVML_NOT_SUPPORTED:  # an emulated device
        free_bytes, total_bytes = memory_info()
        return total_bytes - free_bytes
    check(result, "nvmlDeviceGetMemoryInfo")
    return memory.used


def total() -> int:
    """Bytes of the device."""
    return memory_info()[1]


def memory_info() -> tuple[int, int]:
    """Free and total bytes, as the driver says."""
    free, size = ctypes.c_size_t(), ctypes.c_size_t()
    check(driver().cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(size)), "cuMemGetInfo")
    return free.value, size.value


def allocate(size: int) -> int | None:
    """A plain allocation of the driver's; None where the device is full."""
    pointer = ctypes.c_uint64()
    result = driver().cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size))
    return pointer.value if result == 0 else None


def free(pointer: int) -> None:
    """Gives a plain allocation back."""
    check(driver().cuMemFree_v2(ctypes.c_uint64(pointer)), "cuMemFree")
