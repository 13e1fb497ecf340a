"""A set of addresses as intervals, for undoing what happened to segments. Linear in their number, which is small."""

from __future__ import annotations

from collections.abc import Iterable


class Intervals:
    """Invariant: ascending, apart from each other, none empty."""

    def __init__(self, pieces: Iterable[tuple[int, int]] = ()):
        self._spans: list[tuple[int, int]] = []  # start, end
        for address, size in pieces:
            self.add(address, size)

    def add(self, address: int, size: int) -> None:
        start, end, others = address, address + size, []
        for low, high in self._spans:
            if high < start or low > end:
                others.append((low, high))
            else:
                start, end = min(start, low), max(end, high)
        self._spans = sorted([*others, (start, end)]) if size else self._spans

    def remove(self, address: int, size: int) -> None:
        end = address + size
        pieces = [piece for low, high in self._spans for piece in ((low, min(high, address)), (max(low, end), high))]
        self._spans = sorted({piece for piece in pieces if piece[0] < piece[1]})

    def spans(self) -> list[tuple[int, int]]:
        """Address and size of each."""
        return [(start, end - start) for start, end in self._spans]
