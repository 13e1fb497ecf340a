"""A set of addresses as intervals, for undoing what happened to segments."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable


class Intervals:
    """Invariant: ascending, apart from each other, none empty. Cost: a search, and a step for each interval touched."""

    def __init__(self, pieces: Iterable[tuple[int, int]] = ()):
        self._starts: list[int] = []
        self._ends: list[int] = []
        for address, size in pieces:
            self.add(address, size)

    def add(self, address: int, size: int) -> None:
        if size <= 0:
            return
        first = bisect_left(self._ends, address)
        last = bisect_right(self._starts, address + size)
        start = min([address, *self._starts[first:last]])
        end = max([address + size, *self._ends[first:last]])
        self._starts[first:last], self._ends[first:last] = [start], [end]

    def remove(self, address: int, size: int) -> None:
        if size <= 0:
            return
        end = address + size
        first = bisect_right(self._ends, address)
        last = bisect_left(self._starts, end)
        pieces = [(low, min(high, address)) for low, high in self._between(first, last) if low < address]
        pieces += [(max(low, end), high) for low, high in self._between(first, last) if high > end]
        self._starts[first:last] = [start for start, _ in pieces]
        self._ends[first:last] = [end for _, end in pieces]

    def _between(self, first: int, last: int) -> list[tuple[int, int]]:
        return list(zip(self._starts[first:last], self._ends[first:last], strict=True))

    def spans(self) -> list[tuple[int, int]]:
        """Address and size of each."""
        return [(start, end - start) for start, end in zip(self._starts, self._ends, strict=True)]
