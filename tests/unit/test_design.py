"""docs/placement.md, docs/tuning.md and their figures say what cc/core/tables/thresholds.h says."""

import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "research"))

import threshold_curves  # noqa: E402
from svg import Curve, Panel, Sheet  # noqa: E402

HEADER = (ROOT / "cc" / "core" / "tables" / "thresholds.h").read_text()
PLACEMENT = (ROOT / "docs" / "placement.md").read_text()
TUNING = (ROOT / "docs" / "tuning.md").read_text()
MIB = 1 << 20


def thresholds():
    sizes = re.findall(r"^  Bytes (\w+) = MiB\((\d+)\);", HEADER, re.MULTILINE)
    counts = re.findall(r"^  int64_t (\w+) = (\d+);", HEADER, re.MULTILINE)
    return {name: int(value) * MIB for name, value in sizes} | {name: int(value) for name, value in counts}


def test_every_threshold_is_seen():
    assert len(thresholds()) == len(re.findall(r"^  \w+ \w+ = .*;", HEADER, re.MULTILINE))


def test_every_threshold_is_explained_with_its_value():
    explained = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", TUNING, re.MULTILINE))
    assert explained == {
        name: f"{value // MIB} MiB" if value >= MIB else str(value) for name, value in thresholds().items()
    }


@pytest.mark.parametrize("name", sorted(threshold_curves.SWEEPS))
def test_the_value_in_use_is_on_its_curve(name):
    values, used = threshold_curves.SWEEPS[name]
    assert used == thresholds()[name]
    assert used in values
    points = [point.value for point in threshold_curves.read() if point.threshold == name]
    assert points == list(values)


@pytest.mark.parametrize("figure", re.findall(r"\]\((figures/[\w.]+)\)", PLACEMENT + TUNING))
def test_a_figure_is_there_and_is_a_picture(figure):
    assert ET.parse(ROOT / "docs" / figure).getroot().tag.endswith("svg")


def test_a_sheet_draws_every_curve_and_marks_the_value_in_use():
    panel = Panel("<title>", ["1", "2"], [Curve("worst", [1.0, 2.0]), Curve("mean", [0.5, 0.0])], 1)
    root = ET.fromstring(Sheet([[panel, panel]]).draw())
    tags = [child.tag.split("}")[1] for child in root]
    assert tags.count("polyline") == tags.count("circle") == 4
