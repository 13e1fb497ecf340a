"""The top-level BUILD: `//:all_tests` runs the tests of each package, also of one that comes later."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SUITE = 'test_suite(\n    name = "all_tests",\n    visibility = ["//:__pkg__"],\n)'


def packages_with_tests():
    return [
        file
        for file in sorted((ROOT / "cc").rglob("BUILD"))
        if re.search(r"^\w+_test\(|_test\"", file.read_text(), re.M)
    ]


def test_each_package_with_tests_has_a_suite_of_all_of_them():
    without = [str(file.relative_to(ROOT)) for file in packages_with_tests() if SUITE not in file.read_text()]
    assert not without, f"Add the test_suite all_tests to {without}."


def test_the_suite_at_the_top_names_each_package_with_tests():
    named = re.findall(r'"//(cc[\w/]*):all_tests"', (ROOT / "BUILD").read_text())
    assert named == [file.parent.relative_to(ROOT).as_posix() for file in packages_with_tests()]
