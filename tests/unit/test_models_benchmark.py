"""benchmarks/models: searches, results, the plan and the page, without a model or a GPU."""

import dataclasses
import json
import subprocess
import sys
import xml.dom.minidom
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.models import cell as cells
from benchmarks.models import child, holes, measures, peers, report, results, schedule, search, tables
from benchmarks.models.cell import Runner
from benchmarks.models.configurations import CONFIGURATIONS, IMPOSSIBLE, STRATEGY_NAMES, find, impossible
from benchmarks.models.results import Cell
from benchmarks.models.search import Bracket
from benchmarks.models.situations import NAMES

ROOT = Path(__file__).resolve().parents[2]

# --- configurations


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_cell_has_a_batch_or_a_reason_why_not(name):
    for strategy in STRATEGY_NAMES:
        assert (strategy in CONFIGURATIONS[name].batch) != bool(impossible(name, strategy))


def test_a_tiny_model_keeps_the_architecture():
    kept = ("norm", "mlp", "positions", "rotary_share", "parallel", "tied", "bias", "position_tables")
    for c in CONFIGURATIONS.values():
        assert [getattr(c.tiny(), name) for name in kept] == [getattr(c, name) for name in kept]
        assert c.tiny() == find(f"{c.name}-tiny")


# --- which allocator served


STATS = {"bytes_limit": 100, "bytes_in_use": 1}


@pytest.mark.parametrize(
    ("active", "stats", "small", "served"),
    [
        (True, STATS | {"pool_bytes": 2}, [0, 256], "gmlake"),
        (False, STATS | {"pool_bytes": 100}, [0, 256], "bfc_preallocated"),
        (False, STATS | {"pool_bytes": 2}, [0, 256], "bfc_on_demand"),
        (False, STATS, [0, 256], "cuda_async"),
        (False, None, [2 << 20, 4 << 20], "vmm"),
        (False, None, [2 << 20, (2 << 20) + 512], "platform"),
    ],
)
def test_the_allocator_that_served_is_told_by_its_traces(active, stats, small, served):
    assert peers.identify(active, stats, small) == served


def test_a_peer_inherits_no_allocator_of_the_caller(monkeypatch):
    monkeypatch.setenv("GMLAKE", "1")
    monkeypatch.setenv("XLA_PYTHON_CLIENT_ALLOCATOR", "vmm")
    monkeypatch.setenv("GMLAKE_RECORD", "x.npz")
    chosen = peers.environment(peers.PEERS["default"])
    assert not [name for name in chosen if name.startswith(peers.SCRUBBED)]
    assert peers.environment(peers.PEERS["ours"])["GMLAKE_RECORD"] == "x.npz"


def test_each_peer_is_held_to_a_limit_in_its_own_way():
    asked = {name: peers.limit_variables(peer, 50, 100) for name, peer in peers.PEERS.items()}
    assert asked["ours"] == {"GMLAKE_LIMIT": "50"}
    assert asked["default"] == asked["vmm"] == {"XLA_CLIENT_MEM_FRACTION": "0.500000"}
    assert asked["cuda_async"] == asked["platform"] == {}


# --- holes


@pytest.mark.parametrize(
    ("free", "request_", "hole", "valid"),
    [(10, 8, 7, True), (10, 10, 9, True), (10, 8, 8, False), (7, 8, 3, False), (None, 8, 7, None), (10, 8, None, None)],
)
def test_a_situation_is_valid_where_the_bytes_were_there_and_one_piece_was_not(free, request_, hole, valid):
    assert holes.is_valid(free, request_, hole) is valid


@pytest.mark.parametrize(
    ("spans", "hole"),
    [
        ([(110, 10), (150, 10)], 40),  # behind the last
        ([(110, 10), (185, 10)], 65),  # between the two
        ([(170, 10), (180, 20)], 70),  # before the first
        ([(185, 10), (110, 10), (900, 10)], 65),  # in any order, and not what lies elsewhere
        ([], 100),
    ],
)
def test_the_largest_hole_is_found_by_addresses(spans, hole):
    assert holes.largest_gap(spans, 100, 100) == hole


