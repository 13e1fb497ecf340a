#!/usr/bin/env python3
"""Breaks the code on purpose, one small way at a time, and shows that the tests catch each of them.

    tools/mutation_check.py                  all of tools/mutations.toml, in a copy of the tree under build/mutations
    tools/mutation_check.py --only proof     those whose name or file contains the word
    tools/mutation_check.py --list           names and files only; says which no longer apply

Run it with a Python that has JAX and the extra `emulator` (.venv/bin/python). A mutation's own tests run first, until
one fails; if none does, the default ones follow. A mutation that survives means that a test is missing. One that does
not apply or compile, because the code has moved on, is an error: it must be written anew, not dropped.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COPY = ROOT / "build" / "mutations"
TREE = (
    "BUILD",
    "bazel",
    "cc",
    "gmlake_jax",
    "examples",
    "tests",
    ".bazelrc",
    "WORKSPACE",
    "setup.py",
    "pyproject.toml",
)
TEXTS = ("README.md", "LICENSE")  # setup.py asks for them
TEST_SECONDS = 120
PASSED, TESTS_FAILED, TIMED_OUT, DID_NOT_RUN = "passed", "failed", "timed out", "did not run"


@dataclass(frozen=True)
class Mutation:
    name: str
    file: str
    search: str
    replace: str
    tests: tuple[str, ...]

    def applies(self, root: Path) -> bool:
        return (root / self.file).read_text().count(self.search) == 1

    def apply(self, root: Path) -> None:
        path = root / self.file
        path.write_text(path.read_text().replace(self.search, self.replace))


@dataclass(frozen=True)
class Verdict:
    mutation: Mutation
    outcome: str  # TESTS_FAILED is what we want; TIMED_OUT will do where the code hangs
    test: str
    seconds: float

    def is_caught(self) -> bool:
        return self.outcome in (TESTS_FAILED, TIMED_OUT)

    def words(self) -> str:
        if self.outcome == PASSED:
            return "SURVIVES"
        if not self.is_caught():
            return self.outcome.upper()
        return self.test.removeprefix("//cc/") + (" (timed out)" if self.outcome == TIMED_OUT else "")


def in_order(own: list[str], default: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*own, *default]))


def load(path: Path = ROOT / "tools" / "mutations.toml") -> list[Mutation]:
    data = tomllib.loads(path.read_text())
    default = data["defaults"]["tests"]
    entries = data["mutation"]
    return [Mutation(**{**entry, "tests": in_order(entry.get("tests", []), default)}) for entry in entries]


def tracked_files() -> list[str]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *TREE, *TEXTS]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()


def refresh_copy() -> None:
    """The tree as it is now. Files that are the same stay untouched, so that Bazel's work on them stays useful."""
    for name in tracked_files():
        source, target = ROOT / name, COPY / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_bytes() != source.read_bytes():
            shutil.copy2(source, target)


def run(*command: str) -> tuple[int, str]:
    """The command's exit status and its output."""
    environment = os.environ | {"TESTED_INSTALLATION": str(COPY), "GMLAKE_BUILD_PYTHON": sys.executable}
    done = subprocess.run(command, cwd=COPY, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def run_bazel_test(target: str) -> str:
    code, output = run("bazel/run", "test", f"--test_timeout={TEST_SECONDS}", "--test_output=summary", target)
    if code == 3 and "TIMEOUT in " in output:
        return TIMED_OUT
    return {0: PASSED, 3: TESTS_FAILED}.get(code, DID_NOT_RUN)


def run_python_test(test: str) -> str:
    """A test of the stock JAX client on the emulated device, with what is compiled and the entry point in the copy."""
    if run(sys.executable, "setup.py", "--quiet", "egg_info", "build_ext", "--inplace")[0] != 0:
        return DID_NOT_RUN
    code, _ = run(sys.executable, "-m", "pytest", "-q", "-x", test)
    return {0: PASSED, 1: TESTS_FAILED}.get(code, DID_NOT_RUN)


def run_test(test: str) -> str:
    return run_bazel_test(test) if test.startswith("//") else run_python_test(test)


def judge(mutation: Mutation) -> Verdict:
    """Runs the mutation's tests until one does not pass."""
    start = time.monotonic()
    refresh_copy()
    mutation.apply(COPY)
    for test in mutation.tests:
        outcome = run_test(test)
        if outcome != PASSED:
            return Verdict(mutation, outcome, test, time.monotonic() - start)
    return Verdict(mutation, PASSED, "", time.monotonic() - start)


def check_baseline(mutations: list[Mutation]) -> None:
    refresh_copy()
    for test in sorted({test for mutation in mutations for test in mutation.tests}):
        if (outcome := run_test(test)) != PASSED:
            sys.exit(f"{test}: {outcome}, on the unbroken code")


def report(verdicts: list[Verdict]) -> None:
    print(f"\n| {'mutation':78} | {'caught by':60} | {'s':>5} |\n|{'-' * 80}|{'-' * 62}|{'-' * 7}|")
    for verdict in verdicts:
        print(f"| {verdict.mutation.name:78} | {verdict.words():60} | {verdict.seconds:5.0f} |")
    caught = sum(verdict.is_caught() for verdict in verdicts)
    print(f"\n{len(verdicts)} mutations, {caught} caught, in {sum(verdict.seconds for verdict in verdicts):.0f} s")


def list_all(mutations: list[Mutation]) -> int:
    for mutation in mutations:
        print(f"{'applies' if mutation.applies(ROOT) else 'DOES NOT APPLY':15} {mutation.file:30} {mutation.name}")
    return 0 if all(mutation.applies(ROOT) for mutation in mutations) else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a word in the name or the file")
    parser.add_argument("--list", action="store_true", help="do not run anything")
    arguments = parser.parse_args()
    mutations = [m for m in load() if arguments.only in m.name or arguments.only in m.file]
    if arguments.list:
        return list_all(mutations)
    if stale := [mutation.name for mutation in mutations if not mutation.applies(ROOT)]:
        sys.exit("do not apply any more: " + "; ".join(stale))
    check_baseline(mutations)
    verdicts = []
    for mutation in mutations:
        verdicts.append(judge(mutation))
        print(f"{verdicts[-1].words():60} {mutation.name}", flush=True)
    report(verdicts)
    return 0 if all(verdict.is_caught() for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
