#!/usr/bin/env python3
"""Runs JAX's own tests with its default allocator and with gmlake_jax, and prints where the outcomes differ.

    tools/run_jax_tests.py path/to/jax                lax, numpy, jit, pmap, memories, arrays
    tools/run_jax_tests.py path/to/jax --files array_test.py -k copy
    tools/run_jax_tests.py path/to/jax --emulated     without a GPU; kernels do nothing there, so most tests that look
                                                      at values fail, with either allocator

Only the tests are taken from the checkout, which must be of the installed JAX's version; nothing is fetched. Each file
runs in two processes of its own, one after the other on the same device. Exit status 1: a test fails under gmlake_jax
that passes by default.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

FILES = (
    "array_test.py",
    "api_test.py",
    "jax_jit_test.py",
    "memories_test.py",
    "pmap_test.py",
    "lax_test.py",
    "lax_numpy_test.py",
    "lax_numpy_indexing_test.py",
    "lax_numpy_operators_test.py",
    "lax_numpy_reducers_test.py",
)
PASSED, FAILED, SKIPPED, CRASHED = "passed", "failed", "skipped", "crashed"
# The checkout's own jax package and its conftest.py stay out of the way of the installed JAX.
OPTIONS = ("-q", "--noconftest", "--import-mode=importlib", "--rootdir=.", "-c", os.devnull)
EMULATED = "import sys, gmlake_jax.emulator as e; e.start(); import pytest; sys.exit(pytest.main(sys.argv[1:]))"


@dataclass(frozen=True)
class Setting:
    name: str
    environment: dict[str, str]


DEFAULT = Setting("default", {})
GMLAKE = Setting("gmlake", {"GMLAKE": "1"})


@dataclass(frozen=True)
class Difference:
    test: str
    default: str
    gmlake: str

    def is_worse(self) -> bool:
        return self.gmlake in (FAILED, CRASHED) and self.default not in (FAILED, CRASHED)


def outcome_of(case: ElementTree.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None:
        return FAILED
    return SKIPPED if case.find("skipped") is not None else PASSED


def read_outcomes(report: Path) -> dict[str, str]:
    """Test by test; empty if the process ended before it could write its report."""
    if not report.exists():
        return {}
    cases = ElementTree.parse(report).iter("testcase")
    return {f"{case.get('classname')}::{case.get('name')}": outcome_of(case) for case in cases}


def environment_for(setting: Setting, cases: int) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GMLAKE")}
    libraries = {name: value for name, value in os.environ.items() if name == "GMLAKE_EMULATOR_LIBRARIES"}
    chosen = {"JAX_PLATFORMS": "cuda", "XLA_PYTHON_CLIENT_PREALLOCATE": "false", "JAX_NUM_GENERATED_CASES": str(cases)}
    return {**kept, **libraries, **chosen, **setting.environment}


def run_file(checkout: Path, file: str, setting: Setting, arguments: argparse.Namespace) -> dict[str, str]:
    runner = ["-c", EMULATED] if arguments.emulated else ["-m", "pytest"]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-P", *runner, *OPTIONS, f"--junitxml={report}", "-k", arguments.keyword, file]
        environment = environment_for(setting, arguments.cases)
        folder_of_tests = arguments.checkout / "tests"
        done = subprocess.run(
            command, cwd=folder_of_tests, env=environment, capture_output=True, text=True, check=False
        )
        outcomes = read_outcomes(report)
    if not outcomes and done.returncode != 5:  # 5: no test was selected
        print(done.stdout[-2000:] + done.stderr[-2000:], file=sys.stderr)
        return {f"{file}::(the process)": CRASHED}
    return outcomes


def is_active(setting: Setting, arguments: argparse.Namespace) -> bool:
    """Whether gmlake_jax serves a JAX process of this setting; a comparison of JAX with itself would find nothing."""
    start = "import gmlake_jax.emulator as e; e.start(); " if arguments.emulated else ""
    program = start + "import jax; jax.devices(); import gmlake_jax; print(gmlake_jax.is_active())"
    command = [sys.executable, "-P", "-c", program]
    environment = environment_for(setting, arguments.cases)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"JAX does not start with the setting {setting.name}:\n{done.stderr[-2000:]}")
    return done.stdout.strip().endswith("True")


def compare(default: dict[str, str], gmlake: dict[str, str]) -> list[Difference]:
    tests = sorted({*default, *gmlake})
    pairs = [Difference(test, default.get(test, "absent"), gmlake.get(test, "absent")) for test in tests]
    return [pair for pair in pairs if pair.default != pair.gmlake]


def count(outcomes: dict[str, str]) -> str:
    counts = Counter(outcomes.values())
    return ", ".join(f"{counts[kind]} {kind}" for kind in (PASSED, FAILED, SKIPPED, CRASHED) if counts[kind])


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, help="JAX's repository at the installed version")
    parser.add_argument("--files", nargs="+", default=FILES, help="of tests/")
    parser.add_argument("-k", dest="keyword", default="", help="as pytest's")
    parser.add_argument("--cases", type=int, default=10, help="JAX_NUM_GENERATED_CASES")
    parser.add_argument("--emulated", action="store_true", help="on gmlake_jax's emulated device")
    return parser.parse_args()


def main() -> int:
    arguments = parse()
    if not (arguments.checkout / "tests").is_dir():
        sys.exit(f"{arguments.checkout} is no checkout of JAX: there is no folder tests/ in it")
    if is_active(DEFAULT, arguments) or not is_active(GMLAKE, arguments):
        sys.exit("gmlake_jax is not active where it should be, or active where it should not")
    worse = 0
    for file in arguments.files:
        default = run_file(arguments.checkout, file, DEFAULT, arguments)
        gmlake = run_file(arguments.checkout, file, GMLAKE, arguments)
        differences = compare(default, gmlake)
        worse += sum(difference.is_worse() for difference in differences)
        print(f"{file}: default {count(default) or 'nothing'}; gmlake {count(gmlake) or 'nothing'}", flush=True)
        for difference in differences:
            print(f"  {difference.test}: {difference.default} -> {difference.gmlake}", flush=True)
    print(f"{worse} tests are worse under gmlake_jax")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