FAILED = "W1201 bfc_allocator.cc:514] Allocator (GPU_0_bfc) ran out of memory trying to allocate"
CHUNK = "I1201 bfc_allocator.cc:1148]"
LOG = f"""
{FAILED} 1.0KiB (rounded to 1024)requested by op
{CHUNK} Free  at 6fa291000000 of size 256 next 14
{FAILED} 48.60MiB (rounded to 5000)requested by op
I1201 bfc_allocator.cc:1099] Bin (256): \tTotal Chunks: 1, Chunks in use: 0. 256B allocated for chunks.
{CHUNK} Free  at 6fa291000000 of size 2560 next 14
{CHUNK} InUse at 6fa291000a00 of size 1280 next 7
{CHUNK} Free  at 6fa291000f00 of size 3328 next 18446744073709551615
I1201 bfc_allocator.cc:1160] Sum Total of in-use chunks: 1.25KiB
"""


def test_the_last_failure_is_read_from_the_log_of_the_default_allocator():
    found = holes.dumped(LOG)
    assert found == {"request": 5000, "total_free": 5888, "largest_hole": 3328, "valid": True, "chunks": 3}
    assert holes.dumped("nothing of that kind") is None
    assert holes.dumped(LOG.splitlines()[1]) is None, "without its chunks, a failure says nothing of holes"


def test_the_log_of_a_failure_replaces_what_was_seen_before_it():
    failed = {"outcome": "out_of_memory", "critical": {"valid": False}}
    assert cells.at_failure(failed, LOG)["critical"]["valid"] is True
    assert cells.at_failure(failed, "") == {}
    assert cells.at_failure(failed | {"outcome": "completed"}, LOG) == {}


# --- searches


def probe_of(bound, tried):
    def probe(value):
        tried.append(value)
        return value >= bound

    return probe


def test_the_first_limit_that_works_ends_the_search():
    tried = []
    assert search.smallest(probe_of(90, tried), 101, 1000) == Bracket(None, 101)
    assert tried == [101]


def test_the_smallest_limit_is_bracketed_in_so_many_runs():
    tried = []
    found = search.smallest(probe_of(5000, tried), 1010, 64000, runs=12)
    assert found.fails < 5000 <= found.works <= found.fails * search.TOLERANCE
    assert len(tried) <= 12
    few = search.smallest(probe_of(5000, tried := []), 1010, 64000, runs=3)
    assert few.fails < 5000 <= few.works
    assert len(tried) == 3


@pytest.mark.parametrize("bound", [1, 3, 7, 8, 21])
def test_the_largest_batch_is_found(bound):
    found = search.largest(lambda value: value <= bound, 8, runs=20)
    assert (found.works, found.fails) == (bound, bound + 1)


def test_no_batch_may_fit():
    assert search.largest(lambda value: False, 4, runs=20) == Bracket(1, None)


# --- results, and what is still to do


class Played(Runner):
    """A runner whose children are played: what each cell ends with is given by a function."""

    def play(self, function):
        self.answers, self.ran = function, []
        return self

    def execute(self, cell, budget, limit):
        self.ran.append(dataclasses.replace(cell, limit=limit))
        return {**dataclasses.asdict(cell), "limit_bytes": limit, **self.answers(self.ran[-1])}


@pytest.fixture
def runner(tmp_path, monkeypatch):
    monkeypatch.setattr(cells, "machine", lambda: {"command": "c", "versions": {}, "date": "d"})
    monkeypatch.setattr(search, "machine", lambda: {"command": "c", "versions": {}, "date": "d"})
    return Played(tmp_path / "r.jsonl", cache=tmp_path).play(lambda cell: {"outcome": "completed"})


RUN = Cell("run", "opt-1.3b", "ours", "N")


