#!/usr/bin/env python3
"""Breaks the code on purpose, one small way at a time, and shows that the tests catch each of them.

    tools/mutation_check.py                  all of tools/mutations.toml, in a copy of the tree under build/mutations
    tools/mutation_check.py --only proof     those whose name or file contains the word
    tools/mutation_check.py --list           names and files only; says which no longer apply

A mutation that survives means that a test is missing. One that does not apply, because the code has moved on, is an
error: it must be written anew, not dropped.
"""

import argparse
import shutil
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COPY = ROOT / "build" / "mutations"
TREE = ("bazel", "cc", "tests/traces", ".bazelrc", "WORKSPACE")
BUILD_FAILED, TESTS_FAILED = 1, 3
TEST_SECONDS = 300


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
    caught_by: str | None
    seconds: float


def load(path: Path = ROOT / "tools" / "mutations.toml") -> list[Mutation]:
    data = tomllib.loads(path.read_text())
    default = data["defaults"]["tests"]
    return [Mutation(**{**entry, "tests": tuple(entry.get("tests", default))}) for entry in data["mutation"]]


def tracked_files() -> list[str]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *TREE]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()


def refresh_copy() -> None:
    """The tree as it is now. Files that are the same stay untouched, so that Bazel's work on them stays useful."""
    for name in tracked_files():
        source, target = ROOT / name, COPY / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_bytes() != source.read_bytes():
            shutil.copy2(source, target)


def run_test(target: str) -> int:
    command = ["bazel/run", "test", f"--test_timeout={TEST_SECONDS}", "--test_output=summary", target]
    return subprocess.run(command, cwd=COPY, capture_output=True, text=True, check=False).returncode


def judge(mutation: Mutation) -> Verdict:
    """Runs the mutation's tests until one fails."""
    start = time.monotonic()
    refresh_copy()
    mutation.apply(COPY)
    for target in mutation.tests:
        code = run_test(target)
        if code == BUILD_FAILED:
            sys.exit(f"{mutation.name}: does not compile")
        if code == TESTS_FAILED:
            return Verdict(mutation, target, time.monotonic() - start)
        if code != 0:
            sys.exit(f"{mutation.name}: bazel exits with {code}")
    return Verdict(mutation, None, time.monotonic() - start)


def check_baseline(mutations: list[Mutation]) -> None:
    refresh_copy()
    for target in sorted({test for mutation in mutations for test in mutation.tests}):
        if run_test(target) != 0:
            sys.exit(f"{target} fails on the unbroken code")


def report(verdicts: list[Verdict]) -> None:
    print(f"\n| {'mutation':76} | {'caught by':34} | {'s':>5} |\n|{'-' * 78}|{'-' * 36}|{'-' * 7}|")
    for verdict in verdicts:
        caught = verdict.caught_by or "SURVIVES"
        print(f"| {verdict.mutation.name:76} | {caught.removeprefix('//cc/'):34} | {verdict.seconds:5.0f} |")
    survivors = sum(verdict.caught_by is None for verdict in verdicts)
    print(f"\n{len(verdicts)} mutations, {survivors} survive")


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
        print(f"{verdicts[-1].caught_by or 'SURVIVES':40} {mutation.name}", flush=True)
    report(verdicts)
    return 1 if any(verdict.caught_by is None for verdict in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
