"""Puts the allocator under JAX's CUDA plugin, at most once per process, or says in one line why not.

Two ways lead here: the entry point (GMLAKE=1), where nothing may fail, because JAX must run on without us; and
`enable()`, where the caller wants the error. Both end in `_install`, which hands the options to the native library.
"""

from __future__ import annotations

import dataclasses
import logging
import os
import sys
import threading
from dataclasses import dataclass
from typing import Any

from gmlake_jax import config
from gmlake_jax.config import Options
from gmlake_jax.errors import ConfigError, GmlakeError, PluginError
from gmlake_jax.library import open_library
from gmlake_jax.stock import find_stock_plugin

_logger = logging.getLogger("gmlake_jax")


@dataclass
class _Process:
    """What this process has done so far; guarded by `lock`."""

    lock: threading.Lock
    options: Options | None = None  # those installed
    reason: str | None = None  # why there are none; None where nobody has asked yet


_process = _Process(threading.Lock())

_NOT_ASKED = "GMLAKE is not set; set GMLAKE=1, or call gmlake_jax.enable() before the first use of a device"
_TOO_LATE = "GMLAKE was set too late, JAX already uses its devices; start anew and set it before JAX's first use"


def _devices_in_use() -> bool:
    """Whether JAX has created its devices. JAX has no public question for that; without an answer we say no, and the
    native library still refuses to work on a client that already exists."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    question = getattr(bridge, "backends_are_initialized", None)
    return bool(question()) if callable(question) else False


def _chosen_platforms() -> str | None:
    """The platforms that jax.config names; None where JAX is not imported, or has none but those of the environment."""
    chosen = getattr(getattr(sys.modules.get("jax"), "config", None), "jax_platforms", None)
    return chosen if isinstance(chosen, str) else None


def _install(options: Options) -> None:
    stock = options.stock_plugin or str(find_stock_plugin())
    try:
        open_library().install(stock, config.native_values(options))
    except RuntimeError as error:
        raise PluginError(str(error)) from None


def _register_stats_file(path: str | None) -> None:
    if path is not None:
        from gmlake_jax.stats_file import write_at_exit

        write_at_exit(path)


def _show_live() -> None:
    from gmlake_jax.live_page import show_live

    show_live()


def _register_recording(path: str | None) -> None:
    if path is not None:
        from gmlake_jax.recording import write_at_exit

        write_at_exit()


def _install_once(options: Options) -> None:
    if _process.options == options:
        return
    if _process.options is not None:
        raise ConfigError(
            f"gmlake_jax is already enabled with other options ({_differences(options)}); give all options in one place"
        )
    _install(options)
    _process.options = options
    _register_stats_file(options.stats_file)
    if options.top:
        _show_live()
    _register_recording(options.record)


def _differences(options: Options) -> str:
    """What is in force, and what was asked for now."""
    old, new = (dataclasses.asdict(each) for each in (_process.options or Options(), options))
    changed = [name for name in old if old[name] != new[name]]
    return ", ".join(f"{name} is {_shown(old[name])}, not {_shown(new[name])}" for name in changed)


def _shown(value: Any) -> str:
    return str(config.Limit(**value)) if isinstance(value, dict) else str(value)


def _step_aside(reason: str, level: int) -> None:
    _process.reason = reason
    _logger.log(level, "gmlake_jax: %s; JAX keeps its own allocator", reason)


def activate_from_environment() -> None:
    """What the entry point does when GMLAKE is set. Never raises: JAX runs on with its own allocator instead.

    Where the program has called `enable()` before, that is what counts.
    """
    with _process.lock:
        if _process.options is not None:
            return
        try:
            options = config.read_options()
            if not options.enabled:
                _process.reason = "GMLAKE switches it off; set GMLAKE=1"
                return
            if (reason := config.reason_to_step_aside(platforms=_chosen_platforms())) is not None:
                _step_aside(reason, logging.WARNING)
                return
            _install_once(options)
        except ConfigError as error:
            _step_aside(str(error), logging.ERROR)
        except GmlakeError as error:
            _step_aside(str(error), logging.WARNING)


def enable(**options: Any) -> None:
    """Selects the allocator for this process, before the first use of a device.

    Options are those of docs/options.md, by name: `enable(limit="20GiB")`; what is not given is read from the
    environment. Raises ConfigError for a value that cannot be followed or a call that comes too late, PluginError
    where JAX has no CUDA plugin that the allocator can work under.
    """
    resolved = config.read_options(**(options | {"enabled": True}))
    with _process.lock:
        if _process.options is None and _devices_in_use():
            raise ConfigError("enable() comes too late, JAX already uses its devices; call it right after the imports")
        if (reason := config.reason_to_step_aside(platforms=_chosen_platforms())) is not None:
            raise ConfigError(reason)
        _install_once(resolved)


def is_active() -> bool:
    """Whether the allocator serves at least one device of this process. False until JAX has created its devices."""
    return _process.options is not None and open_library().num_devices() > 0


def may_become_active() -> bool:
    """Whether the allocator is installed, or will be when JAX creates its devices. Cheap, loads nothing."""
    return _process.options is not None or "GMLAKE" in os.environ


def state() -> str:
    """One line: what is active, or why nothing is."""
    if _process.options is not None:
        return _state_of_installed()
    if _process.reason is None and config.is_asked_for() and _devices_in_use():
        return _TOO_LATE
    return _process.reason or _NOT_ASKED


def _state_of_installed() -> str:
    library = open_library()
    text = library.state()
    if text.startswith("installed") and _devices_in_use() and library.num_devices() == 0:
        return f"installed, but JAX has no CUDA device in this process; it runs on {_platform_in_use()}"
    return text


def _platform_in_use() -> str:
    import jax

    return str(jax.default_backend())


def installed_options() -> Options | None:
    """The options that the allocator was installed with; None where it was not."""
    return _process.options
