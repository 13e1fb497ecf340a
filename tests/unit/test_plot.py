"""`gmlake plot`: each kind is drawn with the words and colours that it must have; one line for what cannot be drawn."""

import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from histories import LIFE, life, stitched_snapshot

pytest.importorskip("matplotlib")

from gmlake_jax.commands.main import main
from gmlake_jax.history import Kind
from gmlake_jax.history.schema import EVENT, table
from gmlake_jax.history.state import snapshot_at_time
from gmlake_jax.pictures import colors

TRACE = Path(__file__).resolve().parents[1] / "traces" / "opt-1.3b-LRO.npz"


@pytest.fixture
def source(tmp_path):
    life().save(tmp_path / "in.npz")
    return str(tmp_path / "in.npz")


def drawn(path):
    """All text of an SVG, and all fill colours."""
    content = Path(path).read_text()
    tree = ElementTree.fromstring(content)
    words = " | ".join("".join(item.itertext()) for item in tree.iter() if item.tag.endswith("}text"))
    return words, set(re.findall(r"fill: (#[0-9a-f]{6})", content))


def plot(source, tmp_path, *arguments):
    target = tmp_path / "out.svg"
    assert main(["plot", str(source), "-o", str(target), "--force", *arguments]) == 0
    return drawn(target)


def test_a_timeline_names_who_holds_memory(source, tmp_path):
    words, fills = plot(source, tmp_path)
    for word in ("weights", "activations", "reserved", "limit", "refused: 1", "MiB", "time (ns)", "train.py", "H200"):
        assert word in words
    assert {colors.GROUPS[0], colors.GROUPS[1]} <= fills


def legend_of(recording):
    """The names in the legend of a timeline."""
    from gmlake_jax.pictures.draw_timeline import timeline_figure

    return [text.get_text() for text in timeline_figure(recording).axes[0].get_legend().get_texts()]


def many_bands(smallest):
    """A recording with nine annotations, of which the last and smallest comes under "others"."""
    rows = [LIFE[7] | {"address": 4096 * (i + 1), "size": 100_000, "annotation": i} for i in range(8)]
    rows.append(LIFE[7] | {"address": 4096 * 99, "size": smallest, "annotation": 8})
    return life(events=table(EVENT, rows), annotations=tuple(f"a{i}" for i in range(9)))


def test_a_legend_names_what_can_be_seen():
    assert "others" in legend_of(many_bands(50_000))
    assert "others" not in legend_of(many_bands(100))


def test_a_layout_shows_leased_and_idle_memory_and_what_is_shared(source, tmp_path):
    words, fills = plot(source, tmp_path, "--kind", "layout", "--at", "1e-9")
    assert "0 B leased of 6.0 MiB held" in words
    assert "Stitched" not in words
    assert colors.pale(colors.place_color(0)) in fills
    words, fills = plot(source, tmp_path, "--kind", "layout")
    assert "6.0 MiB leased of 6.0 MiB held" in words
    assert "2 of 3 blocks are shared" in words
    assert "range 1  4.0 MiB of 2 blocks" in words
    assert {colors.place_color(0), colors.place_color(1 / 3), colors.place_color(2 / 3)} <= fills


def test_fragmentation_finds_the_worst_moment(source, tmp_path):
    words, fills = plot(source, tmp_path, "--kind", "fragmentation")
    assert "at 220 ns" in words
    assert "4.0 MiB idle in 2 pieces, the largest 2.0 MiB" in words
    assert {colors.LARGEST, colors.SCATTERED} <= fills


@pytest.mark.parametrize("kind", ["layout", "fragmentation"])
def test_snapshots_are_drawn_too(kind, tmp_path):
    snapshot_at_time(life(), 220).save(tmp_path / "s.npz")
    words, _ = plot(tmp_path / "s.npz", tmp_path, "--kind", kind)
    assert "2.0 MiB leased of 6.0 MiB held" in words if kind == "layout" else "4.0 MiB idle in 2 pieces" in words


def test_a_picture_of_the_same_data_is_the_same_file(source, tmp_path):
    for name in ("a.svg", "b.svg", "a.png", "b.png"):
        assert main(["plot", source, "-o", str(tmp_path / name)]) == 0
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_the_name_of_the_picture_follows_from_that_of_the_file(source, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["plot", source, "--kind", "layout"]) == 0
    assert capsys.readouterr().out == "Wrote in-layout.png\n"


def test_the_same_requests_under_two_allocators(tmp_path):
    pytest.importorskip("gmlake_jax._gmlake")
    words, _ = plot(TRACE, tmp_path, "--kind", "compare")
    assert "JAX's default: holds 16.0 GiB for 8.7 GiB" in words
    assert re.search(r"gmlake_jax: holds (8\.7|8\.8|8\.9|9\.0) GiB for 8\.7 GiB", words)


def test_a_trace_is_drawn_under_a_policy(tmp_path):
    pytest.importorskip("gmlake_jax._gmlake")
    words, _ = plot(TRACE, tmp_path, "--kind", "timeline", "--policy", "bfc", "--limit", "8GiB")
    assert "refused: " in words


# --- what cannot be drawn


def fails(code, capsys, *arguments):
    assert main(["plot", *map(str, arguments)]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("gmlake: ")
    assert captured.err.count("\n") == 1
    return captured.err


def test_an_existing_picture_is_kept(source, tmp_path, capsys):
    (tmp_path / "p.png").write_text("precious")
    assert "exists already" in fails(1, capsys, source, "-o", tmp_path / "p.png")
    assert (tmp_path / "p.png").read_text() == "precious"


def test_other_kinds_of_files(source, tmp_path, capsys):
    assert ".png or .svg" in fails(2, capsys, source, "-o", tmp_path / "p.gif")


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04", b"\x80\x04N."])
def test_an_input_that_is_none(content, tmp_path, capsys):
    (tmp_path / "in.npz").write_bytes(content)
    assert "in.npz: " in fails(2, capsys, tmp_path / "in.npz", "-o", tmp_path / "p.png")


def test_a_snapshot_has_no_timeline(tmp_path, capsys):
    stitched_snapshot().save(tmp_path / "s.npz")
    assert "--kind layout" in fails(2, capsys, tmp_path / "s.npz", "-o", tmp_path / "p.png")


@pytest.mark.parametrize("kind", ["layout", "fragmentation"])
def test_a_source_without_blocks_has_no_physical_memory(kind, tmp_path, capsys):
    events = life().events
    life(events=events[events["kind"] <= Kind.FREE]).save(tmp_path / "in.npz")
    text = fails(2, capsys, tmp_path / "in.npz", "--kind", kind, "-o", tmp_path / "p.png")
    assert "--policy gmlake" in text


def test_without_matplotlib_the_extra_is_named(source, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "pip install matplotlib" in fails(1, capsys, source, "-o", tmp_path / "p.png")
