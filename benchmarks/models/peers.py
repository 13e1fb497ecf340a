"""The allocators that are compared: their environments, how each is held to a limit, and which one really served.

jaxlib has changed what a variable means from version to version, so a result counts only if the child process saw the
allocator that was asked for. `identify` tells them apart by JAX's statistics and by where two small arrays lie: XLA's
`vmm` and `platform` have no statistics, and `vmm` gives every array, however small, a physical block of its own.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

GRANULE = 2 << 20
SCRUBBED = ("GMLAKE", "XLA_PYTHON_CLIENT", "XLA_CLIENT_MEM_FRACTION")
HOST_LIMIT_GB = "110"  # XLA stops page-locked host memory at 64 GiB, which the moments of 13B need more than


@dataclass(frozen=True)
class Peer:
    """One allocator. `limit_by` is fraction, gmlake, or ballast where the allocator follows no limit."""

    name: str
    serves: str
    environment: dict[str, str] = field(default_factory=dict)
    limit_by: str = "fraction"


PEERS = {
    each.name: each
    for each in (
        Peer("default", "bfc_preallocated"),
        Peer("fraction95", "bfc_preallocated", {"XLA_CLIENT_MEM_FRACTION": "0.95"}),
        Peer("on_demand", "bfc_on_demand", {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}),
        Peer(
            "cuda_async",
            "cuda_async",
            {"XLA_PYTHON_CLIENT_ALLOCATOR": "cuda_async", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"},
            "ballast",
        ),
        Peer("vmm", "vmm", {"XLA_PYTHON_CLIENT_ALLOCATOR": "vmm"}),
        Peer("platform", "platform", {"XLA_PYTHON_CLIENT_ALLOCATOR": "platform"}, "ballast"),
        Peer("ours", "gmlake", {"GMLAKE": "1"}, "gmlake"),
    )
}


def limit_variables(peer: Peer, limit: int | None, total: int) -> dict[str, str]:
    """The variables that hold a peer to `limit` bytes of a device of `total` bytes."""
    if limit is None or peer.limit_by == "ballast":
        return {}
    if peer.limit_by == "gmlake":
        return {"GMLAKE_LIMIT": str(limit)}
    return {"XLA_CLIENT_MEM_FRACTION": f"{limit / total:.6f}"}


def environment(peer: Peer, limit: int | None = None, total: int = 0) -> dict[str, str]:
    """The whole environment of a child process under a peer."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(SCRUBBED)}
    if peer.name == "ours":  # options of ours that the caller gave, such as GMLAKE_RECORD
        inherited |= {name: value for name, value in os.environ.items() if name.startswith("GMLAKE_")}
    kept = {name: value for name, value in os.environ.items() if name.startswith("GMLAKE_EMULATOR")}
    host = {"XLA_PJRT_GPU_HOST_MEMORY_LIMIT_GB": HOST_LIMIT_GB}
    return inherited | kept | host | peer.environment | limit_variables(peer, limit, total)


def identify(active: bool, stats: dict[str, Any] | None, small: list[int]) -> str:
    """Which allocator served: whether ours says so, JAX's statistics, and the addresses of two small arrays."""
    if active:
        return "gmlake"
    if not stats:
        return "vmm" if all(address % GRANULE == 0 for address in small) else "platform"
    pool = stats.get("pool_bytes")
    if pool is None:
        return "cuda_async"
    return "bfc_preallocated" if pool >= 0.5 * stats["bytes_limit"] else "bfc_on_demand"
