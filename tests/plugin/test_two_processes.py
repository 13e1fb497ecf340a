"""Two programs on one emulated device, each a process of its own with a limit in bytes: the benchmark, scaled down."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from emulated import TIMEOUT_S

WAIT_S = "12"  # the other program may need some seconds to give its memory back, where the machine is busy
BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "two_processes.py"


@pytest.fixture(scope="module")
def figures(tmp_path_factory):
    """What the two programs and their parent saw."""
    from gmlake_jax import emulator

    if not (emulator.library_folder() / "libcuda.so.1").exists():
        pytest.skip("the emulated device is not built")
    pytest.importorskip("jax_plugins.xla_cuda13", reason="the stock CUDA plugin is not installed")
    clean = ("GMLAKE", "XLA_", "JAX_", "TF_", "CUDA_", "PYTHONSAFEPATH")
    variables = {name: value for name, value in os.environ.items() if not name.startswith(clean)}
    log = tmp_path_factory.mktemp("two") / "log"
    machine = ["--emulate", "512MiB", "--piece", str(16 << 20), "--wait", WAIT_S, "--press", "120", "--rounds", "2"]
    ran = subprocess.run(
        [sys.executable, BENCHMARK, *machine, "--log", str(log)],
        env=variables,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:] + (log.read_text()[-3000:] if log.exists() else "")
    return json.loads(ran.stdout)


def test_two_programs_fill_one_device_up_to_their_limits(figures):
    assert figures["held_share"] > 0.85
    assert figures["grow_errors"] == []
    assert figures["limits_refuse"]


def test_what_one_program_gives_back_the_other_gets(figures):
    assert figures["exchanges"] == 4
    assert figures["exchange_errors"] == []


def test_a_program_waits_for_the_other_and_then_fails_with_the_report(figures):
    assert figures["waits"]
    assert figures["wait_error"] is None
    assert figures["refused_after_s"] >= 0.9 * float(WAIT_S)
    assert figures["refused_with_report"], figures["report"]


def test_what_nobody_needs_goes_to_a_third_program(figures):
    assert figures["third_got"] >= figures["free_before"] + figures["idle"] // 2
    assert figures["idle"] > 0


def test_no_array_of_either_program_ever_had_a_wrong_value(figures):
    assert figures["wrong"] == 0
