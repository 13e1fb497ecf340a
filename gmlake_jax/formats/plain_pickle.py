"""Loads the plain data in a pickle: dicts, lists, strings and numbers, and nothing else.

A pickle is a program: it can name any function and call it, and a few bytes of it can ask for gigabytes. So its
instructions are looked at before any is followed. Cost: about a second for a million of them.
"""

from __future__ import annotations

import io
import pickle
import pickletools
from typing import Any

from gmlake_jax.history.schema import HistoryError
from gmlake_jax.untrusted import brief

# All that plain data needs, in each version of pickle.
_PLAIN = frozenset(
    """
    PROTO FRAME STOP MARK POP POP_MARK MEMOIZE PUT BINPUT LONG_BINPUT GET BINGET LONG_BINGET NONE NEWTRUE
    NEWFALSE INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT STRING BINSTRING SHORT_BINSTRING UNICODE
    BINUNICODE SHORT_BINUNICODE BINUNICODE8 BINBYTES SHORT_BINBYTES BINBYTES8 EMPTY_LIST LIST APPEND APPENDS
    EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 EMPTY_DICT DICT SETITEM SETITEMS
    """.split()  # noqa: SIM905 - as a list they take fifty lines
)
_PUTS = frozenset(("PUT", "BINPUT", "LONG_BINPUT"))
_NAMING = frozenset(("GLOBAL", "INST", "STACK_GLOBAL"))  # each ends the loading, with the name


class _PlainUnpickler(pickle.Unpickler):
    """Ends at the first name."""

    def find_class(self, module: str, name: str) -> Any:
        raise HistoryError(f"names {module}.{name}, and a snapshot of PyTorch names no code; it was not loaded")

    def persistent_load(self, key: Any) -> Any:
        raise HistoryError("refers to something outside of itself; it was not loaded")


def _check_instruction(name: str, argument: Any, most_memo: int) -> None:
    if name not in _PLAIN:
        raise HistoryError(f"has the instruction {name}, which plain data does not need; it was not loaded")
    if name in _PUTS and not 0 <= int(argument) < most_memo:
        raise HistoryError(f"numbers a value {brief(argument, 40)}, which is more than it has; it was not loaded")


def load_plain(data: bytes) -> Any:
    """The built-in values in a pickle; HistoryError or ValueError where there is anything else."""
    for instruction, argument, _ in pickletools.genops(data):
        if instruction.name in _NAMING:
            break
        _check_instruction(instruction.name, argument, len(data))
    try:
        return _PlainUnpickler(io.BytesIO(data)).load()
    except (pickle.UnpicklingError, EOFError) as error:
        raise ValueError(brief(error) or type(error).__name__) from error