def test_a_line_that_was_cut_off_is_run_again_and_spoils_no_other(runner):
    runner.do(RUN)
    with runner.out.open("a") as file:
        file.write('{"kind": "run", "mod')
    other = dataclasses.replace(RUN, peer="default")
    assert results.missing(runner.lines(), [RUN, other]) == [other]
    runner.do(other)
    assert results.missing(runner.lines(), [RUN, other]) == []


def test_failures_are_results_and_what_lacked_time_may_be_retried(runner):
    ends = {"ours": "timeout", "default": "out_of_memory"}
    runner.play(lambda cell: {"outcome": ends[cell.peer]})
    both = [RUN, dataclasses.replace(RUN, peer="default")]
    for cell in both:
        runner.do(cell)
    assert results.missing(runner.lines(), both) == []
    assert results.missing(runner.lines(), both, retry=True) == [RUN]


def test_a_cell_that_the_end_of_the_time_cut_short_has_no_result(runner):
    runner.play(lambda cell: {"outcome": "timeout"})
    runner.do(RUN, runner.budget / 2)
    assert results.missing(runner.lines(), [RUN]) == [RUN]
    runner.do(RUN)
    assert results.missing(runner.lines(), [RUN]) == []


def test_the_plan_goes_on_where_it_stopped(runner, monkeypatch):
    monkeypatch.setattr(schedule, "warm", lambda *_: None)
    plan = schedule.everything()[:6]
    runner.do(plan[2])
    runner.ran.clear()
    assert schedule.run_missing(runner, plan, 1000) == 0
    assert runner.ran == [*plan[:2], *plan[3:]]
    assert schedule.run_missing(runner, plan, 0) == 0


def test_no_cell_is_begun_when_the_time_is_over(runner, monkeypatch):
    monkeypatch.setattr(schedule, "warm", lambda *_: None)
    assert schedule.run_missing(runner, schedule.everything()[:6], search.LEAST_SECONDS - 1) == 6
    assert runner.ran == []


def test_every_possible_cell_is_planned_once():
    every = schedule.everything()
    scanned = {(cell.model, cell.strategy, cell.peer) for cell in every if cell.kind == "run" and cell.layers == "scan"}
    assert len(set(every)) == len(every)
    assert scanned == {(model, strategy, peer) for model, strategy in schedule.possible() for peer in peers.PEERS}
    assert not {(model, strategy) for model, strategy, _ in scanned} & set(IMPOSSIBLE)


def test_every_situation_is_planned_under_every_allocator():
    planned = [(cell.situation, cell.peer) for cell in schedule.everything() if cell.kind == "situation"]
    assert sorted(planned) == sorted((name, peer) for name in NAMES for peer in peers.PEERS)


def test_rounds_alternate_and_turn_their_order_round():
    peers_of = [[c.peer for c in schedule.in_turns([("gpt2-xl", "N")], ("a", "b"), n)] for n in range(3)]
    assert peers_of == [["a", "b"], ["b", "a"], ["a", "b"]]


def test_programs_are_warmed_once_for_all_allocators(runner):
    cells_ = schedule.in_turns([("gpt2-xl", "N"), ("opt-1.3b", "R")], ("on_demand", "ours"), 0)
    wanted = schedule.unwarmed(runner, cells_)
    assert [(cell.kind, cell.model) for cell in wanted.values()] == [("warm", "gpt2-xl"), ("warm", "opt-1.3b")]
    (runner.cache / next(iter(wanted))).touch()
    assert [cell.model for cell in schedule.unwarmed(runner, cells_).values()] == ["opt-1.3b"]


