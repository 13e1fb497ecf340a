"""`gmlake report`: the page in a real browser, offline. Needs Chromium; skips, with a warning, where there is none."""

import json
import re
import shutil
import sys
import time
import warnings
from contextlib import suppress
from pathlib import Path

import pytest
from histories import MIB, life, stitched_snapshot

pytest.importorskip("plotly")

from gmlake_jax.commands.main import main
from gmlake_jax.history.state import last_snapshot, snapshot_at_time
from gmlake_jax.pictures import page_figures
from gmlake_jax.pictures.extent import extents_of
from gmlake_jax.pictures.page import _script_json

TRACE = Path(__file__).resolve().parents[1] / "traces" / "opt-1.3b-LRO.npz"
PATIENCE_S = 240  # a browser on a busy machine
FIGURES = ["timeline", "buffers", "layout-peak", "layout-end", "compare", "compare-layout-0", "compare-layout-1"]


# --- figures


def test_buffers_lie_where_their_memory_is():
    extents = extents_of(life(), 100)
    assert [(one.buffer, one.place // MIB, one.size // MIB, one.pieces) for one in extents.shown] == [
        (0, 0, 2, 1),
        (1, 2, 2, 1),
        (2, 4, 1, 1),
        (3, 4, 2, 2),
        (3, 0, 2, 2),
    ]
    assert [(one.start_ns, one.end_ns) for one in extents.shown][-2:] == [(310, 460), (310, 460)]
    assert (extents.size, extents.left_out) == (6 * MIB, 0)


def test_the_largest_boxes_are_kept():
    extents = extents_of(life(), 2)
    assert [one.buffer for one in extents.shown] == [1, 3]
    assert extents.left_out == 3


def test_bands_in_the_page_have_the_sizes_in_words():
    first = page_figures.timeline(life())["data"][0]
    assert first["name"] == "activations"
    assert first["text"] == ["0 B", "2.0 MiB", "2.0 MiB", "2.0 MiB", "2.0 MiB", "6.0 MiB", "6.0 MiB"]


def test_a_shared_block_says_which_ranges_map_it():
    (trace,) = page_figures.layout(last_snapshot(life()))["data"]
    stitched = [text for name, text in zip(trace["y"], trace["hovertext"], strict=True) if name == "range 1"]
    assert all("mapped by 2 ranges: 0, 1" in text and "activations" in text for text in stitched)
    assert len(stitched) == 2


def test_idle_memory_says_so():
    (trace,) = page_figures.layout(snapshot_at_time(life(), 220))["data"]
    assert sum("idle" in text for text in trace["hovertext"]) >= 2


def test_annotations_cannot_smuggle_in_html():
    bad = life(annotations=("<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>", "step"))
    texts = [text for trace in page_figures.buffer_map(bad)["data"] for text in trace["hovertext"]]
    assert not any("<img" in text or "<script" in text for text in texts)


# --- the page


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    pytest.importorskip("gmlake_jax._gmlake")
    folder = tmp_path_factory.mktemp("report")
    hostile = life(annotations=("weights", "train/</script><b>step</b>", "step"))
    hostile.save(folder / "in.npz")
    assert main(["report", str(folder / "in.npz"), "-o", str(folder / "out.html")]) == 0
    return folder / "out.html"


def test_the_page_asks_for_nothing_outside_of_itself(page):
    markup = re.sub(r"<script>.*?</script>", "", page.read_text(), flags=re.DOTALL)
    assert "://" not in markup
    assert not re.search(r"\b(src|href)=", markup)


@pytest.fixture(scope="module")
def browser():
    webdriver = pytest.importorskip("selenium.webdriver")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        warnings.warn("no Chromium and chromedriver on this machine: the report was not opened", stacklevel=1)
        pytest.skip("no Chromium and chromedriver on this machine")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "window-size=1240,3000", "disable-gpu"):
        options.add_argument(f"--{flag}")
    options.add_argument("--host-resolver-rules=MAP * ~NOTFOUND")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = start(lambda: webdriver.Chrome(options=options, service=webdriver.ChromeService(driver)))
    yield started
    started.quit()


def start(open_browser, attempts=3):
    """A browser; one that a busy machine starts too slowly for its driver is started again."""
    from selenium.common.exceptions import WebDriverException

    for _ in range(attempts - 1):
        with suppress(WebDriverException):
            return open_browser()
    return open_browser()


