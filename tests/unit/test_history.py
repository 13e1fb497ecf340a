"""Recordings and snapshots: a round trip through both files, and one line for everything that is no such file."""

import dataclasses
import json
import pickle
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from histories import MIB, recording, stitched_snapshot

from gmlake_jax import npz
from gmlake_jax.errors import CommandError
from gmlake_jax.history import About, HistoryError, Kind, LeaseState, Recording, Snapshot, Way, files
from gmlake_jax.history.schema import BLOCK, EVENT, LEASE, MAPPING, RANGE, table


def assert_equal(first, second):
    meta, tables = files.to_parts(first)
    other_meta, other_tables = files.to_parts(second)
    assert type(first) is type(second)
    assert meta == other_meta
    assert set(tables) == set(other_tables)
    for name, rows in tables.items():
        np.testing.assert_array_equal(rows, other_tables[name], name)


@pytest.mark.parametrize("name", ["history.npz", "history.json"])
@pytest.mark.parametrize("make", [stitched_snapshot, recording, Recording, Snapshot, lambda: recording(end=None)])
def test_what_was_saved_comes_back_whole(make, name, tmp_path):
    path = tmp_path / name
    made = make()
    made.save(path)
    assert_equal(files.load(path), made)
    assert_equal(type(made).load(path), made)


def test_the_two_formats_are_told_apart_by_content(tmp_path):
    recording().save(tmp_path / "a.json")
    (tmp_path / "a.json").rename(tmp_path / "a.npz")
    assert_equal(files.load(tmp_path / "a.npz"), recording())


def test_the_numbers_of_words_never_change():
    kinds = "alloc free refused create release map unmap reserve stitch drop limit trim quarantine mark"
    assert " ".join(kind.name.lower() for kind in Kind) == kinds
    assert [way.name for way in Way] == ["NONE", "SMALL", "REUSE", "SPLIT", "STITCH", "GROW"]
    assert [*Kind] == [*range(14)]
    assert (EVENT.itemsize, RANGE.itemsize, BLOCK.itemsize, MAPPING.itemsize, LEASE.itemsize) == (56, 24, 16, 16, 56)


def test_the_totals_of_a_snapshot():
    snapshot = stitched_snapshot()
    assert snapshot.reserved_bytes == 4 * MIB  # mapped twice, but held once
    assert snapshot.live_bytes == 4 * MIB
    leases = snapshot.leases.copy()
    leases["state"] = LeaseState.PENDING
    assert stitched_snapshot(leases=leases).live_bytes == 0


def test_a_table_can_be_made_of_raw_memory():
    events = recording().events
    np.testing.assert_array_equal(table(EVENT, events.tobytes()), events)


def test_the_snapshot_of_a_recording_is_that_of_its_end(tmp_path):
    recording().save(tmp_path / "r.npz")
    assert_equal(Snapshot.load(tmp_path / "r.npz"), stitched_snapshot())


def test_json_has_words_for_numbers(tmp_path):
    recording().save(tmp_path / "r.json")
    content = json.loads((tmp_path / "r.json").read_text())
    assert content["tables"]["events"]["kind"] == ["create", "alloc", "free"]
    assert content["tables"]["end_leases"]["way"] == ["stitch"]
    assert content["tables"]["end_ranges"]["kind"] == ["primitive", "stitched"]


def test_nothing_is_overwritten_without_force(tmp_path):
    path = tmp_path / "r.npz"
    path.write_text("precious")
    with pytest.raises(CommandError, match="exists already; give force=True to overwrite it"):
        recording().save(path)
    assert path.read_text() == "precious"
    recording().save(path, force=True)
    assert_equal(Recording.load(path), recording())
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.npz"]


@pytest.mark.parametrize("name", ["a.foo", "a", "a.npz.gz", ".npz"])
def test_a_name_that_says_no_format_is_refused_with_those_that_do(tmp_path, name):
    with pytest.raises(CommandError, match=r"no format has such a name; end it with one of \.npz, \.json"):
        recording().save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


# --- data that contradicts itself


def changed(rows, column, value):
    rows = rows.copy()
    rows[column][-1] = value
    return rows


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("kind", 99, "event 2: kind is 99"),
        ("way", 6, "event 2: way is 6"),
        ("annotation", 1, "event 2: annotation is 1"),
        ("annotation", -2, "event 2: annotation is -2"),
        ("size", -1, "event 2: size is -1"),
        ("time_ns", -5, "event 2: time_ns is -5"),
    ],
)
def test_an_impossible_event_is_named(column, value, words):
    with pytest.raises(HistoryError, match=words):
        recording(events=changed(recording().events, column, value))


@pytest.mark.parametrize(
    ("name", "column", "value", "words"),
    [
        ("mappings", "block", 77, "mapping 3: there is no block 77"),
        ("mappings", "range", 2, "mapping 3: there is no range 2"),
        ("leases", "state", 9, "lease 0: state is 9"),
        ("leases", "annotation", 3, "lease 0: annotation is 3"),
        ("ranges", "kind", 2, "range 1: kind is 2"),
        ("blocks", "size", -1, "block 1: size is -1"),
    ],
)
def test_an_impossible_snapshot_is_refused(name, column, value, words):
    with pytest.raises(HistoryError, match=words):
        stitched_snapshot(**{name: changed(getattr(stitched_snapshot(), name), column, value)})