def test_the_smallest_limit_of_a_cell_begins_a_hundredth_above_its_live_peak(runner):
    live = 1000 << 20

    def answer(cell):
        fits = cell.limit is None or cell.limit >= 1.3 * live
        return {"outcome": "completed" if fits else "out_of_memory", "peak_live_bytes": live, "bytes_limit": 4 * live}

    runner.play(answer)
    line = search.smallest_limit(runner, dataclasses.replace(RUN, peer="default"), runs=8)
    tried = [cell.limit for cell in runner.ran if cell.limit]
    assert live * 1.01 <= tried[0] <= live * 1.01 + search.GRANULE
    assert line["failing_limit_bytes"] < 1.3 * live <= line["smallest_limit_bytes"] < 1.35 * live
    before = len(runner.ran)
    again = search.smallest_limit(runner, dataclasses.replace(RUN, peer="default"), runs=8)
    assert len(runner.ran) == before, "every probe has its line already"
    assert again["smallest_limit_bytes"] == line["smallest_limit_bytes"]


def test_a_situation_runs_at_the_limit_that_its_live_peak_decides(runner):
    runner.play(lambda cell: {"outcome": "completed", "peak_live_bytes": 1 << 30})
    cell = Cell("situation", "full", "default", situation="resume", tight=True)
    line = search.situation_at_its_limit(runner, cell, 100)
    assert [(each.peer, each.tight) for each in runner.ran] == [("ours", False), ("default", True)]
    assert (1 << 30) * 1.01 <= line["limit_bytes"] <= (1 << 30) * 1.01 + search.GRANULE
    assert results.find(runner.lines(), cell)["limit_bytes"] == line["limit_bytes"]


def test_a_situation_whose_time_is_over_is_left_for_the_next_run(runner):
    runner.play(lambda cell: {"outcome": "completed", "peak_live_bytes": 1 << 30})
    cell = Cell("situation", "full", "default", situation="resume", tight=True)
    assert search.situation_at_its_limit(runner, cell, search.LEAST_SECONDS - 1) is None
    assert results.missing(runner.lines(), [cell]) == [cell]


def test_a_child_that_hangs_or_says_nothing_is_a_result():
    def of(code, budget):
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            [sys.executable, "-c", code], stdout=pipe, stderr=pipe, text=True, start_new_session=True
        )
        return cells.outcome_of(process, budget)

    assert of("import time; time.sleep(60)", 0.2)["outcome"] == "timeout"
    crashed = of("import sys; sys.exit('no driver')", 20)
    assert crashed["outcome"] == "crash"
    assert "no driver" in crashed["reason"]
    assert of("print('noise'); print('{\"outcome\": \"completed\"}')", 20) == {"outcome": "completed"}


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(RuntimeError("RESOURCE_EXHAUSTED: Out of memory"), "out_of_memory"), (ValueError("a mistake"), "error")],
)
def test_running_out_of_memory_is_told_from_a_mistake(error, outcome):
    found = child.why(error)
    assert found["outcome"] == outcome
    assert str(error) in found["reason"]


# --- the page


def line(peer, round_=0, model="opt-1.3b", **figures):
    return {
        **dataclasses.asdict(Cell("run", model, peer, "N", round=round_)),
        "outcome": "completed",
        "utilisation": 0.5,
        "driver_calls_per_step": 0.0,
        "tokens_per_s": 1000.0,
        "step_ms_p99": 120.0,
        "peak_live_bytes": 20 << 30,
        **figures,
        "command": "python -m benchmarks.models plan --seconds 60",
        "versions": {"jax": "0"},
        "date": "2000-01-01",
    }


MADE_UP = [
    line("on_demand", nvml_max_bytes=50 << 30, step_ms_p50=100.0),
    line("ours", nvml_max_bytes=30 << 30, utilisation=0.9, step_ms_p50=99.0),
    line("ours", 1, nvml_max_bytes=30 << 30, utilisation=0.9, step_ms_p50=101.0),
    line("on_demand", 1, nvml_max_bytes=50 << 30, step_ms_p50=100.0),
    line("cuda_async", nvml_max_bytes=30 << 30, step_ms_p50=110.0),
    line("vmm", outcome="out_of_memory", nvml_max_bytes=10 << 30),
]
HOLES = {"request": 3 << 30, "total_free": 4 << 30, "largest_hole": 2 << 30, "valid": True}
SITUATION = {
    **line("default"),
    **dataclasses.asdict(Cell("situation", "full", "default", situation="resume", tight=True)),
    "outcome": "out_of_memory",
    "critical": HOLES,
    "limit_bytes": 5 << 30,
}


