"""`python -m benchmarks.models COMMAND`: runs cells and searches, writes the report. README.md has commands."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from pathlib import Path

from benchmarks.models import configurations, peers, recordings, report, results, schedule, search
from benchmarks.models.cell import SECONDS, Runner
from benchmarks.models.results import Cell
from benchmarks.models.situations import NAMES

ROOT = Path(__file__).resolve().parents[2]
DEFAULT_PEERS = {
    "situation": "ours,default,cuda_async",
    "limit": "ours,default",
    "largest": "default,ours",
    "alternate": "on_demand,ours",
}
RESULTS = ROOT / "docs" / "results" / "models.jsonl"


def runner_of(options: argparse.Namespace) -> Runner:
    """How the command line wants cells to be run."""
    runner = Runner(options.out, options.budget, emulate=options.emulate, steps=options.steps, seed=options.seed)
    return dataclasses.replace(runner, cache=options.cache) if options.cache else runner


def cell_of(options: argparse.Namespace, peer: str, round_number: int = 0) -> Cell:
    """The cell that the command line names."""
    if name := getattr(options, "situation", None):
        return Cell("situation", options.size, peer, situation=name)
    why = configurations.impossible(options.model, options.strategy)
    if why:
        raise SystemExit(f"{options.model} {options.strategy} is impossible: {why}")
    batch, length = getattr(options, "batch", None), getattr(options, "length", None)
    return Cell("run", options.model, peer, options.strategy, options.layers, round_number, batch, length)


def run(options: argparse.Namespace) -> None:
    """One cell."""
    cell = dataclasses.replace(cell_of(options, options.peer, options.round), limit=options.limit)
    runner_of(options).do(cell)


def situation(options: argparse.Namespace) -> None:
    """One situation under each peer, at its own limit."""
    runner = runner_of(options)
    for peer in options.peers.split(","):
        cell = dataclasses.replace(cell_of(options, peer), tight=True)
        search.situation_at_its_limit(runner, cell, 2 * options.budget)


def limit(options: argparse.Namespace) -> None:
    """The smallest limit under each peer, of a model or of a situation."""
    runner = runner_of(options)
    for peer in options.peers.split(","):
        print(json.dumps(search.smallest_limit(runner, cell_of(options, peer), options.runs)))


def largest(options: argparse.Namespace) -> None:
    """The largest batch under each peer, of sequences of one length."""
    runner = dataclasses.replace(runner_of(options), steps=3)
    c = configurations.find(options.model)
    for peer in options.peers.split(","):
        cell = dataclasses.replace(cell_of(options, peer), length=options.length or max(c.lengths))
        print(json.dumps(search.largest_batch(runner, cell, c.batch[options.strategy], options.runs)))


def alternate(options: argparse.Namespace) -> None:
    """Rounds of the peers in turns, the order turned round each time; those that have a line are not run again."""
    runner = runner_of(options)
    pairs = [(options.model, options.strategy)]
    cells = [
        dataclasses.replace(cell, layers=options.layers)
        for number in range(options.rounds)
        for cell in schedule.in_turns(pairs, tuple(options.peers.split(",")), number)
    ]
    schedule.run_missing(runner, cells, options.seconds)
    print(report.ratio_line(runner.lines(), options.model, options.strategy, options.layers))


def plan(options: argparse.Namespace) -> None:
    """The missing cells; with --seconds, as many of them as fit."""
    runner = runner_of(options)
    cells = [cell for cell in schedule.everything(options.tiny) if options.only in cell.title()]
    left = results.missing(runner.lines(), cells, options.retry)
    print(f"{len(left)} of {len(cells)} cells are missing; next:")
    for cell in left[: options.show]:
        print(" ", cell.title())
    if options.seconds:
        begun = time.monotonic()
        left_after = schedule.run_missing(runner, cells, options.seconds, options.retry)
        print(f"{left_after} cells are missing after {time.monotonic() - begun:.0f} s")


def write_report(options: argparse.Namespace) -> None:
    """docs/benchmarks.md and its pictures; of emulated lines only where that is asked for, and elsewhere."""
    if options.emulated and options.root == ROOT:
        raise SystemExit("--emulated needs --root FOLDER: the documentation holds no emulated numbers")
    report.write(results.read(options.out), options.root, options.emulated)


def record(options: argparse.Namespace) -> None:
    """A run under ours, as a trace for `gmlake replay`."""
    recordings.record(runner_of(options), cell_of(options, "ours"), options.trace)


def add_common(parser: argparse.ArgumentParser) -> None:
    """Options that every command has."""
    parser.add_argument("--out", type=Path, default=RESULTS, help="results, JSON lines")
    parser.add_argument("--budget", type=float, default=SECONDS, help="seconds for one cell")
    parser.add_argument("--steps", type=int, default=30, help="measured training steps")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cache", type=Path, help="folder of the compilation cache")
    parser.add_argument("--emulate", metavar="SIZE", help="on an emulated device of so many GiB, such as 2GiB")


def add_model(parser: argparse.ArgumentParser) -> None:
    """Which model, how trained."""
    parser.add_argument("--model", default="opt-1.3b", help=f"{', '.join(configurations.CONFIGURATIONS)}; or …-tiny")
    parser.add_argument("--strategy", default="N", choices=configurations.STRATEGY_NAMES)
    parser.add_argument("--layers", default="scan", choices=("scan", "unrolled"))
    parser.add_argument("--batch", type=int, help="sequences a step; default: the table's")
    parser.add_argument("--length", type=int, help="sequences of this length alone")


def add_situation(parser: argparse.ArgumentParser, required: bool) -> None:
    """Which situation."""
    parser.add_argument("--situation", choices=NAMES, required=required)
    parser.add_argument("--size", default="full", choices=("full", "tiny"))


def add_peers(parser: argparse.ArgumentParser, default: str) -> None:
    """Which allocators."""
    parser.add_argument("--peers", default=default, help=f"comma list of {', '.join(peers.PEERS)}")


def parser_of() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models", description=__doc__)
    commands = parser.add_subparsers(required=True)
    made = {}
    for function in (run, situation, limit, largest, alternate, plan, write_report, record):
        name = "report" if function is write_report else function.__name__
        made[name] = commands.add_parser(name, help=function.__doc__, description=function.__doc__)
        made[name].set_defaults(function=function)
        add_common(made[name])
    for name in ("run", "limit", "largest", "alternate", "record"):
        add_model(made[name])
    add_situation(made["situation"], required=True)
    add_situation(made["limit"], required=False)
    for name, default in DEFAULT_PEERS.items():
        add_peers(made[name], default)
    add_own(made)
    return parser


def add_own(made: dict[str, argparse.ArgumentParser]) -> None:
    """Options that one command alone has."""
    made["run"].add_argument("--peer", default="ours", choices=peers.PEERS)
    made["run"].add_argument("--round", type=int, default=0)
    made["run"].add_argument("--limit", type=int, help="bytes that the allocator may use")
    for name in ("limit", "largest"):
        made[name].add_argument("--runs", type=int, default=search.RUNS, help="at most so many runs a search")
    made["alternate"].add_argument("--rounds", type=int, default=3)
    made["alternate"].add_argument("--seconds", type=float, default=1e6, help="for all rounds")
    made["plan"].add_argument("--seconds", type=float, default=0, help="run what fits; 0 shows only")
    made["plan"].add_argument("--only", default="", help="cells whose title has these words: 'opt-1.3b LR'")
    made["plan"].add_argument("--show", type=int, default=12)
    made["plan"].add_argument("--retry", action="store_true", help="again what ended for want of time")
    made["plan"].add_argument("--tiny", action="store_true", help="the tiny variants")
    made["report"].add_argument("--root", type=Path, default=ROOT, help="the folder whose docs/ is written")
    made["report"].add_argument("--emulated", action="store_true", help="a page about emulated lines, to look at it")
    made["record"].add_argument("--trace", type=Path, required=True, help="the trace to write, NAME.trace.npz")


def main() -> None:
    """Parses, and does it."""
    options = parser_of().parse_args(sys.argv[1:])
    options.function(options)


if __name__ == "__main__":
    main()
