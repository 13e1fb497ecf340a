"""A GPU memory allocator for JAX that stitches free pieces of memory into one contiguous range.

Set GMLAKE=1, or call `enable()` before the first use of a device, and change nothing else. Importing this package
loads nothing of JAX and nothing native: every name is fetched when it is first used (PEP 562).
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gmlake_jax._version import __version__
    from gmlake_jax.activation import enable
    from gmlake_jax.errors import ConfigError, GmlakeError, NotActiveError, PluginError, SleepError
    from gmlake_jax.out_of_memory import OutOfMemory, on_oom
    from gmlake_jax.process import is_active, state
    from gmlake_jax.recording import annotate, mark, record, snapshot
    from gmlake_jax.sleeping import asleep, is_asleep, prepare_sleep, sleep, tag, wake
    from gmlake_jax.stats import empty_cache, memory_stats, reset_peak_memory_stats, set_memory_limit, trim
    from gmlake_jax.summary import memory_summary
    from gmlake_jax.tracking import track, tracked

__all__ = [
    "ConfigError",
    "GmlakeError",
    "NotActiveError",
    "OutOfMemory",
    "PluginError",
    "SleepError",
    "__version__",
    "annotate",
    "asleep",
    "empty_cache",
    "enable",
    "is_active",
    "is_asleep",
    "mark",
    "memory_stats",
    "memory_summary",
    "on_oom",
    "prepare_sleep",
    "record",
    "reset_peak_memory_stats",
    "set_memory_limit",
    "sleep",
    "snapshot",
    "state",
    "tag",
    "track",
    "tracked",
    "trim",
    "wake",
]

_HOME = {
    "__version__": "_version",
    "enable": "activation",
    "is_active": "process",
    "state": "process",
    "ConfigError": "errors",
    "GmlakeError": "errors",
    "NotActiveError": "errors",
    "PluginError": "errors",
    "SleepError": "errors",
    "asleep": "sleeping",
    "is_asleep": "sleeping",
    "prepare_sleep": "sleeping",
    "sleep": "sleeping",
    "tag": "sleeping",
    "wake": "sleeping",
    "trim": "stats",
    "empty_cache": "stats",
    "memory_stats": "stats",
    "reset_peak_memory_stats": "stats",
    "set_memory_limit": "stats",
    "memory_summary": "summary",
    "OutOfMemory": "out_of_memory",
    "on_oom": "out_of_memory",
    "annotate": "recording",
    "mark": "recording",
    "record": "recording",
    "snapshot": "recording",
    "track": "tracking",
    "tracked": "tracking",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
