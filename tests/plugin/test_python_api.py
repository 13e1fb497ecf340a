"""The Python surface on a real JAX client: selecting the allocator in code, reading it, acting on it."""

import json

import pytest

# XLA gives a deleted array's memory back a little later, on a thread of its own.
DELETED = """
def delete(array):
    array.block_until_ready().delete()
    end = time.monotonic() + 60
    while gmlake_jax.memory_stats()["bytes_in_use"] >= 8 << 20 and time.monotonic() < end:
        gc.collect()
        time.sleep(0.01)
"""

ENABLE_FIRST = """
gmlake_jax.enable(limit="512MiB")
before = gmlake_jax.is_active()
x = jax.device_put(np.arange(1 << 20, dtype=np.int32))
answer(before=before, active=gmlake_jax.is_active(), stats=gmlake_jax.memory_stats(), right=int(x[-1:].sum()) >= 0,
       by_device=gmlake_jax.memory_stats(jax.devices()[0]), by_ordinal=gmlake_jax.memory_stats(0))
"""


def test_enable_before_the_first_device_serves_it(run_jax):
    found = run_jax(ENABLE_FIRST).answer
    assert not found["before"]
    assert found["active"]
    assert found["stats"]["bytes_limit"] == 512 << 20
    assert found["stats"]["bytes_in_use"] >= 4 << 20
    assert found["by_device"] == found["by_ordinal"]


def test_enable_after_the_first_device_is_an_error_and_changes_nothing(run_jax):
    program = """
x = jax.device_put(np.arange(1000))
try:
    gmlake_jax.enable()
    message = None
except gmlake_jax.ConfigError as error:
    message = str(error)
answer(message=message, active=gmlake_jax.is_active(), sum=int(np.asarray(x).sum()))
"""
    found = run_jax(program).answer
    assert "too late" in found["message"]
    assert not found["active"]
    assert found["sum"] == sum(range(1000))


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("GMLAKE", "maybe"),
        ("GMLAKE_LIMIT", "20XB"),
        ("GMLAKE_LIMIT", "50GiB"),
        ("XLA_PYTHON_CLIENT_ALLOCATOR", "cuda_async"),
        ("TF_FORCE_UNIFIED_MEMORY", "0x1"),
    ],
)
def test_where_it_cannot_serve_jax_runs_on_and_one_line_says_why(run_jax, variable, value):
    program = "x = jax.device_put(np.arange(10)); answer(active=gmlake_jax.is_active(), sum=int(np.asarray(x).sum()))"
    run = run_jax(program, **({"GMLAKE": "1"} | {variable: value}))
    assert run.answer["active"] is False
    assert run.answer["sum"] == 45
    [line] = [line for line in run.errors.splitlines() if "gmlake_jax" in line]
    assert line.startswith("gmlake_jax: ")
    assert line.endswith("JAX keeps its own allocator")


def test_peaks_can_be_started_anew(run_jax):
    program = (
        DELETED
        + """
delete(jax.device_put(np.zeros(8 << 20, np.int8)))
before = gmlake_jax.memory_stats()["peak_bytes_in_use"]
gmlake_jax.reset_peak_memory_stats()
after = gmlake_jax.memory_stats()
answer(before=before, peak=after["peak_bytes_in_use"], now=after["bytes_in_use"])
"""
    )
    found = run_jax(program, GMLAKE="1").answer
    assert found["before"] >= 8 << 20
    assert found["peak"] == found["now"] < 8 << 20


def test_an_emptied_cache_is_memory_that_the_device_has_again(run_jax):
    program = (
        DELETED
        + """
delete(jax.device_put(np.zeros(64 << 20, np.int8)))
held = gmlake_jax.memory_stats()["bytes_reserved"]
given = gmlake_jax.empty_cache()
answer(held=held, given=given, left=gmlake_jax.memory_stats()["bytes_reserved"])
"""
    )
    found = run_jax(program, GMLAKE="1").answer
    assert found["given"] >= 64 << 20
    assert found["left"] == found["held"] - found["given"]


