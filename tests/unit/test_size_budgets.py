"""Budgets that keep the code readable: lines and branches of a function, lines of a file. Measured by lizard."""

from pathlib import Path

import pytest

lizard = pytest.importorskip("lizard")

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("gmlake_jax", "cc", "examples", "tests", "research/made_jobs", "benchmarks/models")
CPP_LINES, PYTHON_LINES, BRANCHES, FILE_LINES = 40, 30, 8, 500

# A switch counts as one branch, however many cases it lists.
ANALYZER = lizard.FileAnalyzer(lizard.get_extensions(["modified"]))

SOURCES = sorted(
    path.relative_to(ROOT)
    for folder in FOLDERS
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".py", ".cc", ".h")
)


def excess(name, code):
    """The functions of a source that are over budget, in words."""
    lines = PYTHON_LINES if name.endswith(".py") else CPP_LINES
    for function in ANALYZER.analyze_source_code(name, code).function_list:
        if function.nloc > lines:
            yield f"{function.name}: {function.nloc} lines, {lines} allowed"
        if function.cyclomatic_complexity > BRANCHES:
            yield f"{function.name}: complexity {function.cyclomatic_complexity}, {BRANCHES} allowed"


@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_functions_and_files_stay_small(source):
    code = (ROOT / source).read_text()
    over = list(excess(str(source), code))
    if len(code.splitlines()) > FILE_LINES:
        over.append(f"{len(code.splitlines())} lines, {FILE_LINES} allowed in a file")
    assert not over, f"{source}: " + "; ".join(over)


def test_the_measure_sees_a_long_and_a_branchy_function():
    long = "def f():\n" + "    x = 1\n" * 31
    branchy = "def f(x):\n" + "    if x:\n        x += 1\n" * 9
    assert len(list(excess("a.py", long))) == 1
    assert len(list(excess("a.py", branchy))) == 1
    assert not list(excess("a.py", "def f():\n    return 1\n"))
