"""What happened to a device's memory, as data: recordings (events over time) and snapshots (the state at one instant).

`schema` fixes the tables, `recording` and `snapshot` the two classes, `files` their npz and JSON files. Here is the
model alone: the allocator produces the data, `gmlake_jax.formats` turns it into other programs' files,
`gmlake_jax.pictures` into pictures. docs/recording.md describes every field for users.
"""

from gmlake_jax.history.files import load, load_recording, load_snapshot, save
from gmlake_jax.history.recording import Recording
from gmlake_jax.history.schema import About, HistoryError, Kind, LeaseState, RangeKind, Way
from gmlake_jax.history.snapshot import Snapshot

__all__ = [
    "About",
    "HistoryError",
    "Kind",
    "LeaseState",
    "RangeKind",
    "Recording",
    "Snapshot",
    "Way",
    "load",
    "load_recording",
    "load_snapshot",
    "save",
]
