"""Finds the CUDA plugin that the user installed with JAX, without importing it (that would load CUDA's libraries)."""

import importlib.util
from pathlib import Path

from gmlake_jax.errors import PluginError

_MODULES = ("jax_plugins.xla_cuda13", "jax_plugins.xla_cuda12")
_LIBRARY = "xla_cuda_plugin.so"


def _library_of(module: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:  # not even the namespace package jax_plugins exists
        return None
    folders = spec.submodule_search_locations if spec is not None else None
    paths = [Path(folder) / _LIBRARY for folder in folders or ()]
    return next((path for path in paths if path.exists()), None)


def installed_plugins() -> dict[str, Path]:
    """Library of each CUDA plugin of JAX that is installed, by module name."""
    found = {module: _library_of(module) for module in _MODULES}
    return {module: path for module, path in found.items() if path is not None}


def find_stock_plugin() -> Path:
    """The plugin that JAX will use for `cuda`; PluginError where there is none or more than one."""
    plugins = installed_plugins()
    if not plugins:
        raise PluginError('no CUDA plugin of JAX is installed; pip install "jax[cuda13]" or "jax[cuda12]"')
    if len(plugins) > 1:
        names = " and ".join(module.rpartition(".")[2] for module in plugins)
        raise PluginError(f"{names} are both installed and JAX picks one at random; uninstall one of the two")
    return next(iter(plugins.values()))
