"""gmlake_jax.emulator where it has no device to start, and its documentation against the sources."""

import inspect
import re
from pathlib import Path

import pytest

from gmlake_jax import emulator

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = (ROOT / "docs" / "emulator.md").read_text()
EMULATOR = ROOT / "cc" / "emulator"


def test_asking_before_the_start_is_an_error():
    with pytest.raises(emulator.EmulatorError, match="start"):
        emulator.violations()


def test_starting_without_libraries_says_what_is_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("GMLAKE_EMULATOR_LIBRARIES", str(tmp_path))
    with pytest.raises(emulator.EmulatorError, match=r"lacks libcuda\.so\.1"):
        emulator.start()


def test_every_setting_is_documented():
    variables = set(re.findall(r"GMLAKE_EMULATOR_\w+", (EMULATOR / "calls" / "settings.cc").read_text()))
    assert variables <= set(re.findall(r"`(GMLAKE_EMULATOR_\w+)`", DOCUMENT))
    assert set(inspect.signature(emulator.start).parameters) == set(re.findall(r"^\| `(\w+)` \| `GML", DOCUMENT, re.M))


def test_every_rule_is_documented():
    names = re.search(r"kRuleNames\[kNumRules\] = \{(.*?)\}", (EMULATOR / "calls" / "log.cc").read_text(), re.S)[1]
    section = DOCUMENT.split("## Rules")[1].split("## Faults")[0]
    assert re.findall(r'"([\w-]+)"', names) == re.findall(r"^\| `([\w-]+)` \|", section, re.M)


def test_every_rule_has_a_program_that_breaks_it():
    names = re.search(r"kRuleNames\[kNumRules\] = \{(.*?)\}", (EMULATOR / "calls" / "log.cc").read_text(), re.S)[1]
    tests = "".join(path.read_text() for path in EMULATOR.rglob("*_test.cc"))
    assert set(re.findall(r'"([\w-]+)"', names)) <= set(re.findall(r'Broken\("([\w-]+)"', tests))


def test_every_library_that_is_loaded_is_built():
    built = (EMULATOR / "BUILD").read_text().split("filegroup")[1].split("]")[0]
    assert set(emulator._LIBRARIES) == set(re.findall(r'":(lib[^"]+)"', built))
