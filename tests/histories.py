"""Small histories whose every number can be worked out by hand: what tests of files, pictures and comparisons use."""

from gmlake_jax.history import About, Kind, LeaseState, RangeKind, Recording, Snapshot, Way
from gmlake_jax.history.schema import BLOCK, EVENT, LEASE, MAPPING, RANGE, table

MIB = 1 << 20
HOME, STITCHED = 0x1000_0000, 0x9000_0000
ABOUT = About(device=1, device_name="NVIDIA H200", limit_bytes=8 * MIB, program="train.py", versions={"jax": "0.11.2"})

RANGES = table(
    RANGE,
    [
        {"id": 0, "kind": RangeKind.PRIMITIVE, "address": HOME, "size": 4 * MIB},
        {"id": 1, "kind": RangeKind.STITCHED, "address": STITCHED, "size": 4 * MIB},
    ],
)
BLOCKS = table(BLOCK, [{"id": 5, "size": 2 * MIB}, {"id": 6, "size": 2 * MIB}])
MAPPINGS = table(MAPPING, [(0, 5, HOME), (0, 6, HOME + 2 * MIB), (1, 6, STITCHED), (1, 5, STITCHED + 2 * MIB)])
WEIGHTS = {
    "address": STITCHED,
    "size": 4 * MIB,
    "requested": 4 * MIB - 100,
    "range": 1,
    "annotation": 0,
    "way": Way.STITCH,
    "state": LeaseState.LIVE,
}


def stitched_snapshot(**changes):
    """Two blocks of 2 MiB at home in range 0; range 1 maps both again in the other order, and is leased whole."""
    parts = {
        "about": ABOUT,
        "ranges": RANGES,
        "blocks": BLOCKS,
        "mappings": MAPPINGS,
        "leases": table(LEASE, [WEIGHTS]),
        "annotations": ("weights",),
        "stats": {"bytes_in_use": 4 * MIB, "ways": {"stitch": {"count": 1, "bytes": 4 * MIB - 100}}},
        "time_ns": 900,
    }
    return Snapshot(**(parts | changes))


def recording(**changes):
    """A block is created, the stitched range leased and given back."""
    events = table(
        EVENT,
        [
            {"time_ns": 0, "kind": Kind.CREATE, "block": 5, "size": 2 * MIB},
            {"time_ns": 500, "kind": Kind.ALLOC, "address": STITCHED, "size": 4 * MIB, "annotation": 0, "way": 4},
            {"time_ns": 900, "kind": Kind.FREE, "address": STITCHED, "size": 4 * MIB},
        ],
    )
    parts = {"about": ABOUT, "events": events, "annotations": ("weights",), "dropped": 7, "end": stitched_snapshot()}
    return Recording(**(parts | changes))
