"""The report on the policy: a bar is met or missed, and the page says so."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "research"))

import replay_document
import replay_report
from measurements import Bar, Measurements


@pytest.mark.parametrize(
    ("value", "wants_more", "is_met"), [(1, False, True), (1.1, False, False), (1, True, True), (0.9, True, False)]
)
def test_a_bar_is_met_up_to_its_limit(value, wants_more, is_met):
    assert Bar("ratio", value, 1, "{:.1f}", wants_more).is_met == is_met


def result(**numbers):
    calls = {"create": numbers.pop("calls", 0)}
    return {
        "trace": "jax-train_buckets",
        "events": 10,
        "peak_live_bytes": 100,
        "min_limit_bytes": 101,
        "peak_reserved_bytes": 102,
        "duration_us": 1000,
        "driver_time_us": 10,
        "driver_calls": calls,
        "failures": 0,
        "ns_per_op": 90,
    } | numbers


@pytest.fixture
def measured():
    passes = result(
        first_pass_driver_time_us=10, last_pass_driver_time_us=0, passes=[result(), result(calls=3), result()]
    )
    names = replay_report.QUIET_FROM_THE_SECOND_PASS
    return Measurements(
        single={"jax-train_buckets": result()},
        passes=dict.fromkeys(names, passes),
        peers={
            "gmlake-uniform-2mib": {"jax-train_buckets": result(driver_time_us=200)},
            "bfc": {"jax-train_buckets": result(min_limit_bytes=100)},
        },
        churn={0.95: {"gmlake": result(failures=2)}},
        adversaries=[result(trace="growing", failures=1), result(trace="growing")],
    )


def test_the_bars_see_what_was_measured(measured):
    verdicts = {bar.measure: (bar.measured, bar.is_met) for bar in replay_report.bars(measured)}
    assert verdicts["smallest limit / peak live, mean"] == ("1.0100", True)
    assert verdicts["traces whose smallest limit is above BFC's"] == ("1", False)
    assert verdicts["driver time of uniform 2 MiB blocks / ours, mean"] == ("20.0", True)
    assert verdicts["driver calls of jax-train_buckets and jax-eager_init after the first pass"] == ("6", False)
    assert verdicts["churn 0.95: refused requests"] == ("2", False)
    assert verdicts["adversarial jobs with a refused request"] == ("1", False)
    assert not [name for name in verdicts if "tsl::BFCAllocator" in name], "its speed was not measured"


def test_the_page_marks_what_was_missed(measured):
    page = replay_document.document(measured, replay_report.bars(measured))
    assert "| churn 0.95: refused requests | ≤ 0 | 2 | **no** |" in page
    assert "| growing | 2 | 1 | 1 of 20 events |" in page
    assert max(map(len, page.splitlines())) <= 130
