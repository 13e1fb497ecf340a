"""What pictures show, before it is drawn: bands, the tape, holes. Worked out by hand."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from histories import HOME, LIFE, MIB, life

from gmlake_jax.formats.leases import recording_of
from gmlake_jax.history import Kind, Recording, Snapshot
from gmlake_jax.history.schema import EVENT, NONE, table
from gmlake_jax.history.state import last_snapshot, snapshot_at_time
from gmlake_jax.pictures.bands import bands_of, peaks_kept, user_name
from gmlake_jax.pictures.colors import group_colors, pale, place_color
from gmlake_jax.pictures.holes import by_size, hole_sizes, holes_of
from gmlake_jax.pictures.tape import tape_of, wrapped
from gmlake_jax.traces import read_columns

TRACE = Path(__file__).resolve().parents[1] / "traces" / "opt-1.3b-LRO.npz"


# --- bands


def test_bands_are_annotations():
    bands = bands_of(life())
    assert bands.labels == ("activations", "weights")
    assert bands.time_ns.tolist() == [100, 110, 120, 200, 220, 310]
    assert (bands.bytes / MIB).tolist() == [[0, 2, 2, 2, 2, 6], [2, 2, 3, 1, 0, 0]]
    assert (bands.total / MIB).tolist() == [2, 4, 5, 3, 2, 6]


def test_bands_are_sizes_where_nothing_is_annotated():
    events = life().events.copy()
    events["annotation"] = NONE
    assert bands_of(life(events=events)).labels == ("1 to 32 MiB",)


def test_many_annotations_are_put_together():
    rows = [LIFE[7] | {"address": 4096 * (index + 1), "size": 100 - index, "annotation": index} for index in range(12)]
    bands = bands_of(life(events=table(EVENT, rows), annotations=tuple(f"a{index}" for index in range(12))))
    assert bands.labels == (*(f"a{index}" for index in range(8)), "others")
    assert bands.bytes[-1].max() == 92 + 91 + 90 + 89


def test_no_peak_is_missed_by_drawing_few_points():
    job = recording_of(read_columns(str(TRACE)), "opt", is_rmm=False)
    whole, few = bands_of(job, 10**9), bands_of(job, 50)
    assert len(few.time_ns) <= 52 < len(whole.time_ns)
    assert few.total.max() == whole.total.max()


def test_the_points_kept_are_the_first_the_last_and_the_peaks():
    values = np.array([1, 0, 0, 9, 0, 0, 0, 0, 5, 0, 0, 2])
    assert peaks_kept(values, 3).tolist() == [0, 3, 4, 8, 11]


@pytest.mark.parametrize(
    ("annotation", "name"),
    [("a/b/jit_f", "a/b"), ("a/jit_f/pjit_g", "a"), ("jit_f", "jit_f"), ("jit_f/jit_g", "jit_f"), ("a", "a"), ("", "")],
)
def test_executables_at_the_end_of_an_annotation_are_left_out(annotation, name):
    assert user_name(annotation) == name


def test_bands_of_nothing():
    assert bands_of(Recording()).labels == ()


# --- the tape


def shown(parts):
    return [(part.start / MIB, part.size / MIB, part.lease, part.block) for part in parts]


def test_the_tape_shows_who_uses_what():
    tape = tape_of(snapshot_at_time(life(), 120))
    assert tape.size == 6 * MIB
    assert shown(tape.parts) == [(0, 2, 0, 0), (2, 2, 1, 1), (4, 1, 2, 2), (5, 1, NONE, 2)]
    assert tape.rows == ()


def test_a_stitched_range_is_a_row_of_blocks_in_its_own_order():
    tape = tape_of(last_snapshot(life()))
    (row,) = tape.rows
    assert shown(row.parts) == [(0, 2, 1, 2), (2, 2, 1, 0)]
    assert (row.size, row.leased) == (4 * MIB, 4 * MIB)
    assert tape.sharing == {0: [0, 1], 1: [0], 2: [0, 1]}


def test_memory_has_its_place_wherever_it_is_shown():
    tape = tape_of(last_snapshot(life()))
    places = {part.block: part.place for part in tape.parts}
    assert places == pytest.approx({0: 0, 1: 1 / 3, 2: 2 / 3})
    assert all(part.place == places[part.block] for part in tape.rows[0].parts)


def test_spans_with_other_addresses_between_them_lie_end_to_end():
    snapshot = last_snapshot(life())
    mappings = snapshot.mappings.copy()
    mappings["address"][2] = HOME + 100 * MIB  # the home of block 2
    moved = replace(snapshot, mappings=mappings, leases=snapshot.leases[:1])
    assert shown(tape_of(moved).parts) == [(0, 2, NONE, 0), (2, 2, 0, 1), (4, 2, NONE, 2)]


def test_memory_in_doubt_is_marked():
    snapshot = last_snapshot(life())
    blocks = snapshot.blocks.copy()
    blocks["quarantined"][1] = 1
    assert [part.doubtful for part in tape_of(replace(snapshot, blocks=blocks)).parts] == [False, True, False]


def test_half_a_block_has_a_place_of_its_own():
    places = [part.place for part in tape_of(snapshot_at_time(life(), 120)).parts]
    assert places == pytest.approx([0, 2 / 6, 4 / 6, 5 / 6])


def test_the_tape_is_wrapped_into_lines():
    lines = wrapped(tape_of(snapshot_at_time(life(), 120)).parts, 3 * MIB)
    assert [(line, start / MIB, part.size / MIB, part.lease) for line, start, part in lines] == [
        (0, 0, 2, 0),
        (0, 2, 1, 1),
        (1, 0, 1, 1),
        (1, 1, 1, 2),
        (1, 2, 1, NONE),
    ]


def test_the_tape_of_nothing():
    assert tape_of(Snapshot()).parts == ()


# --- holes


def test_holes_over_time():
    holes = holes_of(life())
    at = dict(zip(holes.time_ns.tolist(), zip(holes.idle // MIB, holes.largest // MIB, strict=True), strict=True))
    assert at[120] == (1, 1)
    assert at[220] == (4, 2)
    assert at[460] == (0, 0)
    assert holes.time_ns[holes.worst] == 220


def test_the_sizes_of_holes():
    assert hole_sizes(snapshot_at_time(life(), 220)).tolist() == [2 * MIB, 2 * MIB]


def test_holes_by_size():
    labels, counts, total = by_size(np.array([70 * MIB, 64 * MIB, 3 * MIB, MIB]))
    assert labels == ["1 MiB to 4 MiB", "4 MiB to 16 MiB", "16 MiB to 64 MiB", "64 MiB to 256 MiB"]
    assert counts.tolist() == [2, 0, 0, 2]
    assert (total / MIB).tolist() == [4, 0, 0, 134]
    assert by_size(np.array([5, 300]))[0] == ["below 1 MiB"]
    assert by_size(np.zeros(0, np.int64))[0] == []


def test_holes_of_a_source_without_blocks():
    events = life().events
    assert holes_of(life(events=events[events["kind"] <= Kind.FREE])).idle.max() == 0


# --- colours


def test_colours():
    assert place_color(0) == "#3b3b98"
    assert place_color(1) == "#7a1f6b"
    assert place_color(0.1) == "#3f6fb5"
    assert pale("#000000") == "#c7c7c7"
    assert group_colors(["a", "others", "b"]) == {"a": "#4477aa", "b": "#ee6677", "others": "#b4b4b4"}
