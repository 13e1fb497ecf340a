"""The command line: help, output, errors on one line, exit codes."""

import json
import os
import subprocess
import sys

import pytest
from histories import recording

from gmlake_jax.commands import main as command_line
from gmlake_jax.commands.command import Command
from gmlake_jax.commands.main import main

VERBS = sorted(command_line._verbs())


def write_stats(path, devices=({"bytes_in_use": 5, "ways": {}, "fragmentation": 0.25},)):
    path.write_text(json.dumps({"format": "gmlake-stats-1", "state": "state line", "devices": list(devices)}))
    return str(path)


def test_the_promised_verbs_are_there():
    assert {"demo", "doctor", "run", "stats", "summary"} <= set(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_is_its_docstring_with_an_example(verb, capsys):
    with pytest.raises(SystemExit) as end:
        main([verb, "--help"])
    assert end.value.code == 0
    text = capsys.readouterr().out
    assert "Example" in text
    assert f"gmlake {verb}" in text
    assert max(map(len, text.splitlines())) <= 120


def test_the_overview_has_one_line_for_each_verb(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    text = capsys.readouterr().out
    assert all(f"    {verb} " in text for verb in VERBS)


@pytest.mark.parametrize("argv", [[], ["nonsense"], ["stats"], ["run"]])
def test_wrong_usage_ends_with_2(argv, capsys):
    with pytest.raises(SystemExit) as end:
        main(argv)
    assert end.value.code == 2
    assert "usage: gmlake" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["replay", "x", "--limit", "lots"], "'lots' is not a size, such as 20GiB"),
        (["replay", "x", "--limit", "1MiB"], "at least 2MiB"),
        (["replay", "x", "--passes", "no"], "a whole number, at least 1"),
        (["replay", "x", "--passes", "0"], "a whole number, at least 1"),
        (["replay", "--churn", "nan"], "a share, above 0 and at most 1"),
        (["replay", "--churn", "most"], "a share, above 0 and at most 1"),
        (["report", "x", "--limit", "lots"], "'lots' is not a size, such as 20GiB"),
        (["plot", "x", "--limit", "3"], "at least 2MiB"),
        (["top", "--interval", "soon"], "0.1 to 3600 seconds"),
    ],
)
def test_a_value_that_makes_no_sense_is_answered_by_what_was_expected(argv, expected, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(argv)
    assert stopped.value.code == 2
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["stats", "summary"])
@pytest.mark.parametrize("content", [None, "no json", "[]", '{"format": "other"}'])
def test_a_file_that_is_no_statistics_file_is_one_line_and_1(verb, content, tmp_path, capsys):
    path = tmp_path / "file.json"
    if content is not None:
        path.write_text(content)
    assert main([verb, str(path)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"gmlake: {path}: ")
    assert captured.err.count("\n") == 1


def test_a_device_that_the_program_did_not_have(tmp_path, capsys):
    assert main(["stats", write_stats(tmp_path / "s.json"), "--device", "3"]) == 1
    assert "no device 3" in capsys.readouterr().err


def test_a_program_without_a_device_says_why(tmp_path, capsys):
    assert main(["stats", write_stats(tmp_path / "s.json", [])]) == 1
    assert "state line" in capsys.readouterr().err


def test_stats_prints_a_number_a_line(tmp_path, capsys):
    assert main(["stats", write_stats(tmp_path / "s.json")]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["bytes_in_use", "5"],
        ["fragmentation", "0.2500"],
    ]


def test_stats_as_json_is_the_device_as_it_was(tmp_path, capsys):
    assert main(["stats", write_stats(tmp_path / "s.json"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bytes_in_use"] == 5


def test_run_of_a_missing_script_is_wrong_usage(capsys):
    assert main(["run", "/no/such/script.py"]) == 2
    assert capsys.readouterr().err.startswith("gmlake: /no/such/script.py: no such file")


RUN = "import sys; from gmlake_jax.commands.main import main; sys.exit(main(sys.argv[1:]))"
SHOW = "import os, sys; print(os.environ['GMLAKE'], os.environ.get('GMLAKE_LIMIT'), __name__, *sys.argv[1:])"


def test_run_gives_the_program_its_arguments_and_the_allocator(tmp_path, run_python):
    script = tmp_path / "script.py"
    script.write_text(SHOW)
    result = run_python(RUN, "run", "--limit", "1GiB", str(script), "--steps", "3")
    assert result.stdout.split() == ["1", "1GiB", "__main__", "--steps", "3"], result.stderr


def test_run_with_a_bad_option_does_not_start_the_program(tmp_path, run_python):
    script = tmp_path / "script.py"
    script.write_text("print('it ran')")
    result = run_python(RUN, "run", "--limit", "20XB", str(script))
    assert (result.returncode, result.stdout) == (2, "")
    assert "GMLAKE_LIMIT=20XB" in result.stderr


def test_run_passes_on_the_exit_code_of_the_program(tmp_path, run_python):
    script = tmp_path / "script.py"
    script.write_text("import sys; sys.exit(7)")
    assert run_python(RUN, "run", str(script)).returncode == 7


def test_run_takes_modules_too(tmp_path, run_python):
    result = run_python(RUN, "run", "-m", "json.tool", "--help")
    assert "usage" in result.stdout


def test_an_interrupt_is_quiet(monkeypatch, tmp_path):
    class Interrupted(Command):
        """Stop."""

        def run(self, arguments):
            raise KeyboardInterrupt

    monkeypatch.setattr(command_line, "_verbs", lambda: {"interrupted": Interrupted()})
    assert main(["interrupted"]) == 130


def test_the_doctor_does_not_run_what_lies_in_the_present_folder(tmp_path, monkeypatch):
    from gmlake_jax.commands import doctor

    (tmp_path / "jax.py").write_text("open('proof', 'w')\nraise SystemExit('taken over')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    check = doctor._run_check(emulate=False)
    assert not (tmp_path / "proof").exists()
    assert "devices" in check


@pytest.mark.parametrize("line", ["", "goodbye", "[1]", "{}", "NaN"])
def test_the_doctor_survives_a_check_that_prints_something_else(line):
    from gmlake_jax.commands import doctor

    assert "the check printed" in doctor._parsed(line)["state"]


def test_run_resolves_the_paths_before_the_program_goes_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text(
        "import os\nos.environ['SEEN'] = os.environ['GMLAKE_STATS_FILE'] + os.environ['GMLAKE_RECORD']"
    )
    for name in ("GMLAKE", "GMLAKE_STATS_FILE", "SEEN"):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("GMLAKE_RECORD", "r.npz")
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert main(["run", "--stats-file", "s.json", "prog.py"]) == 0
    assert os.environ["SEEN"] == f"{tmp_path}/s.json{tmp_path}/r.npz"


@pytest.mark.parametrize(
    "make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path)], ids=["fifo", "folder", "device"]
)
@pytest.mark.parametrize("verb", ["stats", "summary", "compare", "convert", "replay", "plot", "report"])
def test_what_is_no_file_is_one_line_at_once(verb, make, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    make("in.npz")
    others = {"compare": ["in.npz"], "convert": ["out.json"]}.get(verb, [])
    assert main([verb, "in.npz", *others]) in (1, 2)
    [line] = capsys.readouterr().err.splitlines()
    assert "in.npz" in line


def test_names_that_a_terminal_would_act_on_are_shown(tmp_path, capsys):
    assert main(["stats", "\x1b[2J\nno such file"]) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.isprintable()


@pytest.mark.parametrize(
    "argv",
    [
        ["replay", "x", "--passes", "9" * 30],
        ["replay", "--churn", "0.5", "--churn-requests", "9" * 5000],
        ["replay", "--churn", "0.5", "--churn-limit", "99999999999999TiB"],
        ["replay", "--churn", "0.5", "--seed", "9" * 30],
        ["replay", "--churn", "0.5", "--seed", "-1"],
        ["replay", "x", "--limit", "9" * 5000],
        ["plot", "x", "--kind", "layout", "--at", "nan"],
        ["plot", "x", "--kind", "layout", "--at", "inf"],
        ["plot", "x", "--kind", "layout", "--at", "-1"],
        ["stats", "x", "--device", "9" * 5000],
        ["stats", "x", "--device", "-1"],
        ["top", "--interval", "nan"],
        ["top", "--pid", "9" * 5000],
    ],
    ids=lambda argv: " ".join(argv)[:40],
)
def test_numbers_out_of_all_bounds_are_wrong_usage(argv, capsys):
    with pytest.raises(SystemExit) as end:
        main(argv)
    assert end.value.code == 2
    assert len(capsys.readouterr().err) < 2000


@pytest.mark.parametrize("verb", [["stats", "FILE"], ["stats", "FILE", "--json"], ["top", "--once"], ["doctor"]])
def test_an_output_without_room_is_one_line(verb, tmp_path):
    file = write_stats(tmp_path / "stats.json")
    command = [sys.executable, "-m", "gmlake_jax.commands.main", *(file if word == "FILE" else word for word in verb)]
    with open("/dev/full", "w") as full:
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=300, check=False)
    assert ran.returncode == 1
    assert ran.stderr.splitlines() == [
        "gmlake: the output cannot be written: No space left on device; free some room, or send it elsewhere"
    ]


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize("verb", [["stats", "FILE"], ["stats", "MISSING"], ["top", "--once"]])
def test_a_closed_stream_is_no_traceback(stream, verb, tmp_path):
    file = write_stats(tmp_path / "stats.json")
    words = [{"FILE": file, "MISSING": str(tmp_path / "missing.json")}.get(word, word) for word in verb]
    command = [sys.executable, "-m", "gmlake_jax.commands.main", *words]
    closed = {"stdout": ">&-", "stderr": "2>&-"}[stream]
    ran = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *command], capture_output=True, text=True, timeout=300, check=False
    )
    assert ran.returncode in (0, 1)
    assert len(ran.stderr.splitlines()) == (verb[1] == "MISSING" and stream == "stdout")
    assert "Traceback" not in ran.stdout


@pytest.mark.parametrize("verb", ["stats", "summary"])
@pytest.mark.parametrize("content", [b"PK\x03\x04\xbc\xff", b'{"format": "another"}', b"[]"])
def test_a_file_of_another_kind_is_named_as_such(verb, content, tmp_path, capsys):
    file = tmp_path / "recording.npz"
    file.write_bytes(content)
    assert main([verb, str(file)]) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"gmlake: {file}: not a statistics file of gmlake_jax; GMLAKE_STATS_FILE writes one")
    assert "gmlake report" in line


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_a_path_that_the_output_cannot_show_is_no_error(encoding, tmp_path):
    folder = os.fsencode(tmp_path) + b"/r\xc3\xa9sum\xe9"  # the last letter is not UTF-8
    os.mkdir(folder)
    recording().save(os.fsdecode(folder + b"/a.npz"))
    command = [sys.executable, "-m", "gmlake_jax.commands.main", "report", b"a.npz", "-o", folder + b"/x.html"]
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=300, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert rb"sum\udce9/x.html" in ran.stdout
    assert os.path.exists(folder + b"/x.html")


@pytest.mark.parametrize(
    "error",
    [
        "OSError(28, 'full')",
        "BrokenPipeError(32, 'gone')",
        "KeyboardInterrupt()",
        "gmlake_jax.errors.NotActiveError('asleep')",
        "gmlake_jax.errors.CommandError('mine')",
    ],
)
def test_an_error_of_a_program_is_shown_as_python_shows_it(error, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(f"import sys, gmlake_jax.errors\nassert sys.stdout.errors == 'strict'\nraise {error}\n")
    environment = os.environ | {"PYTHONIOENCODING": "utf-8"}
    statuses = []
    for words in (["-m", "gmlake_jax.commands.main", "run", "--stock"], []):
        command = [sys.executable, *words, str(program)]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
        assert ran.stderr.startswith("Traceback")
        assert ran.stderr.splitlines()[-1].startswith(error.partition("(")[0])
        statuses.append(ran.returncode)
    assert statuses[0] == statuses[1]
