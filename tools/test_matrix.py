#!/usr/bin/env python3
"""Builds the wheel with each Python that is here, installs it in fresh environments with each JAX line, and runs the
Python tests on what was installed. Prints a table, in Markdown.

    tools/test_matrix.py                                 Python 3.11 with JAX 0.10, Python 3.12 with 0.11 and 0.12
    tools/test_matrix.py --only 3.13:0.12 3.12:0.10      other pairs
    tools/test_matrix.py --only 3.12:0.12 -- -k smoke    what follows -- goes to pytest

A Python that is not here is skipped with a line. The tests refuse to run on anything but the installed package
(tests/tested.py). Exit status 1: a test failed, or nothing was tested.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAIRS = ("3.11:0.10", "3.12:0.11", "3.12:0.12")
COLUMNS = ("Python", "jax", "passed", "skipped", "failed", "programs on the emulated device", "violations", "seconds")


@dataclass(frozen=True)
class Row:
    python: str
    jax: str
    passed: int
    skipped: int
    failed: int
    programs: int
    violations: int
    seconds: float

    def is_good(self) -> bool:
        return self.passed > 0 and self.programs > 0 and self.failed == 0 and self.violations == 0

    def cells(self) -> list[str]:
        counts = (self.passed, self.skipped, self.failed, self.programs, self.violations, round(self.seconds))
        return [self.python, self.jax, *map(str, counts)]


def run(*command: str | Path, **variables: str) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=ROOT,
        env=os.environ | variables,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def works(python: str, version: str) -> bool:
    question = "import sys; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([python, "-c", question], capture_output=True, text=True, check=False)
    return done.returncode == 0 and done.stdout.strip() == version


def find_python(version: str) -> str | None:
    """From PATH, or one of pyenv's, which hides all but one of its own."""
    kept = sorted(Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob(f"versions/{version}.*/bin/python"))
    candidates = [shutil.which(f"python{version}"), *map(str, reversed(kept))]
    return next((python for python in candidates if python and works(python, version)), None)


def build_wheel(python: str, folder: Path) -> Path:
    run(python, "-m", "venv", folder / "builder")
    run(folder / "builder/bin/pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ".")
    return next(folder.glob("*.whl"))


def install(python: str, wheel: Path, line: str, environment: Path) -> None:
    run(python, "-m", "venv", "--clear", environment)
    run(environment / "bin/pip", "install", "--quiet", f"{wheel}[emulator,examples,dev]", f"jax=={line}.*")


def run_tests(environment: Path, folder: Path, arguments: list[str]) -> tuple[Path, Path, str]:
    """The tests' report and log, and what they said."""
    report, log = folder / "report.xml", folder / "programs.jsonl"
    report.unlink(missing_ok=True)
    log.write_text("")
    command = [environment / "bin/pytest", "--quiet", f"--junitxml={report}", *arguments, "tests"]
    variables = {"TESTED_INSTALLATION": str(environment), "TESTED_LOG": str(log), "PYTHONPATH": ""}
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return report, log, done.stdout


def read_row(python: str, jax: str, report: Path, log: Path, seconds: float) -> Row:
    suite = next(ElementTree.parse(report).iter("testsuite")) if report.exists() else None
    total, skipped, failures, errors = (
        int(suite.get(name, 0)) if suite is not None else 0 for name in ("tests", "skipped", "failures", "errors")
    )
    failed = failures + errors if suite is not None else 1
    programs = [json.loads(line) for line in log.read_text().splitlines()]
    violations = sum(program["violations"] for program in programs)
    return Row(python, jax, total - skipped - failures - errors, skipped, failed, len(programs), violations, seconds)


def test_pair(python: str, wheel: Path, line: str, folder: Path, arguments: list[str]) -> Row:
    environment = folder / "tested"
    install(python, wheel, line, environment)
    question = "import platform, jax; print(platform.python_version(), jax.__version__)"
    versions = run(environment / "bin/python", "-P", "-c", question, JAX_PLATFORMS="cpu").split()
    start = time.monotonic()
    report, log, output = run_tests(environment, folder, arguments)
    row = read_row(*versions, report, log, time.monotonic() - start)
    if not row.is_good():
        print(output[-20000:], flush=True)
    return row


def table(rows: list[Row]) -> str:
    lines = [COLUMNS, ["---"] * len(COLUMNS), *(row.cells() for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=PAIRS, metavar="PYTHON:JAX")
    parser.add_argument("pytest", nargs="*", help="arguments of pytest, after --")
    return parser.parse_args()


def test_all(arguments: argparse.Namespace, folder: Path) -> list[Row]:
    rows: list[Row] = []
    wheels: dict[str, Path] = {}
    for pair in arguments.only:
        version, line = pair.split(":")
        python = find_python(version)
        if python is None:
            print(f"Python {version} is not here: {pair} is skipped", flush=True)
            continue
        home = folder / version
        home.mkdir(exist_ok=True)
        wheels[version] = wheels.get(version) or build_wheel(python, home)
        rows.append(test_pair(python, wheels[version], line, home, arguments.pytest))
        print(table(rows[-1:]).splitlines()[-1], flush=True)
    return rows


def main() -> int:
    arguments = parse()
    with tempfile.TemporaryDirectory() as folder:
        rows = test_all(arguments, Path(folder))
    print("\n" + table(rows))
    return 0 if rows and all(row.is_good() for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
