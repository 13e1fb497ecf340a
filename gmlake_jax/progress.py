"""A progress bar on standard error: rich's where rich is installed, a plain one elsewhere, none where no one looks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gmlake_jax.output import is_terminal

Advance = Callable[[float], None]

_WIDTH = 30


@contextmanager
def progress_bar(label: str) -> Iterator[Advance]:
    """Gives a function to be called with the share done, 0 to 1; the bar is gone when the block ends."""
    if not is_terminal(sys.stderr):
        yield lambda share: None
        return
    try:
        import rich.progress
    except ImportError:
        yield from _plain_bar(label)
        return
    with rich.progress.Progress(transient=True, console=rich.console.Console(stderr=True)) as bars:
        task = bars.add_task(label, total=1)
        yield lambda share: bars.update(task, completed=share)


def _plain_bar(label: str) -> Iterator[Advance]:
    shown = -1

    def advance(share: float) -> None:
        nonlocal shown
        filled = round(share * _WIDTH)
        if filled != shown:
            shown = filled
            sys.stderr.write(f"\r{label} [{'#' * filled:<{_WIDTH}}] {share:4.0%}")
            sys.stderr.flush()

    try:
        yield advance
    finally:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
