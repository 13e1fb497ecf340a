"""Tables for terminals: rich's where it is installed and someone looks, aligned columns elsewhere.

Cells may hold text of others, such as the name of a program: what a terminal would act on is shown as an escape.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from gmlake_jax.output import is_terminal
from gmlake_jax.untrusted import visible

Row = Sequence[str]


def plain_table(head: Row, rows: Sequence[Row]) -> str:
    """The first column to the left, the others to the right, two spaces between them."""
    rows = [tuple(map(visible, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return "\n".join(_line(row, widths) for row in (head, *rows))


def _line(row: Row, widths: Sequence[int]) -> str:
    cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
    return "  ".join(cells).rstrip()


def rich_table(head: Row, rows: Sequence[Row], title: str = "") -> Any:
    """rich's own table; ImportError where rich is missing."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=title or None, title_justify="left", box=None, pad_edge=False)
    for index, name in enumerate(head):
        table.add_column(name, justify="right" if index else "left", overflow="ellipsis", no_wrap=True)
    for row in rows:
        table.add_row(*(escape(visible(cell)) for cell in row))
    return table


def print_table(head: Row, rows: Sequence[Row]) -> None:
    if is_terminal(sys.stdout):
        try:
            from rich.console import Console
        except ImportError:
            pass
        else:
            Console().print(rich_table(head, rows))
            return
    print(plain_table(head, rows))
