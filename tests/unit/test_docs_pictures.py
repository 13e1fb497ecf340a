"""docs/pictures.md and the formats in docs/recording.md speak of verbs, options and suffixes that exist."""

import re
from pathlib import Path

import pytest
from histories import life

from gmlake_jax.commands.main import main
from gmlake_jax.formats.registry import FORMATS

DOCS = Path(__file__).resolve().parents[2] / "docs"
PICTURES = (DOCS / "pictures.md").read_text()
USAGES = dict(re.findall(r"^    gmlake (plot|report|compare|top) (.*)$", PICTURES, re.MULTILINE))


@pytest.mark.parametrize("verb", ["plot", "report", "compare", "top"])
def test_the_options_in_a_usage_line_exist(verb, capsys):
    with pytest.raises(SystemExit):
        main([verb, "--help"])
    known = capsys.readouterr().out
    options = re.findall(r"--[a-z]+|-o\b", USAGES[verb])
    assert [option for option in options if option not in known] == []
    assert options


def test_every_suffix_that_convert_writes_is_documented():
    page = (DOCS / "recording.md").read_text()
    suffixes = {suffix for item in FORMATS.values() for suffix in item.suffixes}
    assert {suffix for suffix in suffixes if f"`{suffix}`" not in page} <= {".trace.json"}


def test_the_table_of_compare_has_the_columns_of_the_real_one(tmp_path, capsys):
    life().save(tmp_path / "b.npz")
    life(events=life().events[:8]).save(tmp_path / "a.npz")
    assert main(["compare", str(tmp_path / "a.npz"), str(tmp_path / "b.npz")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(line.split("  ")[0] in PICTURES for line in lines[:7])
    assert re.search(r"annotation +A +B +change +leases", "\n".join(lines))


@pytest.mark.parametrize(("name", "words"), [("timeline", ["weights", "reserved"]), ("layout", ["Stitched ranges"])])
def test_the_pictures_in_the_page_are_of_the_present_kind(name, words):
    content = (DOCS / "pictures" / f"{name}.svg").read_text()
    assert [word for word in words if word not in content] == []
