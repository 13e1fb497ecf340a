"""The documentation says what the code does: every option, every number, every command that it names."""

import dataclasses
import re
from pathlib import Path

import pytest
from test_stats import RAW

from gmlake_jax import stats
from gmlake_jax.config import Options, variable_of
from gmlake_jax.summary import format_summary

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = (ROOT / "docs" / "options.md").read_text()
NUMBERS = (ROOT / "docs" / "stats.md").read_text()
FIELDS = [option.name for option in dataclasses.fields(Options)]


def section(name):
    return OPTIONS.split(f"### {name}\n")[1].split("\n### ")[0]


@pytest.mark.parametrize("name", FIELDS)
def test_every_option_states_its_variable_default_effect_and_cost(name):
    text = section(name)
    assert f"- Variable: `{variable_of(name)}`" in text
    for word in ("Default", "Effect", "Cost"):
        assert f"- {word}: " in text


def test_no_option_is_documented_that_does_not_exist():
    assert re.findall(r"^### (\w+)$", OPTIONS, re.MULTILINE) == FIELDS


def documented():
    return set(re.findall(r"^\| `(\w+)` \|", NUMBERS, re.MULTILINE))


def test_every_number_is_defined():
    derived = stats.derive(RAW)
    nested = {"ways", "driver_calls"}
    keys = (set(derived) - nested) | set(derived["ways"]) | set(derived["driver_calls"])
    assert keys <= documented()
    assert all(f"`{name}`" in NUMBERS for name in nested)


def fields_of_the_header():
    text = (ROOT / "cc" / "telemetry" / "stats.h").read_text()
    return set(re.findall(r"^  (?:Bytes|int64_t|double) (\w+)(?: = 0)?;", text, re.MULTILINE)) - {"count", "bytes"}


def test_every_field_of_the_header_reaches_python_and_is_defined():
    assert fields_of_the_header() <= documented()


def test_nothing_is_defined_that_nobody_counts():
    derived = stats.derive(RAW)
    assert documented() <= fields_of_the_header() | set(derived) | set(derived["ways"])


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_named_make_targets_exist(document):
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z-]+)", (ROOT / document).read_text())) - {"sure"} <= targets


def test_the_summary_in_the_readme_is_laid_out_as_the_real_one():
    shown = (ROOT / "README.md").read_text().split("<!-- memory_summary -->\n```\n")[1].split("```")[0]
    real = format_summary(stats.derive(RAW), "title")

    def labels(text):
        return [line[:34].strip() for line in text.splitlines()[1:-2]]

    assert labels(shown) == labels(real)
