"""`gmlake convert`: what it writes by which name, and one line for what it cannot."""

import pickle
from pathlib import Path

import pytest
from histories import life, stitched_snapshot

from gmlake_jax.commands import convert
from gmlake_jax.commands.main import main
from gmlake_jax.formats.registry import FORMATS, format_for, read_history, read_recording
from gmlake_jax.history import HistoryError, Recording
from gmlake_jax.history.state import last_snapshot

TRACE = Path(__file__).resolve().parents[1] / "traces" / "opt-1.3b-LRO.npz"


@pytest.fixture
def source(tmp_path):
    life().save(tmp_path / "in.npz")
    return str(tmp_path / "in.npz")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("out.npz", "npz"),
        ("out.json", "json"),
        ("out.trace.npz", "trace"),
        ("out.pickle", "torch"),
        ("out.pkl", "torch"),
        ("out.perfetto.json", "perfetto"),
        ("out.trace.json", "perfetto"),
        ("out.csv", "rmm"),
    ],
)
def test_the_name_decides_the_format(name, kind, source, tmp_path, capsys):
    assert format_for(name).name == kind
    target = tmp_path / name
    assert main(["convert", source, str(target)]) == 0
    assert capsys.readouterr().out == f"Wrote {target}\n"
    assert target.read_bytes() == FORMATS[kind].encode(life())


@pytest.mark.parametrize("name", ["out.npz", "out.json", "out.trace.npz", "out.pickle", "out.csv"])
def test_what_was_written_can_be_read_again(name, source, tmp_path):
    target = str(tmp_path / name)
    assert main(["convert", source, target]) == 0
    assert last_snapshot(read_recording(target)).live_bytes == pytest.approx(6 << 20, abs=100)


def test_a_trace_can_be_converted(tmp_path):
    assert main(["convert", str(TRACE), str(tmp_path / "out.csv")]) == 0
    assert isinstance(read_history(str(tmp_path / "out.csv")), Recording)


def test_the_format_can_be_given(source, tmp_path):
    assert main(["convert", source, str(tmp_path / "out.xyz"), "--to", "torch"]) == 0
    assert pickle.loads((tmp_path / "out.xyz").read_bytes())["segments"]


def test_the_command_line_knows_all_formats():
    assert tuple(FORMATS) == convert._NAMES


def test_a_snapshot_is_no_recording(tmp_path):
    stitched_snapshot().save(tmp_path / "s.npz")
    with pytest.raises(HistoryError, match="no events"):
        read_recording(str(tmp_path / "s.npz"))


def fails(code, capsys, *arguments):
    assert main(["convert", *map(str, arguments)]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("gmlake: ")
    assert captured.err.count("\n") == 1
    return captured.err


def test_an_existing_file_is_kept(source, tmp_path, capsys):
    target = tmp_path / "out.json"
    target.write_text("precious")
    assert "exists already" in fails(1, capsys, source, target)
    assert target.read_text() == "precious"
    assert main(["convert", source, str(target), "--force"]) == 0
    assert target.read_text() != "precious"


def test_a_name_without_a_format(source, tmp_path, capsys):
    assert ".pickle" in fails(2, capsys, source, tmp_path / "out.xyz")


def test_a_missing_input(tmp_path, capsys):
    assert "No such file" in fails(2, capsys, tmp_path / "none.npz", tmp_path / "out.json")


def test_an_input_that_is_none(tmp_path, capsys):
    (tmp_path / "in.npz").write_text("hello")
    assert "in.npz: not a recording" in fails(2, capsys, tmp_path / "in.npz", tmp_path / "out.json")
    assert not (tmp_path / "out.json").exists()


def test_a_truncated_input(source, tmp_path, capsys):
    data = Path(source).read_bytes()
    Path(source).write_bytes(data[: len(data) // 2])
    assert "truncated" in fails(2, capsys, source, tmp_path / "out.json")


def test_a_snapshot_has_no_events_to_write(tmp_path, capsys):
    stitched_snapshot().save(tmp_path / "s.npz")
    assert "s.npz: a snapshot has no events" in fails(2, capsys, tmp_path / "s.npz", tmp_path / "out.csv")


def test_a_folder_that_is_not_there(source, tmp_path, capsys):
    assert "cannot be written" in fails(1, capsys, source, tmp_path / "nowhere" / "out.json")


def test_a_pickle_with_code(tmp_path, capsys):
    (tmp_path / "in.pickle").write_bytes(pickle.dumps([print]))
    assert "names builtins.print" in fails(2, capsys, tmp_path / "in.pickle", tmp_path / "out.json")
