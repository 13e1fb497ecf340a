"""Which cells there are, the most telling first, and running as many of the missing ones as fit into some seconds.

Cells that share their compiled programs form a group. The programs of several groups are compiled at once, in parallel
processes, before any of their cells runs; so that a cell finds its programs in the compilation cache, and a first step
under one allocator does not pay for what the others are then given.
"""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.models import results, search
from benchmarks.models.cell import Runner, outcome_of
from benchmarks.models.configurations import CONFIGURATIONS, STRATEGY_NAMES, impossible
from benchmarks.models.results import Cell
from benchmarks.models.situations import NAMES

TELLING = (("gpt2-xl", "N"), ("opt-1.3b", "N"), ("opt-1.3b", "R"), ("opt-1.3b", "LR"), ("llama-7b", "LR"))
COMPARED = ("on_demand", "cuda_async", "ours")
OTHERS = ("default", "fraction95", "vmm", "platform")
FIRST_SITUATIONS = ("several_models", "scattered_residents", "resume", "rollout_training")
ROUNDS = 3
WARMED_AT_ONCE = 5
WARM_SECONDS = 240.0


def possible() -> list[tuple[str, str]]:
    """All pairs of model and strategy that fit the device, the telling ones first."""
    every = [(m, s) for m, s in itertools.product(CONFIGURATIONS, STRATEGY_NAMES) if not impossible(m, s)]
    return [*TELLING, *(pair for pair in every if pair not in TELLING)]


def in_turns(pairs: list[tuple[str, str]], peers: tuple[str, ...], round_number: int, suffix: str = "") -> list[Cell]:
    """One round: every pair under every peer, forwards in even rounds and backwards in odd ones."""
    order = peers if round_number % 2 == 0 else peers[::-1]
    return [Cell("run", model + suffix, peer, s, round=round_number) for model, s in pairs for peer in order]


def situations_of(names: tuple[str, ...], peers: tuple[str, ...], size: str) -> list[Cell]:
    """The situations, each at the limit that its own live peak decides."""
    return [Cell("situation", size, peer, situation=name, tight=True) for name in names for peer in peers]


def everything(tiny: bool = False) -> list[Cell]:
    """All cells, in the order in which they should be run."""
    suffix, size = ("-tiny", "tiny") if tiny else ("", "full")
    telling, others = list(TELLING), possible()[len(TELLING) :]
    rest = tuple(name for name in NAMES if name not in FIRST_SITUATIONS)

    def rounds(pairs: list[tuple[str, str]], numbers: range) -> Iterator[Cell]:
        return itertools.chain(*(in_turns(pairs, COMPARED, number, suffix) for number in numbers))

    return [
        *in_turns(telling, ("on_demand", "ours"), 0, suffix),
        *situations_of(FIRST_SITUATIONS, ("ours", "default"), size),
        *in_turns(telling, ("cuda_async",), 0, suffix),
        *rounds(telling, range(1, ROUNDS)),
        *situations_of(rest, ("ours", "default"), size),
        *rounds(others, range(1)),
        *situations_of(NAMES, ("cuda_async",), size),
        *in_turns(telling, OTHERS, 0, suffix),
        *rounds(others, range(1, ROUNDS)),
        *situations_of(NAMES, ("fraction95", "on_demand", "vmm", "platform"), size),
        *in_turns(others, OTHERS, 0, suffix),
        *(dataclasses.replace(cell, layers="unrolled") for cell in in_turns(telling, COMPARED, 0, suffix)),
    ]


def grouped(cells: list[Cell], groups: int) -> Iterator[list[Cell]]:
    """The cells in portions that have at most so many sets of programs each."""
    portion: list[Cell] = []
    for cell in cells:
        sets = {each.programs for each in [*portion, cell]}
        if len(sets) > groups:
            yield portion
            portion = []
        portion.append(cell)
    if portion:
        yield portion


@dataclass
class Clock:
    """Seconds that are left."""

    end: float

    def left(self) -> float:
        """From now on."""
        return self.end - time.monotonic()


def unwarmed(runner: Runner, cells: list[Cell]) -> dict[str, Cell]:
    """The sets of programs that this machine's compilation cache lacks, by the name of their marker file."""
    found = {}
    for cell in cells:
        if cell.kind == "run":
            name = "warmed-" + "-".join(str(part) for part in cell.programs)
            if not (runner.cache / name).exists():
                found[name] = dataclasses.replace(cell, kind="warm", peer="on_demand", round=0, limit=None)
    return found


def warm(runner: Runner, cells: list[Cell], seconds: float) -> None:
    """Compiles what the cells will run, one process for each set of programs, all at once."""
    wanted = unwarmed(runner, cells)
    deadline = time.monotonic() + seconds
    children = {name: runner.start(cell, seconds) for name, cell in wanted.items()}
    for name, child in children.items():
        found = outcome_of(child, max(1.0, deadline - time.monotonic()))
        print(f"{name}: {found['outcome']} {found.get('reason', '')[:300]} {found.get('compile_s', '')}", flush=True)
        if found["outcome"] == "completed":
            (runner.cache / name).touch()


def run_missing(runner: Runner, cells: list[Cell], seconds: float, retry: bool = False) -> int:
    """Runs the missing cells until the time is over; how many are still missing."""
    clock = Clock(time.monotonic() + seconds)
    left = results.missing(runner.lines(), cells, retry)
    for portion in grouped(left, WARMED_AT_ONCE):
        warm(runner, portion, min(WARM_SECONDS, clock.left()))
        for cell in portion:
            if clock.left() < search.LEAST_SECONDS:
                return len(results.missing(runner.lines(), cells))
            run_cell(runner, cell, clock.left())
    return len(results.missing(runner.lines(), cells))


def run_cell(runner: Runner, cell: Cell, seconds: float) -> None:
    """One cell; a situation at its own limit."""
    if cell.kind == "situation":
        search.situation_at_its_limit(runner, cell, seconds)
    else:
        runner.do(cell, min(runner.budget, seconds))
