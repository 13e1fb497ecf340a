"""The state of a device's memory at one instant."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gmlake_jax.history.schema import (
    BLOCK,
    LEASE,
    MAPPING,
    MOST,
    NONE,
    RANGE,
    About,
    HistoryError,
    LeaseState,
    RangeKind,
    Table,
    Way,
    check_sum,
    check_table,
    check_values,
    table,
)

_DTYPES = {"ranges": RANGE, "blocks": BLOCK, "mappings": MAPPING, "leases": LEASE}


@dataclass(frozen=True)
class Snapshot:
    """All ranges, blocks and leases of a device, and who maps what, under one lock.

    Model: four tables that refer to each other by id; which physical bytes stand behind a lease follows from its
    address and the mappings. Invariant, checked when made: every id and every annotation that is referred to exists.
    Immutable; free to share between threads.
    """

    about: About = field(default_factory=About)
    ranges: Table = field(default_factory=lambda: table(RANGE))
    blocks: Table = field(default_factory=lambda: table(BLOCK))
    mappings: Table = field(default_factory=lambda: table(MAPPING))
    leases: Table = field(default_factory=lambda: table(LEASE))
    annotations: tuple[str, ...] = ()
    stats: dict[str, Any] = field(default_factory=dict)  # memory_stats() of the same instant
    time_ns: int = NONE  # since the start of the recording that it belongs to

    def __post_init__(self) -> None:
        for name, dtype in _DTYPES.items():
            check_table(name, getattr(self, name), dtype)
        check_values("range", self.ranges, "kind", 0, len(RangeKind))
        check_values("lease", self.leases, "state", 0, len(LeaseState))
        check_values("lease", self.leases, "way", 0, len(Way))
        check_values("lease", self.leases, "annotation", NONE, len(self.annotations))
        self._check_references("range", self.ranges)
        self._check_references("block", self.blocks)
        for name, rows in (("block", self.blocks), ("range", self.ranges), ("lease", self.leases)):
            check_values(name, rows, "size", 0, MOST)
            check_sum(name, rows, "size")
        check_values("lease", self.leases, "requested", NONE, MOST)
        check_sum("lease", self.leases, "requested")
        check_sum("mapping", self.blocks, "size", len(self.mappings))
        check_values("lease", self.leases, "time_ns", -MOST, MOST)
        for name, rows in (("range", self.ranges), ("mapping", self.mappings), ("lease", self.leases)):
            check_values(name, rows, "address", 0, MOST)

    def _check_references(self, column: str, target: Table) -> None:
        wrong = np.flatnonzero(~np.isin(self.mappings[column], target["id"]))
        if len(wrong):
            raise HistoryError(f"mapping {wrong[0]}: there is no {column} {self.mappings[column][wrong[0]]}")

    @property
    def reserved_bytes(self) -> int:
        """Physical memory held."""
        return int(self.blocks["size"].sum())

    @property
    def live_bytes(self) -> int:
        return int(self.leases["size"][self.leases["state"] == LeaseState.LIVE].sum())

    def annotation(self, index: int) -> str:
        return self.annotations[index] if index >= 0 else ""

    def save(self, path: str, *, force: bool = False) -> None:
        """Writes npz, or JSON where `path` ends so; an existing file is kept unless `force`."""
        from gmlake_jax.history.files import save

        save(self, path, force=force)

    @classmethod
    def load(cls, path: str) -> Snapshot:
        """The snapshot in `path`; of a recording, the one taken at its end. HistoryError where there is none."""
        from gmlake_jax.history.files import load_snapshot

        return load_snapshot(path)
