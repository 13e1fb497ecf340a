"""Values of the command line's options: each function reads one kind, or says what was expected.

For argparse, as `type=`: it prints the text of an ArgumentTypeError, but of a ValueError only the function's name.
"""

import argparse
import re

from gmlake_jax.sizes import parse_bytes
from gmlake_jax.untrusted import brief

_SMALLEST = 2 << 20  # what the driver hands out
_MOST = (1 << 31) - 1  # what the native side counts with


def memory(text: str) -> int:
    """Bytes, at least 2 MiB: `20GiB`."""
    try:
        size = parse_bytes(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if size < _SMALLEST:
        raise argparse.ArgumentTypeError(f"{brief(text, 40)}: at least 2MiB")
    return size


def positive(text: str) -> int:
    """A whole number, at least 1."""
    return _whole(text, 1, _MOST)


def whole(text: str) -> int:
    """A whole number from 0."""
    return _whole(text, 0, _MOST)


def _whole(text: str, least: int, most: int) -> int:
    if not re.fullmatch(r"\d{1,18}", text, re.ASCII) or not least <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"{brief(text, 40)}: a whole number, at least {least} and at most {most}")
    return int(text)


def moment(text: str) -> float:
    """Seconds since the beginning of a recording."""
    number = _number(text)
    if number is None or not 0 <= number <= 1e9:
        raise argparse.ArgumentTypeError(f"{brief(text, 40)}: seconds, from 0 to 1e9")
    return number


def share(text: str) -> float:
    """A number above 0 and at most 1: `0.95`."""
    number = _number(text)
    if number is None or not 0 < number <= 1:
        raise argparse.ArgumentTypeError(f"{brief(text, 40)}: a share, above 0 and at most 1")
    return number


def seconds(text: str) -> float:
    """Between two looks: from 0.1 to 3600."""
    number = _number(text)
    if number is None or not 0.1 <= number <= 3600:
        raise argparse.ArgumentTypeError(f"{brief(text, 40)}: 0.1 to 3600 seconds")
    return number


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
