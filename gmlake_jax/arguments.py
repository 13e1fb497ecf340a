"""Arguments of public functions, looked at before anything happens: what is wrong is said in one line.

A wrong type is a TypeError, a value that makes no sense a ValueError, as Python's own functions have it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from gmlake_jax.sizes import MOST_BYTES, parse_bytes
from gmlake_jax.untrusted import brief


def _a(value: object) -> str:
    """What a value is, for a message of one line."""
    try:
        return f"{type(value).__name__} {brief(repr(value), 60)}"
    except ValueError:  # Python does not print integers of more than 4300 digits
        return f"a huge {type(value).__name__}"


def check_name(what: str, name: Any) -> str:
    """A name that can be kept and printed."""
    if callable(name):
        raise TypeError(f"{what} takes a name, not a function: as a decorator, write @{what}(...) with parentheses")
    if not isinstance(name, str):
        raise TypeError(f"{what} takes a name, a str; this is {_a(name)}")
    if "\0" in name or not name.isprintable():
        raise ValueError(f"{what}: a name is made of printable characters; this is {brief(repr(name), 60)}")
    return name


def check_names(what: str, names: Any) -> tuple[str, ...]:
    """Names in a list, not one name, whose letters would be taken for names."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise TypeError(f"{what} takes names in a list, such as ['kv_cache']; this is {_a(names)}")
    return tuple(check_name(what, name) for name in names)


def check_function(what: str, function: Any) -> Callable[..., Any]:
    if not callable(function):
        raise TypeError(f"{what} takes a function; this is {_a(function)}")
    checked: Callable[..., Any] = function
    return checked


def check_seconds(what: str, seconds: Any) -> float:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise TypeError(f"{what} takes seconds, a number; this is {_a(seconds)}")
    if not 0 <= seconds <= 1e6:  # not so for NaN, either
        raise ValueError(f"{what} takes seconds from 0 to a million; this is {brief(seconds, 40)}")
    return float(seconds)


def check_count(what: str, count: Any, least: int) -> int:
    if isinstance(count, bool) or not isinstance(count, int):
        raise TypeError(f"{what} takes a whole number; this is {_a(count)}")
    if not least <= count < MOST_BYTES:
        raise ValueError(f"{what} is {brief(count, 40)}; it must be at least {least}, and below 2^48")
    return count


def check_size(what: str, size: Any) -> int:
    """Bytes, or a size such as "20GiB"."""
    return parse_bytes(size) if isinstance(size, str) else check_count(what, size, 0)
