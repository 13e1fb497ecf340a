"""The native side: opens libgmlake_pjrt.so through the compiled module, once per process, when first needed."""

from __future__ import annotations

import functools
import importlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gmlake_jax.errors import PluginError

if TYPE_CHECKING:
    from gmlake_jax._gmlake import Library

LIBRARY_PATH = Path(__file__).parent / "libgmlake_pjrt.so"

_HOW_TO_BUILD = "install a wheel of gmlake-jax, or build one with `pip install .` (README, Building)"


def _in_subinterpreter() -> bool:
    """Compiled parts are one for the whole process, and so is the lock that they take for Python's."""
    for name in ("_interpreters", "_xxsubinterpreters"):  # Python 3.13, and before
        with suppress(ImportError):
            interpreters = importlib.import_module(name)
            return bool(_number(interpreters.get_current()) != _number(interpreters.get_main()))
    return False


def _number(interpreter: Any) -> int:
    """Newer Pythons give a tuple that begins with it."""
    return int(interpreter[0] if isinstance(interpreter, tuple) else interpreter)


@functools.cache
def open_library() -> Library:
    """The opened library; PluginError where it is missing or of another version, or in a subinterpreter."""
    if _in_subinterpreter():
        raise PluginError("gmlake_jax works in the main interpreter of a process alone, and this is a subinterpreter")
    try:
        from gmlake_jax import _gmlake
    except ImportError as error:
        raise PluginError(f"the compiled part of gmlake_jax is missing ({error}); {_HOW_TO_BUILD}") from None
    if not LIBRARY_PATH.exists():
        raise PluginError(f"{LIBRARY_PATH} is missing; {_HOW_TO_BUILD}")
    try:
        return _gmlake.Library(str(LIBRARY_PATH))
    except RuntimeError as error:
        raise PluginError(f"{error}; {_HOW_TO_BUILD}") from None
