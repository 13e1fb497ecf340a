"""What the long-running tools conclude from what they see."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"


def tool(name):
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


jax_tests, matrix = tool("run_jax_tests"), tool("test_matrix")


def outcomes_of(tmp_path, *notes):
    path = tmp_path / "notes"
    path.write_text("".join(json.dumps(note) + "\n" for note in notes))
    return jax_tests.read_outcomes(path)


def test_a_test_that_began_and_told_nothing_has_crashed(tmp_path):
    assert outcomes_of(tmp_path, ["a", "crashed"], ["a", "passed"], ["b", "crashed"]) == {"a": "passed", "b": "crashed"}


def test_an_error_after_a_pass_counts(tmp_path):
    assert outcomes_of(tmp_path, ["a", "crashed"], ["a", "passed"], ["a", "error"]) == {"a": "error"}
    assert outcomes_of(tmp_path, ["a", "crashed"], ["a", "values"], ["a", "passed"]) == {"a": "values"}


@pytest.mark.parametrize(("ours", "worse"), [("values", True), ("error", True), ("crashed", True), ("skipped", False)])
def test_what_is_worse_than_a_pass(ours, worse):
    assert jax_tests.Difference("a", "passed", ours).is_worse() == worse


def test_an_error_in_place_of_wrong_values_is_worse_but_not_the_reverse():
    assert jax_tests.Difference("a", "values", "error").is_worse()
    assert not jax_tests.Difference("a", "error", "values").is_worse()


def test_values_are_chance_where_kernels_compute_nothing():
    default, gmlake = {"a": "passed", "b": "passed"}, {"a": "values", "b": "error"}
    assert [each.test for each in jax_tests.compare(default, gmlake, emulated=True)] == ["b"]
    assert [each.test for each in jax_tests.compare(default, gmlake, emulated=False)] == ["a", "b"]


REPORT = '<testsuites><testsuite tests="10" skipped="2" failures="1" errors="0"/></testsuites>'


def row_of(tmp_path, violations, report=REPORT):
    (tmp_path / "report.xml").write_text(report)
    (tmp_path / "log").write_text(json.dumps({"violations": violations, "launches": 1}) + "\n")
    return matrix.read_row("3.11.7", "0.10.2", tmp_path / "report.xml", tmp_path / "log", 12.3)


def test_a_row_counts_tests_and_violations(tmp_path):
    row = row_of(tmp_path, 3)
    assert row.cells() == ["3.11.7", "0.10.2", "7", "2", "1", "1", "3", "12"]
    assert not row.is_good()
    assert row_of(tmp_path, 0, REPORT.replace('failures="1"', 'failures="0"')).is_good()


def test_a_run_without_a_report_has_failed(tmp_path):
    (tmp_path / "log").write_text("")
    row = matrix.read_row("3.11.7", "0.10.2", tmp_path / "none.xml", tmp_path / "log", 1.0)
    assert row.failed == 1
    assert not row.is_good()
