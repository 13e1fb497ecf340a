"""A CUDA device in host memory, under the stock JAX client: for machines without a GPU, and for tests.

`start()` loads the emulated libcuda and its companions into this process; the CUDA plugin of jaxlib then finds them
by name, and JAX shows a GPU. Its memory, copies, streams and mapping rules are real, its kernels do nothing: what a
program computes is garbage, where its memory lies is not. The other functions ask the machine what happened.

Needs the wheels of the extra `emulator`: the stock plugin, ptxas and libdevice, but none of NVIDIA's libraries.
"""

from __future__ import annotations

import ctypes
import functools
import logging
import os
import sys
from pathlib import Path

from gmlake_jax.arguments import check_count
from gmlake_jax.errors import GmlakeError

_logger = logging.getLogger("gmlake_jax")

DEVICE_KIND = "NVIDIA Emulated sm_90"

# In the order in which they are loaded: the others look for the driver. The plugin asks for those of its CUDA version.
_LIBRARIES = (
    "libcuda.so.1",
    "libcudart.so.13",
    "libcudart.so.12",
    "libnvidia-ml.so.1",
    "libcublas.so.13",
    "libcublas.so.12",
    "libcublasLt.so.13",
    "libcublasLt.so.12",
    "libcudnn.so.9",
    "libnccl.so.2",
)

# Parameters of start() whose variable has another name.
_VARIABLES = {"asynchronous": "ASYNC"}

# Autotuning runs kernels and compares their times, which means nothing here and takes long.
_XLA_FLAG = "--xla_gpu_autotune_level=0"


class EmulatorError(GmlakeError):
    """The emulated device cannot be used in this process."""


def library_folder() -> Path:
    """Where the emulated libraries are: in the package, or where GMLAKE_EMULATOR_LIBRARIES says."""
    given = os.environ.get("GMLAKE_EMULATOR_LIBRARIES")
    return Path(given) if given else Path(__file__).parent / "_emulator"


def start(
    *,
    devices: int | None = None,
    memory: str | int | None = None,
    asynchronous: bool | None = None,
    delay_us: int | None = None,
    checks: bool | None = None,
    faults: str | None = None,
    double_unmap: str | None = None,
    pool: str | None = None,
    poison: int | None = None,
    shared: str | None = None,
    log: str | None = None,
) -> None:
    """Puts the emulated machine under JAX in this process; call it before JAX creates its devices.

    What is not given is read from the environment (GMLAKE_EMULATOR_DEVICES and so on, cc/emulator/calls/settings.h).
    Without that it is one device of 1 GiB whose work runs at once. `faults` is a script of failing calls
    (cc/emulator/calls/faults.h).
    EmulatorError if a real driver is loaded already, JAX has devices already, or the libraries are not installed.
    """
    given = {_VARIABLES.get(name, name.upper()): value for name, value in locals().items()}
    _check_nothing_started()
    os.environ.update({f"GMLAKE_EMULATOR_{name}": _text(value) for name, value in given.items() if value is not None})
    _load_libraries()
    _prepare_jax()


def start_in_children() -> None:
    """Processes that this one starts get an emulated machine of their own when JAX looks for its plugins, or say why
    not: those of multiprocessing's spawn, say, in which nobody calls `start`."""
    os.environ["GMLAKE_EMULATOR_CHILDREN"] = "1"


def start_as_child() -> None:
    """What such a process does. JAX is imported by then, and may have loaded NVIDIA's libraries, which stay."""
    if is_running():
        return
    if foreign := _foreign_libraries():
        _logger.warning(
            "gmlake_jax: no emulated device in this child process, NVIDIA's %s is loaded already; "
            "call gmlake_jax.emulator.start() in it before it imports jax",
            ", ".join(foreign),
        )
        return
    _load_libraries()
    _prepare_jax()


def _foreign_libraries() -> list[str]:
    """Which of the libraries that are emulated are loaded from elsewhere."""
    loaded = {Path(line.split()[-1]) for line in Path("/proc/self/maps").read_text(errors="replace").splitlines()}
    return sorted({path.name for path in loaded if path.name in _LIBRARIES and path.parent != library_folder()})


def _text(value: str | int) -> str:
    return str(int(value) if isinstance(value, bool) else value)


def is_running() -> bool:
    """Whether `start()` has put the emulated driver into this process."""
    return _driver.cache_info().currsize > 0


