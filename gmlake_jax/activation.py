"""Puts the allocator under JAX's CUDA plugin, at most once per process, or says in one line why not.

Two ways lead here: the entry point (GMLAKE=1), where nothing may fail, because JAX must run on without us; and
`enable()`, where the caller wants the error. Both end in `_install`, which hands the options to the native library.
"""

from __future__ import annotations

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
    reason: str = "GMLAKE is not set; set GMLAKE=1, or call gmlake_jax.enable() before the first use of a device"


_process = _Process(threading.Lock())


def _devices_in_use() -> bool:
    """Whether JAX has created its devices. JAX has no public question for that; without an answer we say no, and the
    native library still refuses to work on a client that already exists."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    question = getattr(bridge, "backends_are_initialized", None)
    return bool(question()) if callable(question) else False


def _install(options: Options) -> None:
    stock = options.stock_plugin or str(find_stock_plugin())
    limit = options.limit or config.Limit()
    try:
        open_library().install(
            stock,
            driver_path=options.driver,
            limit_bytes=limit.bytes,
            limit_fraction=limit.fraction,
            preallocate=options.preallocate,
            verbose=options.verbose,
            stitch_ahead=options.stitch_ahead,
            idle_trim_s=options.idle_trim,
            wait_s=options.wait,
            record_path=options.record,
            record_events=options.record_events,
            oom_folder=options.oom_dir,
        )
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
        raise ConfigError("gmlake_jax is already enabled with other options; give all options in one place")
    _install(options)
    _process.options = options
    _register_stats_file(options.stats_file)
    if options.top:
        _show_live()
    _register_recording(options.record)


def _step_aside(reason: str, level: int) -> None:
    _process.reason = reason
    _logger.log(level, "gmlake_jax: %s; JAX keeps its own allocator", reason)


def activate_from_environment() -> None:
    """What the entry point does when GMLAKE is set. Never raises: JAX runs on with its own allocator instead."""
    with _process.lock:
        try:
            options = config.read_options()
            if not options.enabled:
                _process.reason = "GMLAKE switches it off; set GMLAKE=1"
                return
            if (reason := config.reason_to_step_aside()) is not None:
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
        if (reason := config.reason_to_step_aside()) is not None:
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
    return open_library().state() if _process.options is not None else _process.reason


def installed_options() -> Options | None:
    """The options that the allocator was installed with; None where it was not."""
    return _process.options
