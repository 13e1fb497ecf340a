"""Values of the command line's options: each function reads one kind, or says what was expected.

For argparse, as `type=`: it prints the text of an ArgumentTypeError, but of a ValueError only the function's name.
"""

import argparse

from gmlake_jax.sizes import parse_bytes

_SMALLEST = 2 << 20  # what the driver hands out


def memory(text: str) -> int:
    """Bytes, at least 2 MiB: `20GiB`."""
    try:
        size = parse_bytes(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if size < _SMALLEST:
        raise argparse.ArgumentTypeError(f"{text}: at least 2MiB")
    return size


def positive(text: str) -> int:
    """A whole number, at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}: a whole number, at least 1")
    return int(text)


def share(text: str) -> float:
    """A number above 0 and at most 1: `0.95`."""
    number = _number(text)
    if number is None or not 0 < number <= 1:
        raise argparse.ArgumentTypeError(f"{text}: a share, above 0 and at most 1")
    return number


def seconds(text: str) -> float:
    """Between two looks: from 0.1 to 3600."""
    number = _number(text)
    if number is None or not 0.1 <= number <= 3600:
        raise argparse.ArgumentTypeError(f"{text}: 0.1 to 3600 seconds")
    return number


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
