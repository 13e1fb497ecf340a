"""`gmlake compare`: what grew, worked out by hand; one line for files that cannot be compared."""

import json

import pytest
from histories import MIB, life, stitched_snapshot

from gmlake_jax.commands.main import main
from gmlake_jax.history.difference import changes_between, totals
from gmlake_jax.history.state import last_snapshot, snapshot_at_time


@pytest.fixture
def states(tmp_path):
    """weights 3 MiB and activations 2 MiB before; activations alone, 6 MiB, after."""
    before, after = tmp_path / "a.npz", tmp_path / "b.npz"
    snapshot_at_time(life(), 120).save(before)
    life().save(after)
    return str(before), str(after)


def test_what_grew_comes_first():
    changes = changes_between(snapshot_at_time(life(), 120), last_snapshot(life()), by_size=False)
    assert [(one.name, one.count, one.growth // MIB) for one in changes] == [
        ("activations", (1, 2), 4),
        ("weights", (2, 0), -3),
    ]


def test_sizes_are_told_apart_where_nothing_is_annotated():
    changes = changes_between(snapshot_at_time(life(), 120), last_snapshot(life()), by_size=True)
    assert [(one.name, one.count) for one in changes] == [
        ("4,194,304 B (4.0 MiB)", (0, 1)),
        ("1,048,576 B (1.0 MiB)", (1, 0)),
        ("2,097,152 B (2.0 MiB)", (2, 1)),
    ]


def test_pending_leases_do_not_count():
    snapshot = stitched_snapshot()
    leases = snapshot.leases.copy()
    leases["state"] = 1
    pending = stitched_snapshot(leases=leases)
    assert totals(pending)["num_live"] == 0
    assert [one.growth for one in changes_between(snapshot, pending, by_size=False)] == [-4 * MIB]
    assert totals(snapshot)["bytes_in_use"] == 4 * MIB


def test_a_table_for_people(states, capsys):
    assert main(["compare", *states]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["in", "use", "5.0", "MiB", "6.0", "MiB", "+1.0", "MiB"] in lines
    assert ["reserved", "6.0", "MiB", "6.0", "MiB", "-"] in lines
    assert ["leases", "3", "2", "-1"] in lines
    assert ["activations", "2.0", "MiB", "6.0", "MiB", "+4.0", "MiB", "1", "→", "2"] in lines
    assert ["weights", "3.0", "MiB", "0", "B", "-3.0", "MiB", "2", "→", "0"] in lines


def test_json_for_programs(states, capsys):
    assert main(["compare", *states, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["by"] == "annotation"
    assert result["after"]["bytes_in_use"] == 6 * MIB
    assert result["changes"][0] == {
        "name": "activations",
        "count": [1, 2],
        "bytes": [2 * MIB, 6 * MIB],
        "growth": 4 * MIB,
    }


def test_a_state_with_itself(states, capsys):
    assert main(["compare", states[0], states[0]]) == 0
    assert "no group of leases changed its size" in capsys.readouterr().out
    assert main(["compare", states[0], states[0], "--all"]) == 0
    assert "weights" in capsys.readouterr().out


def test_peaks_are_compared_on_request(states, tmp_path, capsys):
    life(events=life().events[:10]).save(tmp_path / "early.npz")
    assert main(["compare", str(tmp_path / "early.npz"), states[1], "--peak", "--by", "size", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["before"]["bytes_in_use"], result["after"]["bytes_in_use"]) == (5 * MIB, 6 * MIB)
    assert result["by"] == "size"


@pytest.mark.parametrize("content", [None, b"", b"hello", b"PK\x03\x04", b"\x80\x04N."])
@pytest.mark.parametrize("which", [0, 1])
def test_a_file_that_is_none(content, which, states, tmp_path, capsys):
    bad = tmp_path / "bad.npz"
    if content is not None:
        bad.write_bytes(content)
    files = list(states)
    files[which] = str(bad)
    assert main(["compare", *files]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"gmlake: {bad}: ")
    assert captured.err.count("\n") == 1


def test_a_snapshot_has_no_peak(states, capsys):
    assert main(["compare", *states, "--peak"]) == 2
    assert "no events" in capsys.readouterr().err
