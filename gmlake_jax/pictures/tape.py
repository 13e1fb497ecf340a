"""Memory as it lies: the physical memory as one tape by home address, and the ranges whose parts it lends.

Memory has the colour of its place on the tape, and keeps it in every range that maps it: equal colours in two rows are
the same physical memory. In use it is full, idle it is pale.
"""

from __future__ import annotations

from dataclasses import dataclass

from gmlake_jax.history import RangeKind, Snapshot
from gmlake_jax.history.physical import memory_spans, pieces_of, ranges_of_blocks
from gmlake_jax.history.schema import NONE
from gmlake_jax.history.state import State


@dataclass(frozen=True)
class Part:
    """A stretch of the tape, or of a range: bytes [start, start + size) from its beginning."""

    start: int
    size: int
    place: float  # of its first byte on the tape, 0 to 1
    lease: int  # index into the snapshot's leases; NONE: idle
    block: int
    doubtful: bool = False


@dataclass(frozen=True)
class Row:
    """A range, as its parts in order of address."""

    range: int
    stitched: bool
    size: int
    parts: tuple[Part, ...]

    @property
    def leased(self) -> int:
        return sum(part.size for part in self.parts if part.lease != NONE)


@dataclass(frozen=True)
class Tape:
    """The whole of a device's memory. Spans of memory with other addresses between them are put end to end."""

    size: int
    parts: tuple[Part, ...]
    rows: tuple[Row, ...]  # stitched ranges, largest first
    sharing: dict[int, list[int]]  # which ranges map each block


class _Layout:
    """Finds places and owners in one snapshot. Immutable once made."""

    def __init__(self, snapshot: Snapshot):
        self.snapshot = snapshot
        self.state = State.of(snapshot)
        self.sizes: dict[int, int] = dict(snapshot.blocks[["id", "size"]].tolist())
        self.doubtful = set(snapshot.blocks["id"][snapshot.blocks["quarantined"] != 0].tolist())
        self._spans: list[tuple[int, int]] = memory_spans(snapshot).tolist()
        self.size: int = sum(end - start for start, end in self._spans)
        self._used = self._used_by_block()

    def _used_by_block(self) -> dict[int, list[tuple[int, int, int]]]:
        """For each block, which of its bytes are leased: start, end, lease; in order."""
        found: dict[int, list[tuple[int, int, int]]] = {}
        for lease, block, home, size, _ in pieces_of(self.snapshot).tolist():
            if block != NONE:
                start = home - self.state.homes.get(block, home)
                found.setdefault(block, []).append((start, start + size, lease))
        return {block: sorted(uses) for block, uses in found.items()}

    def offset(self, home: int) -> int:
        """Where a home address is on the tape."""
        before = 0
        for start, end in self._spans:
            if home < end:
                return before + max(home - start, 0)
            before += end - start
        return before

    def parts(self, block: int, start: int) -> list[Part]:
        """A whole block that is drawn from `start` on, cut where its owner changes."""
        cuts, done = [], 0
        for low, high, lease in self._used.get(block, []):
            cuts += [(done, low, NONE), (low, high, lease)]
            done = high
        cuts.append((done, self.sizes[block], NONE))
        return [self._part(block, start, cut) for cut in cuts if cut[0] < cut[1]]

    def _part(self, block: int, start: int, cut: tuple[int, int, int]) -> Part:
        low, high, lease = cut
        place = (self.offset(self.state.homes.get(block, 0)) + low) / max(self.size, 1)
        return Part(start + low, high - low, place, lease, block, block in self.doubtful)

    def row(self, range_id: int) -> Row:
        mapped = sorted(
            (address, block) for owner, block, address in self.snapshot.mappings.tolist() if owner == range_id
        )
        base = mapped[0][0] if mapped else 0
        parts = tuple(part for address, block in mapped for part in self.parts(block, address - base))
        return Row(range_id, True, sum(part.size for part in parts), parts)


def tape_of(snapshot: Snapshot) -> Tape:
    layout = _Layout(snapshot)
    parts = [part for block, home in layout.state.homes.items() for part in layout.parts(block, layout.offset(home))]
    stitched = snapshot.ranges["id"][snapshot.ranges["kind"] == RangeKind.STITCHED].tolist()
    rows = sorted((layout.row(range_id) for range_id in stitched), key=lambda row: (-row.leased, -row.size, row.range))
    ordered = tuple(sorted(parts, key=lambda part: part.start))
    return Tape(layout.size, ordered, tuple(row for row in rows if row.parts), ranges_of_blocks(snapshot))


def wrapped(parts: tuple[Part, ...], width: int) -> list[tuple[int, int, Part]]:
    """The parts on lines of `width` bytes: line, start in the line, and the piece of the part that is there."""
    found = []
    for part in parts:
        done = 0
        while done < part.size:
            line, start = divmod(part.start + done, width)
            length = min(part.size - done, width - start)
            found.append(
                (line, start, Part(part.start + done, length, part.place, part.lease, part.block, part.doubtful))
            )
            done += length
    return found
