"""What grew between two states: live leases by annotation, or by size where nothing is annotated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gmlake_jax.history.schema import NONE, LeaseState
from gmlake_jax.history.snapshot import Snapshot
from gmlake_jax.sizes import format_bytes


@dataclass(frozen=True)
class Change:
    """Leases of one name, before and after."""

    name: str
    count: tuple[int, int]
    bytes: tuple[int, int]

    @property
    def growth(self) -> int:
        return self.bytes[1] - self.bytes[0]


def has_annotations(snapshot: Snapshot) -> bool:
    return bool((snapshot.leases["annotation"] != NONE).any())


def _grouped(snapshot: Snapshot, by_size: bool) -> dict[str, tuple[int, int]]:
    """Count and bytes of the live leases of each name."""
    found: dict[str, tuple[int, int]] = {}
    live = snapshot.leases[snapshot.leases["state"] == LeaseState.LIVE]
    for size, annotation in live[["size", "annotation"]].tolist():
        name = _size_name(size) if by_size else snapshot.annotation(annotation) or "no annotation"
        count, total = found.get(name, (0, 0))
        found[name] = (count + 1, total + size)
    return found


def _size_name(size: int) -> str:
    """Exact, so that leases of nearly one size are told apart."""
    return f"{size:,} B ({format_bytes(size)})" if size >= 1024 else f"{size:,} B"


def changes_between(before: Snapshot, after: Snapshot, by_size: bool) -> list[Change]:
    """All names that either has, those that grew most first; what did not change comes last."""
    first, second = _grouped(before, by_size), _grouped(after, by_size)
    changes = []
    for name in dict.fromkeys([*first, *second]):
        (count, total), (count2, total2) = first.get(name, (0, 0)), second.get(name, (0, 0))
        changes.append(Change(name, (count, count2), (total, total2)))
    return sorted(changes, key=lambda change: (-change.growth, change.name))


def totals(snapshot: Snapshot) -> dict[str, int]:
    """The sums of a state, under the names of memory_stats()."""
    live = snapshot.leases[snapshot.leases["state"] == LeaseState.LIVE]
    return {
        "bytes_in_use": int(np.sum(live["size"])),
        "bytes_requested": int(np.sum(live["requested"])),
        "bytes_reserved": snapshot.reserved_bytes,
        "num_live": len(live),
        "num_blocks": len(snapshot.blocks),
        "num_ranges": len(snapshot.ranges),
    }