def opened(browser, path):
    browser.get(path.as_uri())
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        shown = browser.execute_script("return [...document.querySelectorAll('.plot[data-drawn]')].map(e => e.id)")
        if len(shown) == len(browser.find_elements("css selector", ".plot")):
            return shown
        time.sleep(0.1)
    raise AssertionError(f"drawn within {PATIENCE_S} seconds: only {shown}")


def test_a_browser_draws_every_figure_without_an_error(browser, page):
    assert sorted(opened(browser, page)) == sorted(FIGURES)
    assert [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")] == []
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert browser.title == "Memory of train.py"


def hover(browser, figure, element):
    from selenium.webdriver import ActionChains

    target = browser.find_elements("css selector", f"#{figure} .bars .point path")[element]
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", target)
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        ActionChains(browser).move_by_offset(1, 1).move_to_element(target).perform()  # it may not have listened before
        time.sleep(0.2)
        text = browser.find_element("css selector", f"#{figure} .hoverlayer").text
        if text:
            return text
    raise AssertionError(f"nothing appears over {figure}")


def test_the_mouse_over_a_buffer_shows_its_size_and_annotation(browser, page):
    opened(browser, page)
    text = hover(browser, "buffers", -1)
    assert "weights" in text
    assert re.search(r"2.0 MiB, asked for 2,097,152 B|1.0 MiB, asked for 1,048,552 B", text)
    assert re.search(r"from (100|120) ns to 2[02]0 ns", text)


def test_the_mouse_over_a_block_shows_who_shares_it(browser, page):
    opened(browser, page)
    assert "mapped by 2 ranges: 0, 1" in hover(browser, "layout-end", -1)


def test_tables_and_headings_are_there(browser, page):
    opened(browser, page)
    text = browser.find_element("tag name", "body").text
    for words in ("most in use 6.0 MiB", "most reserved 6.0 MiB", "refused 1", "JAX's default", "gmlake_jax"):
        assert words in text


def test_the_report_of_a_trace_is_a_replay(browser, tmp_path):
    pytest.importorskip("gmlake_jax._gmlake")
    assert main(["report", str(TRACE), "-o", str(tmp_path / "t.html")]) == 0
    assert sorted(opened(browser, tmp_path / "t.html")) == sorted(FIGURES)
    assert "holds 16.0 GiB for 8.7 GiB" in browser.find_element("id", "compare").text


# --- what has no report


def fails(code, capsys, *arguments):
    assert main(["report", *map(str, arguments)]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("gmlake: ")
    assert captured.err.count("\n") == 1
    return captured.err


def test_an_existing_page_is_kept(tmp_path, capsys):
    life().save(tmp_path / "in.npz")
    (tmp_path / "out.html").write_text("precious")
    assert "exists already" in fails(1, capsys, tmp_path / "in.npz", "-o", tmp_path / "out.html")
    assert (tmp_path / "out.html").read_text() == "precious"


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04", b"\x80\x04N."])
def test_an_input_that_is_none(content, tmp_path, capsys):
    (tmp_path / "in.npz").write_bytes(content)
    assert "in.npz: " in fails(2, capsys, tmp_path / "in.npz", "-o", tmp_path / "p.html")


def test_a_snapshot_has_no_report(tmp_path, capsys):
    stitched_snapshot().save(tmp_path / "s.npz")
    assert "no events" in fails(2, capsys, tmp_path / "s.npz", "-o", tmp_path / "p.html")


def test_a_recording_without_allocations(tmp_path, capsys):
    life(events=life().events[:1]).save(tmp_path / "in.npz")
    assert "nothing was allocated" in fails(2, capsys, tmp_path / "in.npz", "-o", tmp_path / "p.html")


def test_a_missing_file(tmp_path, capsys):
    assert "No such file" in fails(2, capsys, tmp_path / "none.npz", "-o", tmp_path / "p.html")


def test_without_plotly_the_extra_is_named(tmp_path, monkeypatch, capsys):
    life().save(tmp_path / "in.npz")
    monkeypatch.setitem(sys.modules, "plotly", None)
    assert "pip install plotly" in fails(1, capsys, tmp_path / "in.npz", "-o", tmp_path / "p.html")


@pytest.mark.parametrize(
    "name", ["<!--<script>", "</script>", "]]>", "&amp;<", "\u2028\u2029", "<!--<script></script>-->"]
)
def test_no_annotation_can_end_the_script_or_hide_the_rest(name):
    text = _script_json({"name": name})
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {"name": name}


def test_the_figures_of_the_page_are_escaped(page):
    figures = page.read_text().rpartition("<script>")[2].partition("</script>")[0]
    assert "\\u003cbr" in figures
    assert "<br" not in figures
    assert "train/" in figures
