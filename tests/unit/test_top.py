"""`gmlake top` and the page of shared memory behind it: whole or not at all, and gone with its program."""

import json
import os
import struct
import threading
import time

import pytest
from test_stats import RAW

from gmlake_jax import live_page, stats
from gmlake_jax.commands import top
from gmlake_jax.commands.main import main
from gmlake_jax.live_page import Page, Writer, page_path, read_page, running_pages, start_of_process

DEVICE = stats.derive(RAW)


def content(**changes):
    pid = os.getpid()
    base = {"pid": pid, "started": start_of_process(pid), "program": "train.py", "time": 100.0, "devices": [DEVICE]}
    return base | changes


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(live_page.running_pages, "__defaults__", (tmp_path,))
    return tmp_path


def test_what_was_written_is_read(tmp_path):
    page = Page(tmp_path)
    page.write(content())
    assert read_page(page.path) == content()
    page.write(content(program="short"))
    assert read_page(page.path)["program"] == "short"
    assert page.path.stat().st_mode & 0o777 == 0o600
    page.remove()
    assert read_page(page.path) is None


def test_half_a_change_is_never_seen(tmp_path):
    page = Page(tmp_path)
    page.write({"devices": [], "value": 0})
    end = threading.Event()

    def write():
        value = 0
        while not end.is_set():
            value += 1
            page.write({"devices": [], "value": value, "same": [value] * (value % 300)})

    writer = threading.Thread(target=write)
    writer.start()
    try:
        seen = [read_page(page.path) for _ in range(300)]
    finally:
        end.set()
        writer.join()
    whole = [one for one in seen if one is not None]
    assert len(whole) > 30
    assert all(set(one.get("same", [])) <= {one["value"]} for one in whole)


def test_a_page_that_is_being_written_is_not_believed(tmp_path):
    page = Page(tmp_path)
    page.write(content())
    data = bytearray(page.path.read_bytes())
    struct.pack_into("<Q", data, 8, 3)
    page.path.write_bytes(bytes(data))
    assert read_page(page.path) is None


@pytest.mark.parametrize("data", [b"", b"short", bytes(1 << 16), b"gmlake1\n" + bytes(100), os.urandom(4096)])
def test_other_files_are_no_pages(data, folder):
    page_path(folder).write_bytes(data)
    (folder / "gmlake-top-nonsense").write_bytes(data)
    assert list(running_pages()) == []


def test_what_does_not_fit_is_not_written(tmp_path):
    page = Page(tmp_path)
    page.write(content())
    page.write(content(program="x" * (1 << 17)))
    assert read_page(page.path) == content()


def test_the_page_of_a_dead_program_is_removed(folder):
    page = Page(folder)
    page.write(content(started="12345"))  # somebody else has this number now
    assert list(running_pages()) == []
    assert not page.path.exists()