def test_a_lower_limit_holds_from_then_on(run_jax):
    program = """
jax.device_put(1.0).block_until_ready()
gmlake_jax.set_memory_limit("64MiB")
try:
    jax.device_put(np.zeros(128 << 20, np.int8)).block_until_ready()
    failed = None
except Exception as error:
    failed = str(error)
fits = jax.device_put(np.zeros(32 << 20, np.int8)).block_until_ready()
answer(failed=failed, limit=gmlake_jax.memory_stats()["bytes_limit"])
"""
    found = run_jax(program, GMLAKE="1").answer
    assert "RESOURCE_EXHAUSTED" in found["failed"]
    assert found["limit"] == 64 << 20


def test_the_summary_names_the_device_and_shows_its_sizes(run_jax):
    program = """
x = jax.device_put(np.zeros(32 << 20, np.int8)).block_until_ready()
answer(text=gmlake_jax.memory_summary())
"""
    text = run_jax(program, GMLAKE="1").answer["text"]
    assert text.startswith("gmlake_jax, cuda:0\n")
    assert "32.0 MiB" in text


def test_the_summary_of_jaxs_own_allocator_says_why_it_is_not_ours(run_jax):
    text = run_jax("answer(text=gmlake_jax.memory_summary())").answer["text"]
    assert text.startswith("JAX's own allocator, cuda:0. gmlake_jax is not active: GMLAKE is not set")


def test_the_statistics_file_is_written_at_the_end(run_jax, tmp_path):
    path = tmp_path / "stats-%p.json"
    program = "import os; x = jax.device_put(np.zeros(32 << 20, np.int8)).block_until_ready(); answer(pid=os.getpid())"
    pid = run_jax(program, GMLAKE="1", GMLAKE_STATS_FILE=str(path)).answer["pid"]
    content = json.loads((tmp_path / f"stats-{pid}.json").read_text())
    assert content["devices"][0]["peak_bytes_in_use"] >= 32 << 20


GO_ELSEWHERE = """
import os, shutil, sys
jax.device_put(np.ones(10)).block_until_ready()
os.chdir("/")
"""


def test_files_of_the_end_are_those_of_the_folder_of_the_start(run_jax, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = run_jax(GO_ELSEWHERE, GMLAKE="1", GMLAKE_STATS_FILE="s.json", GMLAKE_RECORD="r.npz")
    assert run.code == 0, run.errors[-2000:]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.npz", "s.json"]


def test_what_is_lost_at_the_end_is_a_line_and_the_exit_code_stays(run_jax, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gone").mkdir()
    program = GO_ELSEWHERE + f"shutil.rmtree({str(tmp_path / 'gone')!r})\nsys.exit(7)"
    run = run_jax(program, GMLAKE="1", GMLAKE_STATS_FILE="gone/s.json", GMLAKE_RECORD="gone/r.npz")
    assert run.code == 7
    assert "Traceback" not in run.errors
    assert sorted(line.partition(" lost")[0] for line in run.lines_of_ours) == [
        "[gmlake_jax] the memory statistics are",
        "[gmlake_jax] the recording is",
    ]


@pytest.mark.parametrize("variable", ["GMLAKE_STATS_FILE", "GMLAKE_RECORD", "GMLAKE_OOM_DIR"])
def test_a_folder_that_is_not_there_is_a_line_at_the_start(run_jax, variable):
    run = run_jax("jax.device_put(np.ones(10)).block_until_ready()", GMLAKE="1", **{variable: "/nowhere/at/all"})
    assert run.code == 0
    [line] = run.lines_of_ours
    assert f"{variable}=/nowhere/at/all: there is no such folder" in line


def test_a_number_is_a_cuda_ordinal(run_jax):
    program = """
jax.config.update("jax_cuda_visible_devices", "3")
x = jax.device_put(np.ones(1 << 20, np.float32)).block_until_ready()
try:
    wrong = gmlake_jax.memory_summary(0)
except gmlake_jax.NotActiveError as error:
    wrong = str(error)
answer(text=gmlake_jax.memory_summary(3), wrong=wrong, used=gmlake_jax.memory_stats(3)["bytes_in_use"])
"""
    found = run_jax(program, GMLAKE="1", GMLAKE_EMULATOR_DEVICES="4").answer
    assert found["text"].startswith("gmlake_jax, cuda:3")
    assert found["used"] >= 4 << 20
    assert "no device 0 in this process; it has 3" in found["wrong"]