def test_a_table_of_other_columns_is_refused():
    with pytest.raises(HistoryError, match="'blocks' does not have the columns id, quarantined, size"):
        stitched_snapshot(blocks=table(RANGE))


# --- files that are none: one line that names the file


def assert_refused(path, *words, read=files.load):
    with pytest.raises(HistoryError) as refusal:
        read(path)
    text = str(refusal.value)
    assert text.startswith(f"{path}: ")
    assert "\n" not in text
    for word in words:
        assert word in text


@pytest.mark.parametrize(
    "content", [b"", b"hello", b"[]", b"{}", b'{"format": "other"}', b"\x93NUMPY", pickle.dumps([1]), bytes(5000)]
)
def test_other_files_are_refused(content, tmp_path):
    path = tmp_path / "other.npz"
    path.write_bytes(content)
    assert_refused(path)


@pytest.mark.parametrize("name", ["r.npz", "r.json"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_refused(share, name, tmp_path):
    path = tmp_path / name
    recording().save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share) - 1])
    assert_refused(path)


def test_a_missing_file_is_refused(tmp_path):
    assert_refused(tmp_path / "nowhere.npz", "No such file")


def write_arrays(path, **arrays):
    np.savez(path, **arrays)


def meta_array(**changes):
    meta, _ = files.to_parts(recording(end=None))
    return np.frombuffer(json.dumps(meta | changes).encode(), np.uint8)


def test_pickled_objects_are_not_loaded(tmp_path):
    class Foreign:
        def __reduce__(self):
            return (open, (str(tmp_path / "proof"), "w"))

    path = tmp_path / "evil.npz"
    write_arrays(path, meta=meta_array(), events=np.array([Foreign()], object))
    assert_refused(path)
    assert not (tmp_path / "proof").exists()


def test_a_trace_for_replay_is_not_a_recording(tmp_path):
    path = tmp_path / "trace.npz"
    write_arrays(path, op=np.zeros(3, np.int8))
    assert_refused(path, "its arrays are others")


def test_a_later_format_is_named(tmp_path):
    path = tmp_path / "later.npz"
    write_arrays(path, meta=meta_array(format="gmlake-recording-9"), events=recording().events)
    assert_refused(path, "gmlake-recording-9", "gmlake-recording-1")


def test_a_damaged_member_is_noticed(tmp_path):
    path = tmp_path / "r.npz"
    recording().save(path)
    data = bytearray(path.read_bytes())
    start = zipfile.ZipFile(path).getinfo("events.npy").header_offset + 60
    data[start : start + 20] = bytes(20)
    path.write_bytes(bytes(data))
    assert_refused(path)


@pytest.mark.parametrize("missing", ["about", "annotations", "dropped", "end", "tables"])
def test_a_json_file_that_lacks_a_part_is_refused(missing, tmp_path):
    path = tmp_path / "r.json"
    recording().save(path)
    content = json.loads(path.read_text())
    del content[missing]
    path.write_text(json.dumps(content))
    assert_refused(path, missing)


def test_columns_of_unequal_length_are_refused(tmp_path):
    path = tmp_path / "r.json"
    recording().save(path)
    content = json.loads(path.read_text())
    content["tables"]["events"]["size"].pop()
    path.write_text(json.dumps(content))
    assert_refused(path, "'events'", "equal length")


def test_a_snapshot_is_not_a_recording(tmp_path):
    stitched_snapshot().save(tmp_path / "s.npz")
    assert_refused(tmp_path / "s.npz", "not a recording", read=files.load_recording)
    recording(end=None).save(tmp_path / "r.npz")
    assert_refused(tmp_path / "r.npz", "without a snapshot", read=files.load_snapshot)


# --- its page


def documented(heading):
    """The rows of the tables between a heading of the page and the next."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "recording.md").read_text()
    text = page.split(f"\n{heading}")[1].split("\n## ")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]


def described(dtype):
    return [(name, np.dtype(kind).name) for name, kind in dtype.descr]


@pytest.mark.parametrize(
    ("heading", "dtype"),
    [("## Events", EVENT), ("`ranges`:", RANGE), ("`blocks`:", BLOCK), ("`mappings`:", MAPPING), ("`leases`:", LEASE)],
)
def test_the_page_lists_every_column_in_order(heading, dtype):
    rows = [
        column
        for names, kinds, *_ in documented(heading)
        for column in zip(re.findall(r"`(\w+)`", names), kinds.split(", "), strict=False)
    ]
    assert rows[: len(dtype)] == described(dtype)


def test_the_page_lists_every_kind():
    rows = [(int(row[0]), row[1]) for row in documented("## Events") if row[0].isdigit()]
    assert rows == [(kind.value, f"`{kind.name.lower()}`") for kind in Kind]


def test_the_page_lists_what_is_known_about_a_program():
    names = [row[0].strip("`") for row in documented("## About") if row[0].startswith("`")]
    assert names == [field.name for field in dataclasses.fields(About)]


@pytest.mark.parametrize("shape", [[-1], [-2, 3], [1 << 62], [True], ["1"], "1"])
def test_a_shape_that_no_array_has_is_named(shape):
    with pytest.raises(ValueError, match=r"has the shape .*, which is none"):
        npz._length_of("events", shape)
