"""What recordings and snapshots amount to: states, curves, buffers, pieces. Every number is worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest
from histories import HOME, LIFE, MIB, STITCHED, life, recording, stitched_snapshot

from gmlake_jax.history import Kind, RangeKind, Recording, Snapshot, Way
from gmlake_jax.history.files import to_parts
from gmlake_jax.history.physical import (
    homes_of,
    idle_spans,
    memory_spans,
    merge_spans,
    pieces_of,
    ranges_of_blocks,
)
from gmlake_jax.history.schema import EVENT, LEASE, NONE, table
from gmlake_jax.history.series import buffers_of, marks_of, peak_snapshot, series_of
from gmlake_jax.history.state import last_snapshot, snapshot_at_time, start_of


def spans(rows):
    return [((start - HOME) / MIB, (end - HOME) / MIB) for start, end in rows.tolist()]


# --- states


def test_the_events_lead_to_the_state_at_the_end():
    end = last_snapshot(life())
    assert end.blocks["id"].tolist() == [0, 1, 2]
    assert end.ranges.tolist() == [(0, RangeKind.PRIMITIVE, HOME, 8 * MIB), (1, RangeKind.STITCHED, STITCHED, 4 * MIB)]
    assert end.mappings[["range", "block"]].tolist() == [(0, 0), (0, 1), (0, 2), (1, 2), (1, 0)]
    assert end.leases["address"].tolist() == [HOME + 2 * MIB, STITCHED]
    assert end.leases["requested"].tolist() == [2 * MIB, 4 * MIB - 100]
    assert end.leases["time_ns"].tolist() == [110, 310]
    assert end.time_ns == 460
    assert (end.live_bytes, end.reserved_bytes) == (6 * MIB, 6 * MIB)


@pytest.mark.parametrize(
    ("time_ns", "live"), [(0, 0), (99, 0), (100, 2), (119, 4), (120, 5), (200, 3), (250, 2), (310, 6), (10**9, 6)]
)
def test_the_state_at_a_time(time_ns, live):
    assert snapshot_at_time(life(), time_ns).live_bytes == live * MIB


def test_the_state_at_the_peak():
    assert peak_snapshot(life()).time_ns == 310
    assert peak_snapshot(Recording()).live_bytes == 0


def parts_of(snapshot, *tables):
    return {name: rows.tolist() for name, rows in to_parts(snapshot)[1].items() if name in tables}


@pytest.mark.parametrize("cut", range(len(LIFE)))
def test_undoing_the_events_from_the_end_gives_the_state_before_them(cut):
    """The recorder lost the first `cut` events; the snapshot of the end makes up for them."""
    whole = life()
    end = last_snapshot(whole)
    late = life(events=whole.events[cut:], dropped=cut, end=end)
    expected = last_snapshot(life(events=whole.events[:cut]))
    tables = ("ranges", "blocks", "mappings")
    found = start_of(late).snapshot(annotations=whole.annotations)
    assert parts_of(found, *tables) == parts_of(expected, *tables)
    assert found.leases[["address", "size"]].tolist() == expected.leases[["address", "size"]].tolist()


def test_without_a_snapshot_what_is_freed_unasked_was_there():
    late = life(events=life().events[10:])  # from the first free on
    assert start_of(late).snapshot(annotations=late.annotations).leases[["address", "size"]].tolist() == [
        (HOME, 2 * MIB),
        (HOME + 4 * MIB, 1 * MIB),
    ]


def test_pending_leases_of_the_end_are_not_alive():
    end = last_snapshot(life())
    leases = end.leases.copy()
    leases["state"] = 1
    assert start_of(life(events=table(EVENT), end=replace(end, leases=leases))).leases == {}


# --- curves


def test_the_curves():
    series = series_of(life())
    at = {int(time): index for index, time in enumerate(series.time_ns)}  # the last event of each time
    assert [series.live[at[time]] / MIB for time in (0, 100, 110, 120, 200, 220, 310, 460)] == [0, 2, 4, 5, 3, 2, 6, 6]
    assert series.requested[at[120]] == 5 * MIB - 24
    assert series.requested[at[220]] == 2 * MIB
    assert series.requested[at[310]] == 6 * MIB - 100
    assert [series.reserved[at[time]] / MIB for time in (0, 460)] == [6, 6]
    assert [series.mapped[at[time]] / MIB for time in (0, 220, 300)] == [6, 6, 10]
    assert [series.limit[at[time]] / MIB for time in (0, 450, 460)] == [8, 8, 6]
    assert series.reserved[:4].tolist() == [0, 0, 2 * MIB, 2 * MIB]
    assert series.knows_blocks


def test_a_limit_that_is_that_of_the_end_was_not_that_of_the_beginning():
    whole = life()
    about = replace(whole.about, limit_bytes=6 * MIB)
    limits = series_of(life(about=about)).limit
    assert (limits[0], limits[-1]) == (NONE, 6 * MIB)
    assert series_of(life(about=about, events=whole.events[:15])).limit[0] == 6 * MIB


def test_the_curves_of_a_late_recording_start_where_it_started():
    whole = life()
    late = life(events=whole.events[10:], end=last_snapshot(whole))
    series = series_of(late)
    assert (series.live[0], series.reserved[0], series.mapped[0]) == (5 * MIB, 6 * MIB, 6 * MIB)
    assert series.live[-1] == 6 * MIB


def test_a_source_that_tells_of_leases_alone_has_no_blocks():
    events = life().events
    assert not series_of(life(events=events[events["kind"] <= Kind.FREE])).knows_blocks


def test_the_curves_of_nothing():
    series = series_of(Recording())
    assert (series.live.tolist(), series.limit.tolist()) == ([0], [NONE])


# --- buffers


def test_buffers_begin_and_end():
    found = buffers_of(life())
    assert found[["start_ns", "end_ns", "annotation", "way"]].tolist() == [
        (100, 200, 0, Way.GROW),
        (110, NONE, 1, Way.GROW),
        (120, 220, 0, Way.SPLIT),
        (310, NONE, 1, Way.STITCH),
    ]
    assert found["requested"].tolist() == [2 * MIB, 2 * MIB, MIB - 24, 4 * MIB - 100]


def test_a_buffer_from_before_the_recording_has_no_beginning():
    whole = life()
    late = life(events=whole.events[10:], end=last_snapshot(whole))
    assert {row: tuple(rest) for row, *rest in buffers_of(late)[["address", "start_ns", "end_ns"]].tolist()} == {
        HOME: (NONE, 200),
        HOME + 2 * MIB: (NONE, NONE),
        HOME + 4 * MIB: (NONE, 220),
        STITCHED: (310, NONE),
    }


def test_an_address_that_is_used_again_is_another_buffer():
    events = table(EVENT, [LIFE[7], LIFE[10], LIFE[7] | {"time_ns": 500}])
    assert buffers_of(life(events=events))[["start_ns", "end_ns"]].tolist() == [(100, 200), (500, NONE)]


def test_marks_have_names():
    assert marks_of(life()) == [(450, "step")]


# --- physical bytes


def placed(snapshot):
    """Block, home and size of every piece; in MiB from the first home."""
    return [(block, (home - HOME) / MIB, size / MIB) for _, block, home, size, _ in pieces_of(snapshot).tolist()]


def test_a_stitched_lease_lies_at_the_homes_of_its_blocks():
    snapshot = last_snapshot(life())
    assert placed(snapshot) == [(1, 2, 2), (2, 4, 2), (0, 0, 2)]
    assert pieces_of(snapshot)[["lease", "offset"]].tolist() == [(0, 0), (1, 0), (1, 2 * MIB)]


def test_a_lease_may_begin_and_end_inside_blocks():
    rows = [{"address": STITCHED + MIB, "size": 2 * MIB, "range": 1}]
    snapshot = replace(last_snapshot(life()), leases=table(LEASE, rows))
    assert placed(snapshot) == [(2, 5, 1), (0, 0, 1)]


@pytest.mark.parametrize("address", [1, STITCHED + 3 * MIB, HOME + 6 * MIB])
def test_a_lease_that_nothing_known_stands_behind_is_one_piece(address):
    snapshot = replace(last_snapshot(life()), leases=table(LEASE, [{"address": address, "size": 2 * MIB}]))
    assert pieces_of(snapshot).tolist() == [(0, NONE, address, 2 * MIB, 0)]


def test_homes_and_sharing():
    snapshot = stitched_snapshot()
    assert homes_of(snapshot) == {5: HOME, 6: HOME + 2 * MIB}
    assert ranges_of_blocks(snapshot) == {5: [0, 1], 6: [0, 1]}
    assert ranges_of_blocks(last_snapshot(life())) == {0: [0, 1], 1: [0], 2: [0, 1]}


def test_neighbouring_blocks_are_one_span_of_memory():
    assert spans(memory_spans(last_snapshot(life()))) == [(0, 6)]


@pytest.mark.parametrize(
    ("time_ns", "idle"), [(0, [(0, 6)]), (119, [(4, 6)]), (120, [(5, 6)]), (250, [(0, 2), (4, 6)]), (310, [])]
)
def test_idle_memory_is_what_no_lease_uses(time_ns, idle):
    assert spans(idle_spans(snapshot_at_time(life(), time_ns))) == idle


def test_a_lease_of_unknown_memory_changes_nothing_about_idle_memory():
    snapshot = snapshot_at_time(life(), 250)
    rows = [{"address": HOME + 5 * MIB, "size": 2 * MIB}]  # half of it is mapped nowhere
    assert spans(idle_spans(replace(snapshot, leases=table(LEASE, rows)))) == [(0, 6)]


def test_memory_in_doubt_is_not_idle():
    snapshot = snapshot_at_time(life(), 250)
    blocks = snapshot.blocks.copy()
    blocks["quarantined"][0] = 1
    assert spans(idle_spans(replace(snapshot, blocks=blocks))) == [(4, 6)]


def test_merging_spans():
    starts, ends = np.array([5, 0, 1, 3, 20]), np.array([6, 4, 2, 5, 21])
    assert merge_spans(starts, ends).tolist() == [(0, 6), (20, 21)]
    assert len(merge_spans(np.array([], np.int64), np.array([], np.int64))) == 0


def test_an_empty_snapshot_has_no_memory():
    assert len(pieces_of(Snapshot())) == len(idle_spans(Snapshot())) == 0


def test_a_recording_of_one_lease_freed_unasked():
    assert start_of(recording(end=None)).leases == {}
