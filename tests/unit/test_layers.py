"""The law of cc/README.md: a room of cc/ includes only itself and the rooms above it in the list there.

A row of the list names a folder (`core`) or a nested one (`core/tables`). A file belongs to the row of its own folder.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CC = ROOT / "cc"

# A driver, not a client of one: its rooms include each other and these, and no other room includes them.
APART = {"emulator": {"base"}}

# Rooms of fixtures. Each builds on its folder, so it stands below it; the folder's tests include it all the same.
FIXTURES = {"testing", "conformance"}
TEST = re.compile(r"_(test|benchmark)\.cc$")

SOURCES = sorted(path.relative_to(CC) for path in CC.rglob("*") if path.suffix in (".cc", ".h"))
FOLDERS = sorted({path.relative_to(CC).as_posix() for path in CC.rglob("*") if path.is_dir()})


def order():
    rows = re.findall(r"^\| `([\w/]+)` \|", (CC / "README.md").read_text(), re.MULTILINE)
    assert "base" in rows
    assert len(rows) == len(set(rows))
    return rows


def top(room):
    return room.split("/")[0]


def allowed(room, rows):
    above = rows[: rows.index(room) + 1]
    if top(room) in APART:
        return {row for row in above if top(row) == top(room) or top(row) in APART[top(room)]}
    return {row for row in above if top(row) not in APART}


def included_files(text):
    return re.findall(r'^\s*#\s*include\s+"cc/([^"]+)"', text, re.MULTILINE)


def includes(text):
    return [name.rsplit("/", 1)[0] for name in included_files(text)]


def fixtures(room, rows):
    return {row for row in rows if top(row) == top(room) and row.split("/")[-1] in FIXTURES}


def forbidden(source, text, rows):
    room = source.parent.as_posix()
    extra = fixtures(room, rows) if TEST.search(source.name) else set()
    return sorted(set(includes(text)) - allowed(room, rows) - extra)


@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_a_source_includes_only_its_own_room_and_rooms_above_it(source):
    bad = forbidden(source, (CC / source).read_text(), order())
    assert not bad, f"cc/{source} includes {bad}, which cc/README.md forbids to it"


def test_errors_become_exceptions_in_one_place():
    throwing = {
        (source.parts[0], source.name)
        for source in SOURCES
        if re.search(r"^[^/\n]*\bthrow\b", (CC / source).read_text(), re.MULTILINE)
    }
    # A barrier passes on that a thread ends.
    assert throwing == {("pjrt", "exception_barrier.h"), ("pjrt", "exception_barrier_test.cc"), ("python", "raise.h")}


@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_only_the_driver_and_the_emulator_know_cuda(source):
    knows_cuda = re.search(r"#\s*include\s+[<\"](cuda|cuda_runtime)\.h", (CC / source).read_text())
    assert not knows_cuda or source.parts[0] in ("driver", "emulator"), f"cc/{source} includes CUDA's header"


@pytest.mark.parametrize("source", [s for s in SOURCES if s.suffix == ".h"], ids=str)
def test_our_headers_are_named_from_the_root(source):
    beside = re.findall(r'#\s*include\s+"(?!cc/|xla/|tsl/)([^"]+)"', (CC / source).read_text())
    assert not [name for name in beside if (CC / source).parent.joinpath(name).exists()]


def test_the_list_names_every_folder_and_no_other():
    assert sorted(order()) == FOLDERS


ROOMS = [
    "base",
    "driver",
    "driver/testing",
    "core/tables",
    "core/policy",
    "core",
    "pjrt",
    "emulator/memory",
    "emulator",
]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("driver/a.cc", "core"),
        ("driver/a.cc", "core/tables"),
        ("core/tables/a.cc", "core/policy"),
        ("core/policy/a.cc", "core"),
        ("emulator/memory/a.cc", "emulator"),
        ("emulator/a.cc", "driver"),
        ("pjrt/a.cc", "emulator/memory"),
        ("core/a.cc", "core/unlisted"),
        ("core/tables/a_test.cc", "core/policy"),
        ("driver/a.cc", "driver/testing"),
    ],
)
def test_an_arrow_against_the_order_is_seen(source, target):
    assert forbidden(Path(source), f'#  include "cc/{target}/file.h"\n', ROOMS) == [target]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("core/tables/a.cc", "core/tables"),
        ("core/policy/a.cc", "core/tables"),
        ("core/a.cc", "core/tables"),
        ("pjrt/a.cc", "core/policy"),
        ("emulator/a.cc", "emulator/memory"),
        ("emulator/memory/a.cc", "base"),
        ("driver/a_test.cc", "driver/testing"),
    ],
)
def test_an_arrow_along_the_order_is_allowed(source, target):
    assert forbidden(Path(source), f'#include "cc/{target}/file.h"\n', ROOMS) == []


def files_behind(sources, text_of):
    """For each file, without its ending (a header and its source are one), the files that it includes."""
    graph = {}
    for source in sources:
        name = source.with_suffix("").as_posix()
        included = {Path(each).with_suffix("").as_posix() for each in included_files(text_of(source))}
        graph.setdefault(name, set()).update(included - {name})
    return graph


def circle_in(graph):
    """The files of one circle, in order; empty if there is none."""
    done, path = set(), []

    def visit(name):
        if name in path:
            return path[path.index(name) :]
        if name in done:
            return []
        path.append(name)
        found = next(filter(None, map(visit, sorted(graph.get(name, ())))), [])
        path.pop()
        done.add(name)
        return found

    return next(filter(None, map(visit, sorted(graph))), [])


def test_files_include_each_other_in_no_circle():
    product = [source for source in SOURCES if not TEST.search(source.name)]
    assert circle_in(files_behind(product, lambda source: (CC / source).read_text())) == []


def test_a_circle_of_files_is_seen():
    includes = {"a.h": "", "a.cc": "b", "b.h": "", "b.cc": "c", "c.h": "a"}

    def circle():
        return circle_in(files_behind(map(Path, includes), lambda source: f'#include "cc/{includes[source.name]}.h"'))

    assert circle() == ["a", "b", "c"]
    includes["c.h"] = ""
    assert circle() == []
