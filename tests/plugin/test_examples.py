"""The examples, and the verbs that run them, on the emulated device: what a visitor without a GPU sees."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from emulated import TIMEOUT_S

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def gmlake():
    """Runs the command line in a process of its own, without the options of this one."""
    emulator = pytest.importorskip("gmlake_jax.emulator")
    if not (emulator.library_folder() / "libcuda.so.1").exists():
        pytest.skip("no emulated device is built")

    def run(*arguments):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("GMLAKE", "XLA_"))}
        command = [sys.executable, "-P", "-m", "gmlake_jax.commands.main", *map(str, arguments)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)

    return run


def test_the_holes_are_filled_with_the_allocator(gmlake, tmp_path):
    outcome = tmp_path / "outcome.json"
    run = gmlake("run", "--emulate", EXAMPLES / "fill_the_holes.py", "--budget", "256MiB", "--json", outcome)
    assert run.returncode == 0, run.stderr
    found = json.loads(outcome.read_text())
    assert found["active"]
    assert found["fits"]
    assert found["correct"]
    assert found["memory"]["ways"]["stitch"]["count"] > 0
    assert found["memory"]["peak_bytes_reserved"] <= 256 << 20


def test_the_holes_stay_holes_without_it(gmlake):
    run = gmlake("run", "--emulate", "--stock", EXAMPLES / "fill_the_holes.py", "--budget", "256MiB")
    assert run.returncode == 3, run.stderr
    assert "every byte is right" in run.stdout
    assert "RESOURCE_EXHAUSTED" in run.stdout


def test_a_rollout_and_a_trainer_share_a_device_thanks_to_sleep(gmlake):
    run = gmlake("run", "--emulate", EXAMPLES / "rollout_and_train.py", "--rounds", 2)
    assert run.returncode == 0, run.stderr
    assert "every weight is right" in run.stdout
    assert run.stdout.count("while the engine sleeps") == 2
    without = gmlake("run", "--emulate", EXAMPLES / "rollout_and_train.py", "--no-sleep")
    assert without.returncode == 3, without.stderr
    assert "no room" in without.stdout


def test_jax_gives_its_memory_back_for_another_framework(gmlake):
    run = gmlake("run", "--emulate", EXAMPLES / "share_with_torch.py", "--size", "128MiB", "--rounds", 2)
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("JAX gives back 128.0 MiB") == 2
    assert "has its value" in run.stdout


def test_sharing_fits_the_device_where_no_size_is_given(gmlake):
    run = gmlake("run", "--emulate", EXAMPLES / "share_with_torch.py", "--rounds", 1)
    assert run.returncode == 0, run.stderr
    assert float(re.search(r"JAX gives back ([\d.]+) MiB", run.stdout)[1]) > 300


def test_the_training_runs_and_says_what_it_took(gmlake):
    pytest.importorskip("flax")
    run = gmlake("run", "--emulate", EXAMPLES / "train_flax_gpt.py", "--steps", 4, "--size", "tiny", "--json")
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout.splitlines()[-1])
    assert found["gmlake"]
    assert found["steps"] == 4
    assert 0 < found["peak_bytes_in_use"] <= found["peak_bytes_reserved"]


def test_the_training_learns_where_kernels_are_real(tmp_path):
    pytest.importorskip("flax")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GMLAKE")}
    command = [sys.executable, str(EXAMPLES / "train_flax_gpt.py"), "--steps", "40", "--size", "tiny", "--json"]
    environment["JAX_PLATFORMS"] = "cpu"
    losses = [
        json.loads(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)[
            "losses"
        ]
        for _ in range(2)
    ]
    assert losses[0] == losses[1]  # same seed
    assert losses[0][-1] < 0.8 * losses[0][0]


def test_the_doctor_finds_the_emulated_device_well(gmlake):
    run = gmlake("doctor", "--emulate")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "came back unchanged" in run.stdout
    assert "active          yes" in run.stdout


def test_a_run_leaves_statistics_that_can_be_read(gmlake, tmp_path):
    script, stats = tmp_path / "script.py", tmp_path / "stats.json"
    script.write_text("import jax, numpy as np\nx = jax.device_put(np.zeros(32 << 20, np.int8)).block_until_ready()\n")
    assert gmlake("run", "--emulate", "--stats-file", stats, script).returncode == 0
    assert json.loads(gmlake("stats", stats, "--json").stdout)["peak_bytes_in_use"] >= 32 << 20
    assert "32.0 MiB" in gmlake("summary", stats).stdout


SPAWNS = """
import multiprocessing

def work(queue):
    import jax
    queue.put(jax.devices()[0].platform)

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=work, args=(queue,))
    process.start()
    print("the child ran on", queue.get(timeout=300))
    process.join()
"""


@pytest.mark.parametrize("flags", [[], ["--stock"]], ids=["gmlake", "stock"])
def test_a_spawned_child_uses_the_emulated_device_or_says_that_it_does_not(gmlake, tmp_path, flags):
    (tmp_path / "spawns.py").write_text(SPAWNS)
    run = gmlake("run", "--emulate", *flags, tmp_path / "spawns.py")
    assert run.returncode == 0, run.stderr[-2000:]
    said = [line for line in run.stderr.splitlines() if "no emulated device in this child process" in line]
    assert ("the child ran on gpu" in run.stdout) is (not said)
    assert len(said) <= 1
