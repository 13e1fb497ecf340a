"""Other programs' files: what they say of a history whose numbers are known, and back; pickles without trust."""

import importlib.util
import json
import os
import pickle
import pickletools
from pathlib import Path

import numpy as np
import pytest
from histories import HOME, LIFE, MIB, STITCHED, life, stitched_snapshot

from gmlake_jax.formats import leases, perfetto, torch_reader, torch_writer
from gmlake_jax.formats.intervals import Intervals
from gmlake_jax.history import HistoryError, Kind, Recording, Snapshot
from gmlake_jax.history.schema import EVENT, table
from gmlake_jax.history.series import series_of
from gmlake_jax.history.state import last_snapshot
from gmlake_jax.traces import Columns, read_columns

# The path of torch/cuda/_memory_viz.py from a wheel of PyTorch, which is too large to be fetched for one test.
MEMORY_VIZ = os.environ.get("GMLAKE_TEST_MEMORY_VIZ")
RECORDED = Path(__file__).resolve().parents[1] / "traces" / "opt-1.3b-LRO.npz"


def late(cut=10):
    """The recording without its first events; the snapshot of the end makes up for them."""
    whole = life()
    return life(events=whole.events[cut:], dropped=cut, end=last_snapshot(whole))


# --- PyTorch: what it says


def parts(entries):
    return [(entry["action"], (entry["addr"] - HOME) / MIB, entry["size"] / MIB) for entry in entries]


def test_torch_is_told_of_physical_memory_and_of_the_pieces_of_a_stitched_lease():
    (_, trace) = torch_writer.to_torch(life())["device_traces"]
    assert parts(trace[:-1]) == [
        ("segment_map", 0, 2),
        ("segment_map", 2, 2),
        ("segment_map", 4, 2),
        ("alloc", 0, 2),
        ("alloc", 2, 2),
        ("alloc", 4, 1),
        ("free_requested", 0, 2),
        ("free_completed", 0, 2),
        ("free_requested", 4, 1),
        ("free_completed", 4, 1),
        ("alloc", 4, 2),
        ("alloc", 0, 2),
    ]
    oom = trace[-1]
    assert (oom["action"], oom["size"], oom["device_free"]) == ("oom", 100 * MIB, 2 * MIB)


def test_torch_gets_annotations_as_frames_innermost_first():
    recording = life(annotations=("weights", "train/step", "step"))
    (_, trace) = torch_writer.to_torch(recording)["device_traces"]
    names = [[frame["name"] for frame in entry["frames"]] for entry in trace if entry["action"] == "alloc"]
    assert names[:2] == [["weights"], ["step", "train"]]
    assert names[3] == [f"piece 1 of 2 of 4.0 MiB at {STITCHED:#x}", "step", "train"]


def test_torch_gets_one_segment_filled_without_a_gap():
    (segment,) = torch_writer.to_torch(life(events=table(EVENT, LIFE[:10])))["segments"]
    assert (segment["address"], segment["total_size"], segment["device"]) == (HOME, 6 * MIB, 1)
    assert [(block["state"], block["size"] / MIB, block["requested_size"]) for block in segment["blocks"]] == [
        ("active_allocated", 2, 2 * MIB),
        ("active_allocated", 2, 2 * MIB),
        ("active_allocated", 1, MIB - 24),
        ("inactive", 1, 0),
    ]
    assert (segment["allocated_size"], segment["requested_size"]) == (5 * MIB, 5 * MIB - 24)


def test_what_rounding_added_is_at_the_end_of_a_stitched_lease():
    (segment,) = torch_writer.to_torch(life())["segments"]
    assert [block["requested_size"] for block in segment["blocks"]] == [2 * MIB - 100, 2 * MIB, 2 * MIB]


def test_a_snapshot_alone_has_segments_and_no_trace():
    shown = torch_writer.to_torch(stitched_snapshot())
    assert shown["device_traces"] == [[], []]
    assert [block["size"] for block in shown["segments"][0]["blocks"]] == [2 * MIB, 2 * MIB]


