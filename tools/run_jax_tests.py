#!/usr/bin/env python3
"""Runs JAX's own tests with its default allocator and with gmlake_jax, and prints where the outcomes differ.

    tools/run_jax_tests.py path/to/jax                       arrays, memories, api, jit, pmap, pjit, lax, numpy
    tools/run_jax_tests.py path/to/jax --files array_test.py -k copy
    tools/run_jax_tests.py path/to/jax --every 20            one test in twenty of each file, always the same ones
    tools/run_jax_tests.py path/to/jax --emulated            without a GPU

On the emulated device kernels compute nothing, so what a test finds in its arrays is chance: there, one that passes and
one that fails on values count as the same, and only errors, crashes and hangs are compared. Only the tests come from
the checkout, which must be of the installed JAX's version; nothing is fetched. Each file runs in processes of its own,
first by default, then under gmlake_jax; a test that kills its process, or takes too long, is left behind, and the rest
goes on. A test that differs is run again, alone. Exit status 1: one still fails under gmlake_jax that does not by
default.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

TOOLS = Path(__file__).resolve().parent
FILES = (
    "array_test.py",
    "memories_test.py",
    "api_test.py",
    "jax_jit_test.py",
    "pmap_test.py",
    "pjit_test.py",
    "lax_test.py",
    "lax_numpy_test.py",
    "lax_numpy_indexing_test.py",
    "lax_numpy_operators_test.py",
    "lax_numpy_reducers_test.py",
)
PASSED, VALUES, ERROR, SKIPPED, CRASHED = KINDS = ("passed", "values", "error", "skipped", "crashed")
# The checkout's own jax package and its conftest.py stay out of the way of the installed JAX.
OPTIONS = ("-q", "--noconftest", "--import-mode=importlib", "--rootdir=.", "-c", os.devnull, "-p", "jax_outcomes")
EMULATED = (
    "import sys, gmlake_jax.emulator as e; e.start(devices={devices}); "
    "import pytest; sys.exit(pytest.main(sys.argv[1:]))"
)
MOST_RESTARTS = 25
Outcomes = dict[str, str]


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
        bad = (VALUES, ERROR, CRASHED)
        return self.gmlake in bad and self.default not in bad[bad.index(self.gmlake) :]


def read_outcomes(path: Path) -> Outcomes:
    """Test by test; of several notes about one, the worst, but a crash only if nothing else followed."""
    outcomes: Outcomes = {}
    for line in path.read_text().splitlines():
        test, outcome = json.loads(line)
        if outcomes.get(test, CRASHED) in (CRASHED, PASSED):
            outcomes[test] = outcome
    return outcomes


def environment_for(setting: Setting, arguments: argparse.Namespace) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GMLAKE")}
    libraries = {name: value for name, value in os.environ.items() if name == "GMLAKE_EMULATOR_LIBRARIES"}
    chosen = {
        "JAX_PLATFORMS": "cuda",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        "JAX_NUM_GENERATED_CASES": str(arguments.cases),
        "JAX_OUTCOMES_EVERY": str(arguments.every),
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "PYTHONPATH": os.pathsep.join([str(TOOLS), os.environ.get("PYTHONPATH", "")]),
    }
    return {**kept, **libraries, **chosen, **setting.environment}


def run_once(what: list[str], setting: Setting, notes: Path, arguments: argparse.Namespace) -> bool:
    """Runs what is not in `notes` yet; whether the process came to its own end."""
    runner = ["-c", EMULATED.format(devices=arguments.devices)] if arguments.emulated else ["-m", "pytest"]
    command = [sys.executable, "-P", *runner, *OPTIONS, f"--timeout={arguments.timeout}", "--timeout-method=thread"]
    done = subprocess.run(
        [*command, "-k", arguments.keyword, *what],
        cwd=arguments.checkout / "tests",
        env={**environment_for(setting, arguments), "JAX_OUTCOMES": str(notes)},
        capture_output=True,
        text=True,
        check=False,
    )
    ended = done.returncode in (0, 1, 5)  # 5: no test was left
    if not ended and arguments.verbose:
        print(done.stdout[-1500:] + done.stderr[-1500:], file=sys.stderr)
    return ended


def run_tests(what: list[str], setting: Setting, arguments: argparse.Namespace) -> Outcomes:
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder) / "notes"
        notes.touch()
        for _ in range(MOST_RESTARTS):
            known = len(read_outcomes(notes))
            if run_once(what, setting, notes, arguments):
                return read_outcomes(notes)
            if len(read_outcomes(notes)) == known:  # it does not even begin
                return read_outcomes(notes) | {f"{what[0]}::(the process)": CRASHED}
        return read_outcomes(notes) | {f"{what[0]}::(the rest)": CRASHED}


def is_active(setting: Setting, arguments: argparse.Namespace) -> bool:
    """Whether gmlake_jax serves a JAX process of this setting; a comparison of JAX with itself would find nothing."""
    start = "import gmlake_jax.emulator as e; e.start(); " if arguments.emulated else ""
    program = start + "import jax; jax.devices(); import gmlake_jax; print(gmlake_jax.is_active())"
    command = [sys.executable, "-P", "-c", program]
    environment = environment_for(setting, arguments)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"JAX does not start with the setting {setting.name}:\n{done.stderr[-2000:]}")
    return done.stdout.strip().endswith("True")


def same(default: str, gmlake: str, emulated: bool) -> bool:
    return default == gmlake or (emulated and {default, gmlake} <= {PASSED, VALUES})


def compare(default: Outcomes, gmlake: Outcomes, emulated: bool) -> list[Difference]:
    tests = sorted({*default, *gmlake})
    pairs = [Difference(test, default.get(test, "absent"), gmlake.get(test, "absent")) for test in tests]
    return [pair for pair in pairs if not same(pair.default, pair.gmlake, emulated)]


def confirm(differences: list[Difference], arguments: argparse.Namespace) -> list[Difference]:
    """Those that differ again when each runs alone."""
    confirmed = []
    for difference in differences:
        default = run_tests([difference.test], DEFAULT, arguments)
        gmlake = run_tests([difference.test], GMLAKE, arguments)
        confirmed += compare(default, gmlake, arguments.emulated)
    return confirmed


def count(outcomes: Outcomes) -> str:
    counts = Counter(outcomes.values())
    return ", ".join(f"{counts[kind]} {kind}" for kind in KINDS if counts[kind]) or "nothing"


def compare_file(file: str, arguments: argparse.Namespace) -> tuple[int, list[Difference]]:
    start = time.monotonic()
    default = run_tests([file], DEFAULT, arguments)
    gmlake = run_tests([file], GMLAKE, arguments)
    differences = compare(default, gmlake, arguments.emulated)
    confirmed = confirm(differences, arguments)
    print(f"{file}: default {count(default)}; gmlake {count(gmlake)}; {len(differences)} differ, ", end="")
    print(f"{len(confirmed)} again, alone; {time.monotonic() - start:.0f} s", flush=True)
    for difference in confirmed:
        print(f"  {difference.test}: {difference.default} -> {difference.gmlake}", flush=True)
    return len(gmlake), confirmed


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, help="JAX's repository at the installed version")
    parser.add_argument("--files", nargs="+", default=FILES, help="of tests/")
    parser.add_argument("-k", dest="keyword", default="", help="as pytest's")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="one test in N")
    parser.add_argument("--cases", type=int, default=10, help="JAX_NUM_GENERATED_CASES")
    parser.add_argument("--timeout", type=int, default=60, help="seconds for one test")
    parser.add_argument("--emulated", action="store_true", help="on gmlake_jax's emulated device")
    parser.add_argument("--devices", type=int, default=2, help="emulated devices")
    parser.add_argument("--verbose", action="store_true", help="what a process said that died")
    return parser.parse_args()


def main() -> int:
    arguments = parse()
    if not (arguments.checkout / "tests").is_dir():
        sys.exit(f"{arguments.checkout} is no checkout of JAX: there is no folder tests/ in it")
    if is_active(DEFAULT, arguments) or not is_active(GMLAKE, arguments):
        sys.exit("gmlake_jax is not active where it should be, or active where it should not")
    results = [compare_file(file, arguments) for file in arguments.files]
    worse = sum(difference.is_worse() for _, differences in results for difference in differences)
    print(f"{sum(tests for tests, _ in results)} tests; {worse} are worse under gmlake_jax")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
