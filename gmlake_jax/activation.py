"""Puts the allocator under JAX's CUDA plugin, at most once per process, or says in one line why not.

Two ways lead here: the entry point (GMLAKE=1), where nothing may fail, because JAX must run on without us; and
`enable()`, where the caller wants the error. Both end in `_install`, which hands the options to the native library.
"""

from __future__ import annotations

import dataclasses
import logging
import sys
from typing import Any

from gmlake_jax import config, process
from gmlake_jax.config import Options
from gmlake_jax.errors import ConfigError, GmlakeError, PluginError
from gmlake_jax.library import open_library
from gmlake_jax.stock import find_stock_plugin

_logger = logging.getLogger("gmlake_jax")


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
    if process.current.options == options:
        return
    if process.current.options is not None:
        raise ConfigError(
            f"gmlake_jax is already enabled with other options ({_differences(options)}); give all options in one place"
        )
    _install(options)
    process.current.options = options
    _register_stats_file(options.stats_file)
    if options.top:
        _show_live()
    _register_recording(options.record)


def _differences(options: Options) -> str:
    """What is in force, and what was asked for now."""
    old, new = (dataclasses.asdict(each) for each in (process.current.options or Options(), options))
    changed = [name for name in old if old[name] != new[name]]
    return ", ".join(f"{name} is {_shown(old[name])}, not {_shown(new[name])}" for name in changed)


def _shown(value: Any) -> str:
    return str(config.Limit(**value)) if isinstance(value, dict) else str(value)


def _step_aside(reason: str, level: int) -> None:
    process.current.reason = reason
    _logger.log(level, "gmlake_jax: %s; JAX keeps its own allocator", reason)


def activate_from_environment() -> None:
    """What the entry point does when GMLAKE is set. Never raises: JAX runs on with its own allocator instead.

    Where the program has called `enable()` before, that is what counts.
    """
    with process.current.lock:
        if process.current.options is not None:
            return
        try:
            options = config.read_options()
            if not options.enabled:
                process.current.reason = "GMLAKE switches it off; set GMLAKE=1"
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
    with process.current.lock:
        if process.current.options is None and process.devices_in_use():
            raise ConfigError("enable() comes too late, JAX already uses its devices; call it right after the imports")
        if (reason := config.reason_to_step_aside(platforms=_chosen_platforms())) is not None:
            raise ConfigError(reason)
        _install_once(resolved)
