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


def _map(time_ns, owner, block, address):
    return {"time_ns": time_ns, "kind": Kind.MAP, "range": owner, "block": block, "address": address, "size": 2 * MIB}


def _create(block):
    return [{"kind": Kind.CREATE, "block": block, "size": 2 * MIB}, _map(0, 0, block, HOME + 2 * MIB * block)]


def _alloc(time_ns, address, size, annotation, way, owner=0, requested=None):
    row = {"time_ns": time_ns, "kind": Kind.ALLOC, "address": address, "size": size, "range": owner, "way": way}
    return row | {"annotation": annotation, "requested": requested or size}


def _free(time_ns, address, size):
    return {"time_ns": time_ns, "kind": Kind.FREE, "address": address, "size": size}


LIFE = [
    {"kind": Kind.RESERVE, "range": 0, "address": HOME, "size": 8 * MIB},
    *_create(0),
    *_create(1),
    *_create(2),
    _alloc(100, HOME, 2 * MIB, 0, Way.GROW),
    _alloc(110, HOME + 2 * MIB, 2 * MIB, 1, Way.GROW),
    _alloc(120, HOME + 4 * MIB, 1 * MIB, 0, Way.SPLIT, requested=MIB - 24),
    _free(200, HOME, 2 * MIB),
    _free(220, HOME + 4 * MIB, 1 * MIB),
    {"time_ns": 300, "kind": Kind.STITCH, "range": 1, "address": STITCHED, "size": 4 * MIB},
    _map(300, 1, 2, STITCHED),
    _map(300, 1, 0, STITCHED + 2 * MIB),
    _alloc(310, STITCHED, 4 * MIB, 1, Way.STITCH, owner=1, requested=4 * MIB - 100),
    {"time_ns": 400, "kind": Kind.REFUSED, "requested": 100 * MIB, "annotation": 1},
    {"time_ns": 450, "kind": Kind.MARK, "annotation": 2},
    {"time_ns": 460, "kind": Kind.LIMIT, "size": 6 * MIB},
]


def life(**changes):
    """Three blocks; the first and the last are freed and stitched into one lease around the one in the middle.

    Leased after the events at 120: 5 MiB; after 220: 2 MiB, with two holes of 2 MiB; at the end: 6 MiB of 6.
    """
    parts = {"about": ABOUT, "events": table(EVENT, LIFE), "annotations": ("weights", "activations", "step")}
    return Recording(**(parts | changes))
