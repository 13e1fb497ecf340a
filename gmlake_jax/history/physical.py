"""Which physical bytes stand behind what: the pieces of each lease, the idle pieces, the ranges that share a block.

Every block has a home, its place in the primitive range that it was created with, so a byte of memory can be named by
its home address. A lease through a stitched range lies at many homes. Pure functions of a snapshot.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gmlake_jax.history.schema import NONE, RangeKind, Table
from gmlake_jax.history.snapshot import Snapshot

Integers: TypeAlias = NDArray[np.int64]

# Bytes of a lease that lie together in one block.
PIECE = np.dtype(
    [
        ("lease", "<i8"),  # index into the leases
        ("block", "<i8"),  # id; NONE where nothing is known of blocks
        ("home", "<i8"),  # home address of the first byte
        ("size", "<i8"),
        ("offset", "<i8"),  # in the lease
    ]
)
# Bytes [start, end) of home addresses.
SPAN = np.dtype([("start", "<i8"), ("end", "<i8")])


def homes_of(snapshot: Snapshot) -> dict[int, int]:
    """The home address of each block."""
    primitive = set(snapshot.ranges["id"][snapshot.ranges["kind"] == RangeKind.PRIMITIVE].tolist())
    return {block: address for owner, block, address in snapshot.mappings.tolist() if owner in primitive}


def ranges_of_blocks(snapshot: Snapshot) -> dict[int, list[int]]:
    """Which ranges map each block, lowest id first."""
    found: dict[int, list[int]] = {block: [] for block in snapshot.blocks["id"].tolist()}
    for owner, block, _ in sorted(snapshot.mappings.tolist()):
        found[block].append(owner)
    return found


def pieces_of(snapshot: Snapshot) -> Table:
    """All pieces of all leases. A lease with nothing mapped behind it is one piece, at home where it is."""
    rows: list[tuple[int, int, int, int, int]] = []
    finder = _PieceFinder(snapshot)
    for index, (address, size) in enumerate(snapshot.leases[["address", "size"]].tolist()):
        rows += [(index, *piece) for piece in finder.find(address, size)]
    return np.array(rows, PIECE)


class _PieceFinder:
    """Walks the mappings from an address on. Immutable once made; logarithmic to begin, then a step a block."""

    def __init__(self, snapshot: Snapshot):
        mappings = snapshot.mappings[np.argsort(snapshot.mappings["address"])]
        self._mappings: list[tuple[int, int, int]] = mappings.tolist()
        self._addresses = mappings["address"]
        self._sizes: dict[int, int] = dict(snapshot.blocks[["id", "size"]].tolist())
        self._homes = homes_of(snapshot)

    def find(self, address: int, size: int) -> list[tuple[int, int, int, int]]:
        """Block, home, size and offset of each piece of `size` bytes from `address` on."""
        index = int(np.searchsorted(self._addresses, np.uint64(address), side="right")) - 1
        found, done = [], 0
        while done < size and 0 <= index < len(self._mappings):
            _, block, start = self._mappings[index]
            inside = address + done - start
            length = min(size - done, self._sizes[block] - inside)
            if inside < 0 or length <= 0:
                break
            found.append((block, self._homes.get(block, start) + inside, length, done))
            done, index = done + length, index + 1
        return found if done == size else [(NONE, address, size, 0)]


def merge_spans(starts: Integers, ends: Integers) -> Table:
    """The spans that these cover together, in order; such that touch are one."""
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], ends[order]
    reach = np.maximum.accumulate(ends) if len(ends) else ends
    first = np.ones(len(starts), bool)
    first[1:] = starts[1:] > reach[:-1]
    spans = np.zeros(int(first.sum()), SPAN)
    spans["start"] = starts[first]
    spans["end"] = reach[np.append(np.flatnonzero(first)[1:] - 1, len(starts) - 1)] if len(starts) else []
    return spans


def memory_spans(snapshot: Snapshot) -> Table:
    """Where there is physical memory, by home address; neighbouring blocks are one span."""
    homes = homes_of(snapshot)
    known = [(homes[block], homes[block] + size) for block, _, size in snapshot.blocks.tolist() if block in homes]
    bounds = np.array(known, np.int64).reshape(-1, 2)
    return merge_spans(bounds[:, 0], bounds[:, 1])


def _used_spans(snapshot: Snapshot) -> Table:
    """Home addresses that leases use, or that are in doubt."""
    pieces = pieces_of(snapshot)
    pieces = pieces[pieces["block"] != NONE]
    homes = homes_of(snapshot)
    doubtful = [(homes[block], homes[block] + size) for block, flag, size in snapshot.blocks.tolist() if flag]
    bounds = np.array(doubtful, np.int64).reshape(-1, 2)
    return merge_spans(
        np.concatenate([pieces["home"], bounds[:, 0]]),
        np.concatenate([pieces["home"] + pieces["size"], bounds[:, 1]]),
    )


def idle_spans(snapshot: Snapshot) -> Table:
    """Physical memory that no lease uses: what is contiguous there could be handed out without stitching."""
    memory, used = memory_spans(snapshot), _used_spans(snapshot)
    idle = np.zeros(len(memory) + len(used), SPAN)
    idle["start"] = np.sort(np.concatenate([memory["start"], used["end"]]))
    idle["end"] = np.sort(np.concatenate([memory["end"], used["start"]]))
    return idle[idle["end"] > idle["start"]]
