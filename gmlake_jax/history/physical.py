"""Which physical bytes stand behind what: the pieces of each lease, the idle pieces, the ranges that share a block.

Every block has a home, its place in the primitive range that it was created with, so a byte of memory can be named by
its home address. A lease through a stitched range lies at many homes. Pure functions of a snapshot.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gmlake_jax.history.schema import NONE, Table
from gmlake_jax.history.snapshot import Snapshot
from gmlake_jax.history.state import State

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
    return State.of(snapshot).homes


def ranges_of_blocks(snapshot: Snapshot) -> dict[int, list[int]]:
    """Which ranges map each block, lowest id first."""
    found: dict[int, list[int]] = {block: [] for block in snapshot.blocks["id"].tolist()}
    for owner, block, _ in sorted(snapshot.mappings.tolist()):
        found[block].append(owner)
    return found


def pieces_of(snapshot: Snapshot) -> Table:
    """All pieces of all leases. A lease with nothing mapped behind it is one piece, at home where it is."""
    state = State.of(snapshot)
    rows = [
        (index, *piece)
        for index, (address, size) in enumerate(snapshot.leases[["address", "size"]].tolist())
        for piece in state.pieces(address, size)
    ]
    return np.array(rows, PIECE)


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
