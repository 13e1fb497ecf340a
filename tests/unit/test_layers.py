"""The law of cc/README.md: a folder of cc/ includes only itself and the folders above it in the list there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CC = ROOT / "cc"

# A driver, not a client of one: it stands apart from the order (cc/README.md says so).
APART = {"emulator": {"emulator", "base"}}

SOURCES = sorted(path.relative_to(CC) for path in CC.rglob("*") if path.suffix in (".cc", ".h"))


def order():
    rows = re.findall(r"^\| `(\w+)` \|", (CC / "README.md").read_text(), re.MULTILINE)
    assert "core" in rows
    return rows


def allowed(folder):
    rows = order()
    return APART.get(folder) or set(rows[: rows.index(folder) + 1]) - set(APART)


def includes(text):
    return re.findall(r'^\s*#\s*include\s+"cc/(\w+)/', text, re.MULTILINE)


@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_a_source_includes_only_its_own_folder_and_folders_above_it(source):
    folder = source.parts[0]
    forbidden = set(includes((CC / source).read_text())) - allowed(folder)
    assert not forbidden, f"cc/{source} includes {sorted(forbidden)}, which cc/README.md forbids to {folder}"


def test_errors_become_exceptions_in_one_place():
    throwing = [
        str(source) for source in SOURCES if re.search(r"^[^/\n]*\bthrow\b", (CC / source).read_text(), re.MULTILINE)
    ]
    assert throwing == ["pjrt/fence.h", "pjrt/fence_test.cc", "python/raise.h"]  # a fence passes on that a thread ends


@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_only_the_driver_and_the_emulator_know_cuda(source):
    knows_cuda = re.search(r"#\s*include\s+[<\"](cuda|cuda_runtime)\.h", (CC / source).read_text())
    assert not knows_cuda or source.parts[0] in ("driver", "emulator"), f"cc/{source} includes CUDA's header"


@pytest.mark.parametrize("source", [s for s in SOURCES if s.suffix == ".h"], ids=str)
def test_our_headers_are_named_from_the_root(source):
    beside = re.findall(r'#\s*include\s+"(?!cc/|xla/|tsl/)([^"]+)"', (CC / source).read_text())
    assert not [name for name in beside if (CC / source).parent.joinpath(name).exists()]


def test_every_folder_is_in_the_list():
    assert {path.name for path in CC.iterdir() if path.is_dir()} <= set(order())


def test_the_check_sees_a_violation():
    assert includes('#include "cc/core/allocator.h"\n#  include "cc/base/bytes.h"\n') == ["core", "base"]
    assert "core" not in allowed("driver")
    assert "driver" not in allowed("emulator")
    assert "core" in allowed("pjrt")