def _check_nothing_started() -> None:
    if is_running():
        raise EmulatorError("the emulated device is already running in this process; start it once")
    try:
        ctypes.CDLL("libcuda.so.1", mode=os.RTLD_NOLOAD)
    except OSError:
        pass
    else:
        raise EmulatorError("libcuda.so.1 is already loaded in this process; start the emulated device before JAX")
    bridge = sys.modules.get("jax._src.xla_bridge")
    if bridge is not None and bridge.backends_are_initialized():
        raise EmulatorError("JAX has created its devices already; start the emulated device right after the imports")


def _load_libraries() -> None:
    missing = [name for name in _LIBRARIES if not (library_folder() / name).exists()]
    if missing:
        raise EmulatorError(f"{library_folder()} lacks {', '.join(missing)}; build gmlake-jax with Bazel to get them")
    _driver()
    for name in _LIBRARIES[1:]:
        ctypes.CDLL(str(library_folder() / name), mode=ctypes.RTLD_GLOBAL)


def _prepare_jax() -> None:
    """Tells JAX that there is a GPU. It looks for device files and for NVIDIA's libraries, and finds neither here."""
    os.environ["JAX_SKIP_CUDA_CONSTRAINTS_CHECK"] = "1"
    os.environ.setdefault("JAX_PLATFORMS", "cuda,cpu")
    flags = os.environ.get("XLA_FLAGS", "")
    if "xla_gpu_autotune_level" not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {_XLA_FLAG}".strip()
    if "jax" in sys.modules:
        sys.modules["jax"].config.update("jax_platforms", os.environ["JAX_PLATFORMS"])
    # A private module, because JAX has no public way to say so; where it is gone, the check is gone too.
    try:
        from jax._src import hardware_utils
    except ImportError:
        return
    hardware_utils._NVIDIA_GPU_DEVICES = [os.devnull]


@functools.cache
def _driver() -> ctypes.CDLL:
    return ctypes.CDLL(str(library_folder() / "libcuda.so.1"), mode=ctypes.RTLD_GLOBAL)


def _ask(name: str, *arguments: bytes | int) -> int:
    if not is_running():
        raise EmulatorError("the emulated device is not running; call gmlake_jax.emulator.start() first")
    function = getattr(_driver(), f"gmlake_emulator_{name}")
    function.restype = ctypes.c_uint64
    return int(function(*arguments))


def _device(device: int) -> int:
    return check_count("device", device, 0) & 0x7FFF_FFFF


def violations(rule: str | None = None) -> int:
    """CUDA's rules that this process has broken so far: all, or one by its name (cc/emulator/calls/log.h)."""
    if rule is None:
        return _ask("violations")
    count = _ask("violations_of", rule.encode())
    if count == (1 << 64) - 1:
        raise EmulatorError(f"{rule} is no rule of the emulated device")
    return count


def describe_violations() -> str:
    """The first violations' messages, one a line."""
    size = _ask("describe_violations", 0, 0)
    text = ctypes.create_string_buffer(size + 1)
    _driver().gmlake_emulator_describe_violations(text, ctypes.c_size_t(size + 1))
    return text.value.decode(errors="replace")


def reset_violations() -> None:
    _ask("reset_violations")


def calls(name: str) -> int:
    """How often an entry point of the driver was called, by its exact name: `cuMemAlloc_v2`."""
    return _ask("calls", name.encode())


def memory_calls() -> int:
    """Driver calls so far that allocate, free, reserve, create, map, open, unmap or release device memory."""
    return _ask("memory_calls")


def launches() -> int:
    """Kernels launched so far."""
    return _ask("launches")


def used(device: int = 0) -> int:
    """Physical memory of a device that is taken, in bytes."""
    return _ask("used", _device(device))


def peak(device: int = 0) -> int:
    """The highest `used` since the start or `reset_peak`."""
    return _ask("peak", _device(device))


def reset_peak(device: int = 0) -> None:
    _ask("reset_peak", _device(device))


def blocks() -> int:
    """Physical blocks (cuMemCreate) that exist."""
    return _ask("blocks")


def mappings() -> int:
    return _ask("mappings")


def reservations() -> int:
    return _ask("reservations")


def set_faults(script: str) -> None:
    """Replaces the script of failing and slow calls; an empty one ends all failures."""
    if not _ask("set_faults", script.encode()):
        raise EmulatorError(f"{script!r} is not a script of faults (cc/emulator/calls/faults.h)")