def test_the_page_says_what_the_lines_say(tmp_path):
    report.write([*MADE_UP, SITUATION], tmp_path)
    page = (tmp_path / "docs" / "benchmarks.md").read_text()
    row = "| opt-1.3b N | 20.0 | not run | not run | 50.0 (50%) | 30.0 (50%) | out of memory | not run | 30.0 (90%) |"
    assert row in page
    assert "| memory less, average | 9.2 GB | 21.5 GB | 1 |" in page
    assert "| fragmentation less, at most | 33 % | 40.0% | 1 |" in page
    assert "| opt-1.3b N | 1.000 (0.990 to 1.010) | 2 |" in page
    assert "**fails**: 3.00 asked, 4.00 free, largest hole 2.00" in page
    assert "- opt-1.3b N (cuda_async 30.0, ours 30.0 GiB)" in page
    assert "python -m benchmarks.models plan --seconds 60   # 7 lines" in page
    assert page.count("](figures/") == 2


def test_a_page_without_results_says_so_and_has_no_number(tmp_path):
    report.write([], tmp_path)
    page = (tmp_path / "docs" / "benchmarks.md").read_text()
    assert report.NOTHING in page
    assert "](figures/" not in page
    assert "| memory less, average | 9.2 GB | not run | 0 |" in page


def test_the_page_in_the_documentation_is_that_of_the_results(tmp_path):
    report.write(results.read(ROOT / "docs" / "results" / "models.jsonl"), tmp_path)
    for written in (tmp_path / "docs").rglob("*.*"):
        assert written.read_text() == (ROOT / written.relative_to(tmp_path)).read_text(), "run the report again"


def test_emulated_lines_are_never_on_the_page_of_a_gpu(tmp_path):
    emulated = [each | {"emulated": True, "model": "opt-1.3b-tiny"} for each in MADE_UP]
    report.write(emulated, tmp_path)
    assert report.NOTHING in (tmp_path / "docs" / "benchmarks.md").read_text()
    report.write(emulated, tmp_path, emulated=True)
    assert report.EMULATED in (tmp_path / "docs" / "benchmarks.md").read_text()


def test_a_failure_that_no_hole_explains_is_not_called_fragmentation():
    assert tables.situation_cell(SITUATION | {"critical": HOLES | {"valid": False}}) == "out of memory"
    assert tables.situation_cell(None) == "not run"


def test_pictures_are_well_formed(tmp_path):
    report.write(MADE_UP, tmp_path)
    for name in ("benchmark_memory.svg", "benchmark_steps.svg"):
        drawn = xml.dom.minidom.parseString((tmp_path / "docs" / "figures" / name).read_text())
        assert drawn.getElementsByTagName("text")


def test_lines_survive_the_file(tmp_path):
    for each in MADE_UP:
        results.append(tmp_path / "a" / "r.jsonl", each)
    assert results.read(tmp_path / "a" / "r.jsonl") == [json.loads(json.dumps(each)) for each in MADE_UP]


def test_ballast_is_not_counted_as_taken(monkeypatch):
    watch = object.__new__(measures.Watch)
    device = type("Device", (), {"nvml_used": staticmethod(lambda: 900), "total": staticmethod(lambda: 1000)})
    watch.device, watch.ballast, watch.context, watch.most = device, 500, 50, 0
    watch.after_warm_up, watch.served, watch.start, watch.cache, watch.programs = 880, "cuda_async", 0, None, 0
    monkeypatch.setattr(measures, "stats", lambda: {"peak_bytes_in_use": 175})
    figures = watch.figures()
    assert (figures["nvml_max_bytes"], figures["peak_reserved_bytes"], figures["utilisation"]) == (400, 350, 0.5)
