"""A real recording, from the stock JAX client on the emulated device to every file and picture that is made of it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from emulated import TIMEOUT_S

from gmlake_jax.commands.main import main
from gmlake_jax.history import Kind, Recording
from gmlake_jax.history.physical import idle_spans
from gmlake_jax.history.series import buffers_of, marks_of, series_of
from gmlake_jax.history.state import snapshots_at

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "look_at_memory.py"
MIB = 1 << 20


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    emulator = pytest.importorskip("gmlake_jax.emulator")
    if not (emulator.library_folder() / "libcuda.so.1").exists():
        pytest.skip("no emulated device is built")
    path = tmp_path_factory.mktemp("recorded") / "recording.npz"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("GMLAKE", "XLA_"))}
    command = [sys.executable, "-P", "-m", "gmlake_jax.commands.main", "run", "--emulate", str(EXAMPLE), str(path)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    return path


@pytest.fixture
def recording(recorded):
    return Recording.load(recorded)


def sorted_rows(rows, *columns):
    return sorted(rows[list(columns)].tolist())


def test_the_events_lead_to_the_state_that_was_found_at_the_end(recording):
    (state,) = snapshots_at(recording, [len(recording.events)])
    end = recording.end
    assert sorted_rows(state.blocks, "id", "size") == sorted_rows(end.blocks, "id", "size")
    assert sorted_rows(state.mappings, "range", "block", "address") == sorted_rows(
        end.mappings, "range", "block", "address"
    )
    assert sorted_rows(state.ranges, "id", "kind", "address") == sorted_rows(end.ranges, "id", "kind", "address")
    assert sorted_rows(state.leases, "address", "size") == sorted_rows(end.leases, "address", "size")


def test_the_curves_end_at_the_numbers_of_the_allocator(recording):
    series, stats = series_of(recording), recording.end.stats
    assert series.live[-1] == stats["bytes_in_use"]
    assert series.requested[-1] == stats["bytes_requested"]
    assert series.reserved[-1] == stats["bytes_reserved"]
    assert series.mapped[-1] == stats["bytes_mapped"]
    spans = idle_spans(recording.end)
    assert int(np.sum(spans["end"] - spans["start"])) == stats["bytes_idle"]


def test_the_program_is_recognised(recording):
    buffers = buffers_of(recording)
    names = [recording.annotation(index).split("/")[0] for index in buffers["annotation"].tolist()]
    sizes = {name: set() for name in names}
    for name, size in zip(names, buffers["requested"].tolist(), strict=True):
        sizes[name].add(size // MIB)
    assert 24 in sizes["weights"]
    assert 160 in sizes["long sequence"]
    assert [name for _, name in marks_of(recording)] == ["step"] * 6
    assert (recording.events["kind"] == Kind.STITCH).any()


@pytest.mark.parametrize("name", ["out.json", "out.trace.npz", "out.pickle", "out.perfetto.json", "out.csv"])
def test_it_can_be_converted(recorded, name, tmp_path):
    assert main(["convert", str(recorded), str(tmp_path / name)]) == 0
    assert (tmp_path / name).stat().st_size > 1000


def test_perfetto_gets_its_counters_and_buffers(recorded, tmp_path):
    main(["convert", str(recorded), str(tmp_path / "p.json"), "--to", "perfetto"])
    events = json.loads((tmp_path / "p.json").read_text())["traceEvents"]
    assert {"live (bytes)", "reserved (bytes)"} <= {event["name"] for event in events if event["ph"] == "C"}
    assert any(event["name"].startswith("weights") for event in events if event["ph"] == "b")


@pytest.mark.parametrize("kind", ["timeline", "layout", "fragmentation", "compare"])
def test_it_can_be_drawn(recorded, kind, tmp_path):
    pytest.importorskip("matplotlib")
    assert main(["plot", str(recorded), "--kind", kind, "-o", str(tmp_path / "p.png")]) == 0


def test_it_can_be_reported(recorded, tmp_path):
    pytest.importorskip("plotly")
    assert main(["report", str(recorded), "-o", str(tmp_path / "r.html")]) == 0
