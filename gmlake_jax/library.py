"""The native side: opens libgmlake_pjrt.so through the compiled module, once per process, when first needed."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

from gmlake_jax.errors import PluginError

if TYPE_CHECKING:
    from gmlake_jax._gmlake import Library

LIBRARY_PATH = Path(__file__).parent / "libgmlake_pjrt.so"

_HOW_TO_BUILD = "install a wheel of gmlake-jax, or build one with `pip install .` (README, Building)"


@functools.cache
def open_library() -> Library:
    """The opened library; PluginError where it is missing or of another version."""
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