def test_a_link_in_the_place_of_the_page_is_not_followed(tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("precious")
    page_path(tmp_path).symlink_to(precious)
    Page(tmp_path).write(content())
    assert precious.read_text() == "precious"


# --- pages that others put there


def put(folder, data):
    page_path(folder).write_bytes(live_page._HEADER.pack(live_page._MAGIC, 2, len(data)) + data)


@pytest.mark.parametrize(
    "make",
    [
        lambda path: os.mkfifo(path),
        lambda path: path.symlink_to("/dev/zero"),
        lambda path: path.symlink_to("/proc/self/environ"),
        lambda path: path.mkdir(),
        lambda path: os.truncate(os.open(path, os.O_RDWR | os.O_CREAT), 1 << 40),
    ],
    ids=["fifo", "link to a device", "link to a file", "folder", "huge"],
)
def test_what_is_no_plain_small_file_is_not_read(make, folder, run_python):
    make(page_path(folder))
    code = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
from pathlib import Path
from gmlake_jax import live_page
assert live_page.read_page(Path({str(page_path(folder))!r})) is None
"""
    started = time.monotonic()
    ran = run_python(code)
    assert ran.returncode == 0, ran.stderr
    assert time.monotonic() - started < 20


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file of another user")
def test_a_page_of_another_user_is_not_believed(folder, monkeypatch):
    Page(folder).write(content())
    os.chown(page_path(folder), 12345, 12345)
    page_path(folder).chmod(0o644)
    monkeypatch.setattr(live_page.os, "geteuid", lambda: 54321)
    assert list(running_pages()) == []
    monkeypatch.setattr(live_page.os, "geteuid", lambda: 12345)
    assert len(list(running_pages())) == 1


WITHOUT_KEY = {name: value for name, value in DEVICE.items() if name != "bytes_limit"}
WRONG = [
    {"devices": [5]},
    {"devices": [{}]},
    {"devices": [WITHOUT_KEY]},
    {"devices": {}},
    {"devices": [DEVICE | {"bytes_in_use": "x"}]},
    {"devices": [DEVICE | {"bytes_in_use": None}]},
    {"devices": [DEVICE | {"bytes_in_use": 10**30}]},
    {"devices": [DEVICE | {"fragmentation": 10**300}]},
    {"devices": [DEVICE | {"driver_calls": [1]}]},
    {"devices": [DEVICE | {"driver_calls": {"map": "x"}}]},
    {"devices": [DEVICE], "ordinals": [0, 1]},
    {"devices": [DEVICE], "ordinals": ["x"]},
    {"program": 5},
    {"time": "now"},
    {"pid": 1},
    {"pid": "1"},
    {"started": None},
]


@pytest.mark.parametrize("changes", WRONG, ids=repr)
def test_a_page_whose_content_makes_no_sense_is_left_out(changes, folder, capsys):
    put(folder, json.dumps(content(**changes)).encode())
    assert main(["top", "--once"]) == 1
    assert main(["top", "--json"]) == 1
    assert page_path(folder).exists()


@pytest.mark.parametrize("data", [b"[" * 60000, b'{"devices": NaN}', b'{"devices": [' + b"9" * 5000 + b"]}", b"\xff"])
def test_content_that_python_cannot_parse_is_left_out(data, folder, capsys):
    put(folder, data)
    assert main(["top", "--once"]) == 1


def test_escape_sequences_do_not_reach_the_terminal(folder, capsys):
    Page(folder).write(content(program="\x1b]0;owned\x07\x1b[2J\u202ereal\nline"))
    assert main(["top", "--once"]) == 0
    out = capsys.readouterr().out
    assert len(out.splitlines()) == 2
    assert all(character.isprintable() for line in out.splitlines() for character in line)
    assert r"\x1b]0;owned\x07\x1b[2J\u202ereal\nline" in out


def other_namespace(folder, pid):
    path = page_path(folder)
    return path.with_name(f"gmlake-top-{live_page._pid_namespace() + 1}-{pid}")


def test_a_page_of_another_pid_namespace_stays(folder):
    Page(folder).write(content(started="12345"))
    page_path(folder).rename(other_namespace(folder, os.getpid()))
    assert list(running_pages()) == []
    assert len(list(folder.iterdir())) == 1


def test_programs_of_one_number_in_two_containers_have_a_page_each(folder, monkeypatch):
    here = Page(folder)
    here.write(content(program="here"))
    real = live_page._pid_namespace()
    monkeypatch.setattr(live_page, "_pid_namespace", lambda: real + 1)
    Page(folder).write(content(program="there"))
    monkeypatch.undo()
    assert read_page(here.path)["program"] == "here"
    assert len(list(folder.iterdir())) == 2


def test_where_proc_shows_other_numbers_nothing_is_removed(folder, monkeypatch):
    Page(folder).write(content(started="12345"))
    monkeypatch.setattr(live_page.os, "readlink", lambda path: "99999")
    assert list(running_pages()) == []
    assert page_path(folder).exists()


def test_many_pages_that_are_never_whole_cost_little_time(folder, monkeypatch):
    for number in range(200):
        path = folder / f"gmlake-top-{live_page._pid_namespace()}-{number + 1}"
        path.write_bytes(live_page._HEADER.pack(live_page._MAGIC, 3, 0))
    started = time.monotonic()
    assert list(running_pages()) == []
    assert time.monotonic() - started < 2


def test_without_the_folder_there_is_no_page(folder, capsys):
    folder.rmdir()
    assert main(["top", "--once"]) == 1
    assert "no program of yours" in capsys.readouterr().out
    with pytest.raises(OSError, match="No such file"):
        Page(folder)


def test_no_room_means_no_page(folder, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(live_page.os, "posix_fallocate", full)
    with pytest.raises(OSError, match="No space"):
        Page(folder)
    assert list(folder.iterdir()) == []


def test_a_page_that_somebody_cut_short_or_replaced_does_no_harm(folder):
    page = Page(folder)
    page.write(content())
    os.truncate(page.path, 0)  # a mapping would end the program with SIGBUS
    page.write(content())
    assert read_page(page.path) == content()
    (folder / "other").write_text("of another")
    (folder / "other").rename(page.path)
    with pytest.raises(OSError, match="taken the place"):
        page.write(content())
    assert page.path.read_text() == "of another"


def test_devices_are_shown_under_their_cuda_ordinals(program, capsys):
    program.write(content(devices=[DEVICE, DEVICE], ordinals=[3, 1]))
    assert main(["top", "--once"]) == 0
    assert [line.split()[2] for line in capsys.readouterr().out.splitlines()] == ["gpu", "3", "1"]


def wait_for(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.01)


def test_the_writer_shows_a_program_until_it_ends(folder, monkeypatch):
    monkeypatch.setattr(live_page, "PERIOD_S", 0.02)
    writer = Writer(content, folder)
    wait_for(lambda: list(running_pages()))
    writer.stop()
    assert list(folder.iterdir()) == []


def test_a_program_without_a_device_writes_nothing(folder, monkeypatch):
    monkeypatch.setattr(live_page, "PERIOD_S", 0.01)
    asked = []
    writer = Writer(lambda: asked.append(1), folder)
    wait_for(lambda: len(asked) > 3)
    writer.stop()
    assert list(folder.iterdir()) == []


def test_a_forked_child_leaves_the_page_to_its_parent(folder, monkeypatch):
    monkeypatch.setattr(live_page, "PERIOD_S", 0.02)
    writer = Writer(content, folder)
    wait_for(lambda: list(running_pages()))
    monkeypatch.setattr(live_page.os, "getpid", lambda: 1)
    writer.stop()
    monkeypatch.undo()
    assert len(list(folder.iterdir())) == 1
    writer.stop()


def test_a_failure_ends_the_page_and_not_the_program(monkeypatch, tmp_path):
    monkeypatch.setattr(live_page, "PERIOD_S", 0.01)

    def fails():
        raise RuntimeError("no device any more")

    writer = Writer(fails, tmp_path)
    writer._thread.join(timeout=60)
    assert not writer._thread.is_alive()
    writer.stop()


# --- the verb


@pytest.fixture
def program(folder):
    page = Page(folder)
    page.write(content())
    return page


def test_once_prints_a_line_for_each_device(program, capsys):
    program.write(content(devices=[DEVICE, DEVICE]))
    assert main(["top", "--once"]) == 0
    head, first, second = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["program", "pid", "gpu"]
    assert first.split()[:3] == ["train.py", str(os.getpid()), "0"]
    assert second.split()[:3] == ["train.py", str(os.getpid()), "1"]


def test_json_is_the_page(program, capsys):
    assert main(["top", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == content()


def test_a_pipe_gets_one_look(program, capsys):
    assert main(["top"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_other_programs_can_be_left_out(program, capsys):
    assert main(["top", "--once", "--pid", "1"]) == 1
    assert "no program of yours" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--interval", "0"], ["--interval", "soon"], ["--pid", "me"], ["--what"], ["x"]])
def test_wrong_usage_ends_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        main(["top", *arguments])
    assert end.value.code == 2


def test_rates_are_differences_over_time():
    calls = dict(DEVICE["driver_calls"])
    later = DEVICE | {"num_allocs": DEVICE["num_allocs"] + 50, "driver_calls": calls | {"map": calls["map"] + 8}}
    (row,) = top.rows_of({1: content(pid=1, time=102.0, devices=[later])}, {1: content(pid=1)})
    named = dict(zip(top._HEAD, row, strict=True))
    assert (named["allocs/s"], named["calls/s"]) == ("25", "4")
    (row,) = top.rows_of({1: content(pid=1)}, {})
    assert dict(zip(top._HEAD, row, strict=True))["allocs/s"] == "-"


@pytest.mark.parametrize(
    ("used", "reserved", "shown"),
    [(0, 0, "[            ]"), (50, 75, "[######---   ]"), (100, 100, "[############]"), (120, 50, "[############]")],
)
def test_the_bar(used, reserved, shown):
    assert top.bar({"bytes_in_use": used, "bytes_reserved": reserved, "bytes_limit": 100}) == shown
