"""What happened to a device's memory, event by event."""

from __future__ import annotations

from dataclasses import dataclass, field

from gmlake_jax.history.schema import (
    EVENT,
    MOST,
    NONE,
    About,
    Kind,
    Table,
    Way,
    check_sum,
    check_table,
    check_values,
    table,
)
from gmlake_jax.history.snapshot import Snapshot


@dataclass(frozen=True)
class Recording:
    """The events of one device in the order in which they happened, and the state at the end.

    Model: a table of events; an alloc and its free have the same address, and no address is handed out twice at a time.
    The recorder keeps the last events only: `dropped` tells how many came before them, so a free may lack its alloc.
    What was alive at the start follows from such frees and from `end`. Invariant, checked when made: kinds, ways and
    annotations exist, no size is negative. Immutable; free to share between threads.
    """

    about: About = field(default_factory=About)
    events: Table = field(default_factory=lambda: table(EVENT))
    annotations: tuple[str, ...] = ()
    dropped: int = 0
    end: Snapshot | None = None

    def __post_init__(self) -> None:
        check_table("events", self.events, EVENT)
        check_values("event", self.events, "kind", 0, len(Kind))
        check_values("event", self.events, "way", 0, len(Way))
        check_values("event", self.events, "annotation", NONE, len(self.annotations))
        check_values("event", self.events, "size", 0, MOST)
        granted = self.events[self.events["kind"] != Kind.REFUSED]  # anything may have been asked for
        check_values("granted event", granted, "requested", NONE, MOST)
        for column in ("size", "requested"):
            check_sum("events", granted, column)
        check_values("event", self.events, "time_ns", 0, MOST)
        check_values("event", self.events, "address", 0, MOST)

    @property
    def duration_ns(self) -> int:
        return int(self.events["time_ns"].max(initial=0))

    def annotation(self, index: int) -> str:
        return self.annotations[index] if index >= 0 else ""

    def save(self, path: str, *, force: bool = False) -> None:
        """Writes npz, or JSON where `path` ends so; an existing file is kept unless `force`."""
        from gmlake_jax.history.files import save

        save(self, path, force=force)

    @classmethod
    def load(cls, path: str) -> Recording:
        """The recording in `path`. HistoryError where it is none."""
        from gmlake_jax.history.files import load_recording

        return load_recording(path)
