"""Files and numbers that others may have made: read with a bound on size and time, and checked before they are used.

Nothing here knows a format. A file that cannot be read this way is an OSError or a ValueError whose text is a reason of
one line; the reader of a format adds the file's name.
"""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, NoReturn

MIB = 1 << 20
_MOST_TEXT = 300


def visible(text: object) -> str:
    """`text` with everything that a terminal would act on, line ends included, as an escape that people can read."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def brief(value: object, most: int = _MOST_TEXT) -> str:
    """The text of `value` for a message: never long, never an error, one line."""
    try:
        text = str(value)
    except ValueError:  # Python does not print integers of more than 4300 digits
        return "a number of thousands of digits"
    except RecursionError:
        return f"a deeply nested {type(value).__name__}"
    return visible(text if len(text) <= most else f"{text[:most]}...")


def _open(path: str | os.PathLike[str], flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # the other end of a pipe may never come


@contextmanager
def open_regular(path: str | os.PathLike[str], most: int) -> Iterator[IO[bytes]]:
    """A regular file of at most `most` bytes, opened for reading."""
    with open(path, "rb", opener=_open) as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode):
            raise ValueError("not a regular file")
        if facts.st_size > most:
            raise ValueError(f"{facts.st_size:,} bytes are more than the {most:,} that this version reads")
        yield file


def read_regular(path: str | os.PathLike[str], most: int) -> bytes:
    """All of a regular file, at most `most` bytes, even if it grows meanwhile."""
    with open_regular(path, most) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise ValueError(f"more than {most:,} bytes, which is more than this version reads")
    return data


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is too large a number")
    return number


def parse_json(data: bytes | str, most_containers: int = MIB) -> Any:
    """JSON without NaN and infinities, of bounded nesting and size in memory."""
    text = data.decode() if isinstance(data, bytes) else data
    if text.count("[") + text.count("{") > most_containers:
        raise ValueError("too many lists and objects")
    try:
        return json.loads(text, parse_constant=_reject_constant, parse_float=_finite)
    except RecursionError:
        raise ValueError("too deeply nested") from None


def is_whole(value: Any, low: int = -(1 << 62), high: int = 1 << 62) -> bool:
    """Whether `value` is a whole number, no truth value, within [low, high)."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value < high


def is_number(value: Any) -> bool:
    """Whether `value` is a finite number that fits into 62 bits."""
    return is_whole(value) or (isinstance(value, float) and math.isfinite(value) and abs(value) < 1 << 62)