def test_leases_of_unknown_memory_are_segments_of_their_own():
    events = life().events
    recording = life(events=events[events["kind"] <= Kind.FREE])
    shown = torch_writer.to_torch(recording)
    assert [(segment["address"], segment["total_size"]) for segment in shown["segments"]] == [
        (HOME + 2 * MIB, 2 * MIB),
        (STITCHED, 4 * MIB),
    ]
    actions = [entry["action"] for entry in shown["device_traces"][1]]
    assert actions[:2] == ["segment_alloc", "alloc"]
    assert actions.count("segment_free") == 2


# The opcodes that MemoryViz.js reads; anything else ends it.
VIEWER_READS = {
    *(
        "PROTO",
        "FRAME",
        "STOP",
        "MARK",
        "MEMOIZE",
        "APPEND",
        "APPENDS",
        "SETITEM",
        "SETITEMS",
        "EMPTY_DICT",
        "EMPTY_LIST",
    ),
    *("EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "BINGET", "LONG_BINGET", "BININT", "BININT1", "BININT2"),
    *("LONG1", "NEWTRUE", "NEWFALSE", "NONE", "BINFLOAT", "SHORT_BINUNICODE", "BINUNICODE"),
}


@pytest.mark.parametrize("history", [life(), late(), stitched_snapshot(), Recording(), Snapshot()])
def test_the_pickle_is_one_that_the_viewer_can_read(history):
    opcodes = {opcode.name for opcode, _, _ in pickletools.genops(torch_writer.torch_bytes(history))}
    assert opcodes <= VIEWER_READS


def undo(entry, segments, blocks):
    """One step back, as the viewer's state history takes it; whatever it would stumble over is an error here."""
    action, address, size = entry["action"], entry["addr"], entry["size"]
    if action == "alloc":
        assert blocks.pop(address) == size
    elif action == "free_completed":
        assert address not in blocks
        blocks[address] = size
    elif action in ("segment_map", "segment_alloc"):
        segments.remove(address, size)
    elif action in ("segment_unmap", "segment_free"):
        segments.add(address, size)


def active_blocks(shown):
    blocks = (block for segment in shown["segments"] for block in segment["blocks"])
    return {block["address"]: block["size"] for block in blocks if block["state"] != "inactive"}


def lies_in(address, size, held):
    return any(start <= address and address + size <= start + length for start, length in held)


@pytest.mark.parametrize("recording", [life(), late(), late(13)])
def test_the_viewer_can_go_back_from_the_end_to_every_event(recording):
    shown = torch_writer.to_torch(recording)
    segments = Intervals((segment["address"], segment["total_size"]) for segment in shown["segments"])
    blocks = active_blocks(shown)
    for entry in reversed(shown["device_traces"][1]):
        assert all(lies_in(*block, segments.spans()) for block in blocks.items())
        undo(entry, segments, blocks)
    start = last_snapshot(life(events=life().events[: recording.dropped]))
    assert sum(blocks.values()) == start.live_bytes
    assert sum(size for _, size in segments.spans()) == start.reserved_bytes


@pytest.mark.skipif(MEMORY_VIZ is None, reason="GMLAKE_TEST_MEMORY_VIZ names no copy of torch's _memory_viz.py")
@pytest.mark.parametrize(
    ("history", "total"), [(life(), "6.0MiB"), (late(), "6.0MiB"), (stitched_snapshot(), "4.0MiB")]
)
def test_torchs_own_functions_read_it(history, total):
    specification = importlib.util.spec_from_file_location("memory_viz", MEMORY_VIZ)
    viz = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(viz)
    shown = pickle.loads(torch_writer.torch_bytes(history))
    summary = viz.segsum(shown)
    assert f"total_reserved: {total}" in summary
    assert "segments: 1" in summary
    assert ("# free completed" in viz.trace(shown)) == isinstance(history, Recording)
    for plot in (viz.trace_plot, viz.segment_plot):
        assert "MemoryViz.js" in plot(shown)
    assert "active_allocated" in viz.memory(shown, format_flamegraph=lambda lines: lines)


# --- PyTorch: back


def test_what_torch_was_told_comes_back():
    read = torch_reader.from_torch(pickle.loads(torch_writer.torch_bytes(life())))
    assert series_of(read).live.max() == series_of(life()).live.max()
    assert last_snapshot(read).live_bytes == last_snapshot(life()).live_bytes
    assert last_snapshot(read).reserved_bytes == last_snapshot(life()).reserved_bytes
    assert set(read.annotations) == {"weights", "activations"}
    assert read.about.device == 1


def test_what_was_there_before_the_trace_of_torch_is_made_at_its_beginning():
    read = torch_reader.from_torch(torch_writer.to_torch(late()))
    first = read.events[: read.events["kind"].tolist().index(Kind.FREE)]
    assert first["size"][first["kind"] == Kind.ALLOC].sum() == 5 * MIB
    assert first["size"][first["kind"] == Kind.CREATE].sum() == 6 * MIB
    assert last_snapshot(read).live_bytes == 6 * MIB


def segment(address, size, blocks):
    return {"device": 0, "address": address, "total_size": size, "stream": 0, "blocks": blocks}


def entry(action, address, size, **rest):
    return {"action": action, "addr": address, "size": size, "stream": 0, "time_us": 5_000_000, "frames": []} | rest


def test_a_segment_that_torch_gives_back_in_part():
    trace = [entry("segment_map", 100, 60), entry("segment_unmap", 120, 20)]
    content = {"segments": [segment(100, 20, []), segment(140, 20, [])], "device_traces": [trace]}
    read = torch_reader.from_torch(content)
    assert last_snapshot(read).reserved_bytes == 40
    assert last_snapshot(read).ranges[["address", "size"]].tolist() == [(100, 20), (140, 20)]


def test_code_of_torch_becomes_an_annotation():
    frames = [{"filename": "/home/me/train.py", "line": 7, "name": "forward"}]
    content = {"segments": [], "device_traces": [[entry("alloc", 1, 2, frames=frames)]]}
    assert torch_reader.from_torch(content).annotations == ("forward (train.py:7)",)


# --- PyTorch: files that are not what they say


def refuse(tmp_path, content):
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(content)
    with pytest.raises(HistoryError) as refusal:
        torch_reader.read_torch(str(path))
    text = str(refusal.value)
    assert text.startswith(f"{path}: ")
    assert "\n" not in text
    return text


class Attack:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def test_a_pickle_that_names_code_is_not_executed(tmp_path):
    proof = tmp_path / "proof"
    text = refuse(tmp_path, pickle.dumps({"segments": [Attack(str(proof))], "device_traces": []}))
    assert "names io.open" in text or "names _io.open" in text
    assert not proof.exists()


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("value", [np.zeros(3), print, Path("x"), {1, 2}.__class__, complex(1, 2)], ids=str)
def test_a_pickle_admits_plain_values_alone(value, protocol, tmp_path):
    assert "names " in refuse(tmp_path, pickle.dumps({"segments": [value], "device_traces": []}, protocol))


@pytest.mark.parametrize(
    "content",
    [
        b"\x80\x04",
        b"\x80\x04N.",
        b"\x80\x09garbage",
        pickle.dumps([1, 2]),
        pickle.dumps({"segments": 1, "device_traces": 2}),
        pickle.dumps({"segments": [{"device": 0}], "device_traces": [[]]}),
        pickle.dumps({"segments": [], "device_traces": [[{"action": "alloc"}]]}),
        pickle.dumps({"segments": [], "device_traces": [[entry("alloc", "here", "much")]]}),
        pickle.dumps({"segments": [], "device_traces": [[entry("alloc", -5, 1)]]}),
        pickle.dumps(torch_writer.to_torch(life()))[:-200],
    ],
)
def test_other_pickles_are_one_line(content, tmp_path):
    refuse(tmp_path, content)


# --- Perfetto


def perfetto_events(history):
    return json.loads(perfetto.perfetto_bytes(history))["traceEvents"]


def test_perfetto_has_what_its_schema_asks_for():
    for event in perfetto_events(life()):
        assert {"ph", "name", "ts", "pid", "tid"} <= set(event)
        assert event["ph"] in "MCbei"
        assert event["ts"] >= 0
        if event["ph"] in "be":
            assert event["cat"] == "buffer"
            assert isinstance(event["id"], int)
        if event["ph"] == "C":
            assert all(isinstance(value, int) for value in event["args"].values())


def counter(history, name):
    events = [event for event in perfetto_events(history) if event["ph"] == "C" and event["name"] == f"{name} (bytes)"]
    return [(round(event["ts"] * 1000), event["args"]["bytes"] / MIB) for event in events]


def test_perfetto_counts_bytes_where_they_change():
    assert counter(life(), "live") == [(0, 0), (100, 2), (110, 4), (120, 5), (200, 3), (220, 2), (310, 6)]
    assert counter(life(), "reserved") == [(0, 6)]
    assert counter(life(), "mapped") == [(0, 6), (300, 10)]
    assert counter(life(), "limit") == [(0, 8), (460, 6)]


def test_perfetto_knows_no_blocks_where_there_are_none():
    events = life().events
    assert counter(life(events=events[events["kind"] <= Kind.FREE]), "reserved") == []


def test_perfetto_has_a_slice_for_each_buffer():
    events = [event for event in perfetto_events(life()) if event["ph"] in "be"]
    bounds = {}
    for event in events:
        bounds.setdefault(event["id"], []).append((event["ph"], event["name"], round(event["ts"] * 1000)))
    assert list(bounds.values()) == [
        [("b", "weights", 100), ("e", "weights", 200)],
        [("b", "activations", 110), ("e", "activations", 460)],
        [("b", "weights", 120), ("e", "weights", 220)],
        [("b", "activations", 310), ("e", "activations", 460)],
    ]
    assert events[-2]["args"] == {
        "size": "4.0 MiB",
        "bytes": 4 * MIB,
        "requested": 4 * MIB - 100,
        "address": hex(STITCHED),
        "stream": 0,
        "served by": "stitch",
        "alive at the end": True,
    }


def test_perfetto_shows_marks_and_refusals():
    assert [event["name"] for event in perfetto_events(life()) if event["ph"] == "i"] == ["step", "refused 100.0 MiB"]


# --- traces and RMM


def test_a_trace_has_the_allocations_and_frees(tmp_path):
    path = tmp_path / "life.trace.npz"
    path.write_bytes(leases.trace_bytes(life()))
    columns = read_columns(str(path))
    assert columns.op.tolist() == [0, 0, 0, 1, 1, 0, 2]
    assert columns.size.tolist() == [2 * MIB, 2 * MIB, MIB - 24, 2 * MIB, MIB - 24, 4 * MIB - 100, 100 * MIB]
    first, second, third, *rest = columns.id.tolist()
    assert rest[:2] == [first, third]
    assert len({first, second, third, rest[2]}) == 4
    assert np.load(path)["op"].dtype == np.int8


def test_a_second_free_is_left_out_of_a_trace():
    events = table(EVENT, [LIFE[7], LIFE[10], LIFE[10]])
    assert leases.columns_of(life(events=events, end=Snapshot())).op.tolist() == [0, 1]


def test_a_trace_of_a_late_recording_begins_with_what_was_alive():
    columns = leases.columns_of(late())
    assert columns.op.tolist() == [0, 0, 0, 1, 1, 0, 2]
    assert sorted(columns.size[:3].tolist()) == [1 * MIB, 2 * MIB, 2 * MIB]
    assert columns.time_us.tolist() == [0] * 7


def test_rmms_log():
    lines = leases.rmm_bytes(life()).decode().splitlines()
    assert lines[0] == "Thread,Time,Action,Pointer,Size,Stream"
    assert lines[1] == f"0,00:00:00.000000,allocate,{HOME:#x},{2 * MIB},0x0"
    assert lines[4] == f"0,00:00:00.000000,free,{HOME:#x},{2 * MIB},0x0"
    assert lines[7] == f"0,00:00:00.000000,allocate failure,(nil),{100 * MIB},0x0"


def test_rmms_clock():
    events = table(EVENT, [{"time_ns": (3661 * 10**6 + 42) * 1000, "kind": 0, "address": 1, "size": 1, "requested": 1}])
    assert leases.rmm_bytes(life(events=events)).decode().splitlines()[1].split(",")[1] == "01:01:01.000042"


def test_rmm_comes_back_with_its_addresses(tmp_path):
    path = tmp_path / "life.csv"
    path.write_bytes(leases.rmm_bytes(life()))
    read = leases.recording_of(read_columns(str(path)), "life.csv", is_rmm=True)
    allocated = read.events[read.events["kind"] == Kind.ALLOC]
    assert allocated["address"].tolist() == [HOME, HOME + 2 * MIB, HOME + 4 * MIB, STITCHED]
    assert last_snapshot(read).live_bytes == 6 * MIB - 100


def test_a_recorded_job_as_a_recording():
    columns = read_columns(str(RECORDED))
    read = leases.recording_of(columns, "opt", is_rmm=False)
    deltas = np.where(columns.op == 0, columns.size, -columns.size)
    assert series_of(read).live.max() == np.cumsum(deltas).max()
    allocated = read.events[read.events["kind"] == Kind.ALLOC]
    assert len(np.unique(allocated["address"])) == len(allocated)
    again = leases.columns_of(read)
    np.testing.assert_array_equal(again.op, columns.op)
    np.testing.assert_array_equal(again.size, columns.size)


def columns(*rows):
    return Columns(*np.array(rows, np.int64).T)


def test_ids_that_are_used_again_are_other_addresses():
    read = leases.recording_of(columns((0, 7, 10, 0, 0), (1, 7, 10, 0, 1), (0, 7, 20, 0, 2)), "x", is_rmm=False)
    first, freed, second = read.events["address"].tolist()
    assert first == freed != second


@pytest.mark.parametrize("row", [(9, 0, 1, 0, 0), (0, 0, -1, 0, 0)])
def test_events_of_a_trace_that_make_no_sense(row):
    with pytest.raises(HistoryError, match="event 0"):
        leases.recording_of(columns(row), "x", is_rmm=False)


@pytest.mark.parametrize("encode", [leases.trace_bytes, leases.rmm_bytes, perfetto.perfetto_bytes])
def test_formats_of_events_refuse_snapshots(encode):
    with pytest.raises(HistoryError, match="no events"):
        encode(stitched_snapshot())


# --- intervals


def test_intervals_merge_and_split():
    some = Intervals([(0, 10), (20, 10)])
    some.add(10, 5)
    some.remove(3, 4)
    some.remove(25, 100)
    some.add(40, 0)
    assert some.spans() == [(0, 3), (7, 8), (20, 5)]


def test_a_trace_keeps_numbers_that_need_more_bits(tmp_path):
    streams = np.arange(300)
    events = [
        {"kind": Kind.ALLOC, "time_ns": index, "address": (index + 1) << 20, "size": 512, "stream": int(stream)}
        for index, stream in enumerate(streams)
    ]
    recording = Recording(events=table(EVENT, events))
    (tmp_path / "t.npz").write_bytes(leases.trace_bytes(recording))
    assert read_columns(str(tmp_path / "t.npz")).stream.tolist() == streams.tolist()


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_pickle_cannot_have_memory_reserved_by_a_number(protocol, tmp_path):
    puts = {0: b"(dp99999999999\n.", 2: b"\x80\x02}r\xff\xff\xff\x7f.", 4: b"\x80\x04}r\xff\xff\xff\xff."}
    path = tmp_path / "x.pickle"
    path.write_bytes(puts[protocol])
    with pytest.raises(HistoryError, match="numbers a value"):
        torch_reader.read_torch(str(path))
