"""The table in tests/traces/README.md, held to the files beside it."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from gmlake_jax.commands.main import main

pytest.importorskip("gmlake_jax._gmlake")

TRACES = Path(__file__).resolve().parents[1] / "traces"
GIB = 2**30


def rows():
    lines = (TRACES / "README.md").read_text().splitlines()
    tables = [re.split(r"\s*\|\s*", line.strip("| ")) for line in lines if line.startswith("|")]
    return {row[0]: row[1:] for row in tables if (TRACES / f"{row[0]}.npz").exists()}


def peak_live(trace):
    return np.cumsum(np.where(trace["op"] == 0, trace["size"], -trace["size"])).max()


def test_every_trace_is_in_the_table():
    assert sorted(rows()) == sorted(path.stem for path in TRACES.glob("*.npz"))


@pytest.mark.parametrize("name", sorted(rows()))
def test_what_the_table_says_of_a_job_is_so(name):
    events, duration, live, largest, reserved, *_ = rows()[name]
    trace = np.load(TRACES / f"{name}.npz")
    meta = json.loads(bytes(trace["meta"]))
    assert int(events) == len(trace["op"])
    assert duration == f"{trace['time_us'][-1] / 1e6:.1f} s"
    assert live == f"{peak_live(trace) / GIB:.2f}"
    assert largest == f"{trace['size'].max() / GIB:.2f}"
    assert reserved == (f"{meta['peak_reserved'] / GIB:.2f}" if "peak_reserved" in meta else "")


@pytest.mark.parametrize("name", sorted(rows()))
def test_what_the_table_says_of_bfc_is_so(name, capsys):
    smallest, on_demand = map(float, rows()[name][-2:])
    assert main(["replay", str(TRACES / f"{name}.npz"), "--policy", "bfc", "--find-min-limit", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["min_limit_bytes"] / GIB == pytest.approx(smallest, rel=0.001)
    assert result["peak_reserved_bytes"] / GIB == pytest.approx(on_demand, abs=0.01)
