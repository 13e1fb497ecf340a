"""Files that we write: whole or not at all, past no link, over no device; and lines where nobody listens."""

import json
import os
import re
import stat
import threading
from pathlib import Path

import pytest
from test_stats import RAW

from gmlake_jax import stats_file
from gmlake_jax.errors import CommandError
from gmlake_jax.output import check_new, is_terminal, say, write_file


class Library:
    def ordinals(self):
        return [0]

    def stats(self, ordinal):
        return RAW

    def state(self):
        return "active"


@pytest.fixture
def stats_path(tmp_path, monkeypatch):
    monkeypatch.setattr(stats_file, "open_library", Library)
    return tmp_path / "s.json"


def test_a_link_in_the_place_of_a_file_is_replaced_and_not_followed(stats_path, tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("precious")
    for name in ("s.json", "s.json.part"):
        (tmp_path / name).symlink_to(precious)
    stats_file._write(str(stats_path))
    assert precious.read_text() == "precious"
    assert json.loads(stats_path.read_text())["format"] == "gmlake-stats-1"


def test_readers_see_no_half_of_a_file_while_several_write(stats_path):
    stats_file._write(str(stats_path))
    writers = [threading.Thread(target=lambda: [stats_file._write(str(stats_path)) for _ in range(100)]) for _ in "abc"]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        stats_file.read(str(stats_path))
    assert os.listdir(stats_path.parent) == ["s.json"]


def test_statistics_that_cannot_be_written_at_the_end_are_one_line(stats_path, capsys):
    stats_file._write(str(stats_path.parent / "gone" / "s.json"))
    [line] = capsys.readouterr().err.splitlines()
    assert "gone/s.json: cannot be written: No such file" in line


@pytest.mark.parametrize("force", [False, True])
def test_a_device_or_a_folder_is_not_replaced(tmp_path, force):
    for path in ("/dev/null", str(tmp_path)):
        with pytest.raises(CommandError, match=r"exists already|is not a file"):
            write_file(path, "x", force=force)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_folder_that_cannot_be_written_is_found_out_before_the_work(tmp_path):
    with pytest.raises(CommandError, match="cannot be written: No such file"):
        check_new(tmp_path / "nowhere" / "x.npz")
    check_new(tmp_path / "x.npz")
    assert list(tmp_path.iterdir()) == []


def test_the_mode_of_a_file_follows_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        write_file(tmp_path / "x", "x")
    finally:
        os.umask(before)
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o640


def test_a_closed_stderr_is_no_error(monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    say("nobody hears it")
    assert not is_terminal(None)


def test_nothing_else_in_the_package_writes_files_or_loads_arrays_and_pickles():
    package = Path(stats_file.__file__).parent
    other_ways = re.compile(r"np\.load\(|write_text\(|write_bytes\(|pickle\.loads?\(|open\([^)]*[\"'][wax]b?[\"']")
    found = {path.name for path in package.rglob("*.py") if other_ways.search(path.read_text())}
    assert found == {"output.py"}
