"""benchmarks/models from end to end on the emulated device: a process for each cell, its allocator, limit and line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tested
from emulated import TIMEOUT_S, require_libraries

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def play(tmp_path):
    """Runs a command of the benchmarks; the lines that it left."""
    require_libraries()
    pytest.importorskip("flax", reason="the models are written in flax; pip install flax optax")

    def run(*command):
        out = tmp_path / "models.jsonl"
        common = ["--emulate", "4GiB", "--out", str(out), "--cache", str(tmp_path / "cache")]
        variables = tested.variables()
        variables["PYTHONPATH"] += os.pathsep + str(ROOT)
        subprocess.run(
            [sys.executable, "-m", "benchmarks.models", *command, *common],
            env=os.environ | variables,
            cwd=tmp_path,
            timeout=TIMEOUT_S,
            check=True,
        )
        return [json.loads(line) for line in out.read_text().splitlines()]

    return run


def test_a_situation_that_breaks_the_default_allocator_for_want_of_one_piece_fits_ours(play):
    free, ours, default = play(
        "situation", "--situation", "scattered_residents", "--size", "tiny", "--peers", "ours,default"
    )
    assert [line["served"] for line in (free, ours, default)] == ["gmlake", "gmlake", "bfc_preallocated"]
    assert free["outcome"] == ours["outcome"] == "completed"
    assert ours["bytes_limit"] == ours["limit_bytes"] >= ours["peak_reserved_bytes"]
    assert default["outcome"] == "out_of_memory"
    assert default["critical"]["total_free"] >= default["critical"]["request"] > default["critical"]["largest_hole"]
    assert default["bytes_limit"] == pytest.approx(default["limit_bytes"], rel=0.01)


def test_a_training_cell_has_its_figures_under_each_allocator(play):
    model = ["--model", "llama-7b-tiny", "--strategy", "LR", "--peers", "on_demand,vmm,ours"]
    lines = play("alternate", *model, "--rounds", "1", "--steps", "4")
    assert [line["outcome"] for line in lines] == ["completed"] * 3
    assert [line["served"] for line in lines] == ["bfc_on_demand", "vmm", "gmlake"]
    for line in lines:
        assert line["emulated"]
        assert line["measured_steps"] == 4
        assert 0 < line["nvml_warm_bytes"] <= line["nvml_max_bytes"] < line["device_bytes"]
    ours = lines[-1]
    assert ours["driver_calls_per_step"] == 0
    assert ours["peak_live_bytes"] <= ours["peak_reserved_bytes"] <= ours["nvml_max_bytes"]
