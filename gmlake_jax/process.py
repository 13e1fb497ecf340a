"""What this process has done so far: whether the allocator is installed, with which options, or why it is not.

Modules of the API ask here whether the allocator is active; only `activation.py` changes it.
"""

from __future__ import annotations

import os
import sys
import threading
from dataclasses import dataclass, field

from gmlake_jax import config
from gmlake_jax.config import Options
from gmlake_jax.library import open_library


@dataclass
class Process:
    """The state of the installation. Thread rule: written with `lock` held; read by any thread."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    options: Options | None = None  # those installed
    reason: str | None = None  # why there are none; None where nobody has asked yet


current = Process()

_NOT_ASKED = "GMLAKE is not set; set GMLAKE=1, or call gmlake_jax.enable() before the first use of a device"
_TOO_LATE = "GMLAKE was set too late, JAX already uses its devices; start anew and set it before JAX's first use"


def devices_in_use() -> bool:
    """Whether JAX has created its devices. JAX has no public question for that; without an answer we say no, and the
    native library still refuses to work on a client that already exists."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    question = getattr(bridge, "backends_are_initialized", None)
    return bool(question()) if callable(question) else False


def is_active() -> bool:
    """Whether the allocator serves at least one device of this process. False until JAX has created its devices."""
    return current.options is not None and open_library().num_devices() > 0


def may_become_active() -> bool:
    """Whether the allocator is installed, or will be when JAX creates its devices. Cheap, loads nothing."""
    return current.options is not None or "GMLAKE" in os.environ


def state() -> str:
    """One line: what is active, or why nothing is."""
    if current.options is not None:
        return _state_of_installed()
    if current.reason is None and config.is_asked_for() and devices_in_use():
        return _TOO_LATE
    return current.reason or _NOT_ASKED


def _state_of_installed() -> str:
    library = open_library()
    text = library.state()
    if text.startswith("installed") and devices_in_use() and library.num_devices() == 0:
        return f"installed, but JAX has no CUDA device in this process; it runs on {_platform_in_use()}"
    return text


def _platform_in_use() -> str:
    import jax

    return str(jax.default_backend())


def installed_options() -> Options | None:
    """The options that the allocator was installed with; None where it was not."""
    return current.options
