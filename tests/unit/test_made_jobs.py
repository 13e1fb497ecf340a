"""Made jobs: the same again for a seed, traces like recorded ones, served by the replay; and the page about them."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("gmlake_jax._gmlake")

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "research"))

import made_jobs
import made_jobs_report
from measurements import Measurements
from test_replay_report import result

from gmlake_jax.commands.main import main

SERVED = ("train-any-length", "serve-doubling", "xla-train-and-generate", "sampled-graphs", "tiny-and-small")


@pytest.fixture(scope="module")
def jobs():
    return {kind: made_jobs.make(kind, 1) for kind in made_jobs.KINDS}


def live_after(op, size):
    return np.cumsum(np.where(op == made_jobs.TAKEN, size, -size))


@pytest.mark.parametrize("kind", made_jobs.KINDS)
def test_a_seed_makes_the_same_job_again_and_another_makes_another(jobs, kind):
    assert made_jobs.make(kind, 1).events == jobs[kind].events
    assert made_jobs.make(kind, 2).events != jobs[kind].events


@pytest.mark.parametrize("kind", made_jobs.KINDS)
def test_a_made_job_is_a_trace(jobs, kind):
    trace = jobs[kind].arrays()
    taken = np.flatnonzero(trace["op"] == made_jobs.TAKEN)
    freed = np.flatnonzero(trace["op"] == made_jobs.FREED)
    of_free = trace["id"][freed]
    assert (trace["id"][taken] == np.arange(len(taken))).all()
    assert len(set(of_free)) == len(of_free), "nothing is freed twice"
    assert (taken[of_free] < freed).all()
    assert (trace["size"][taken] > 0).all()
    assert (trace["size"][taken[of_free]] == trace["size"][freed]).all()
    assert (np.diff(trace["time_us"]) >= 0).all()


@pytest.mark.parametrize("kind", SERVED)
def test_the_replay_serves_a_made_job(jobs, kind, tmp_path, capsys):
    path = tmp_path / f"{kind}.npz"
    jobs[kind].save(path)
    assert main(["replay", "--json", str(path)]) == 0
    served = json.loads(capsys.readouterr().out)
    trace = jobs[kind].arrays()
    assert (served["trace"], served["failures"]) == (kind, 0)
    assert served["peak_live_bytes"] == live_after(trace["op"], trace["size"]).max()


def test_a_job_in_granules_rounds_only_what_is_larger():
    job = made_jobs.Job(1)
    job.take(made_jobs_report.GRANULE + 1)
    job.free(job.take(100))
    assert made_jobs_report.peak_in_granules(job) == 2 * made_jobs_report.GRANULE + 100


def page_of(**ours):
    measured = Measurements(
        single={"multigrid": result(**ours)},
        passes={"multigrid": result(first_pass_driver_time_us=100, last_pass_driver_time_us=2)},
        peers={"bfc": {"multigrid": result(min_limit_bytes=103)}},
    )
    page = made_jobs_report.page(measured, 1)
    return page, next(line for line in page.splitlines() if line.startswith("| multigrid"))


def test_the_page_marks_what_a_job_misses():
    page, row = page_of(min_limit_bytes=104, peak_reserved_bytes=105)
    assert "| **1.0400** | 1.0300 |" in row
    assert "| 1.0500 |" in row
    assert "| **2.00%** |" in row
    assert "| traces whose smallest limit is above BFC's | ≤ 0 | 1 | **no** |" in page
    assert max(map(len, page.splitlines())) <= 130


def test_a_limit_below_its_bar_may_still_be_above_bfc():
    assert "| **1.0300** |" in page_of(min_limit_bytes=103)[1]
    assert "| 1.0200 |" in page_of(min_limit_bytes=102)[1]
