"""Writes docs/benchmarks.md and its pictures from the result lines. A number that has no line is not on the page."""

from __future__ import annotations

import collections
from pathlib import Path

from benchmarks.models import figures, tables
from benchmarks.models.configurations import IMPOSSIBLE
from benchmarks.models.results import Line
from benchmarks.models.tables import Group, Results

PICTURES = "benchmark_memory.svg", "benchmark_largest.svg", "benchmark_steps.svg"
NOTHING = "**No cell has been run on a GPU yet.** Every number below is missing for that reason."
EMULATED = "**From an emulated device, with tiny models.** Times, losses and utilisation mean nothing; memory is exact."

HEAD = """# Eight large models under every allocator

`python -m benchmarks.models report` writes this page from `docs/results/models.jsonl`; change neither by hand.
[benchmarks/models/README.md](../benchmarks/models/README.md) describes what is run, and how. GMLake (ASPLOS 2024)
measured PyTorch on A100s. Here JAX trains the same models, each on one GPU, under every allocator that JAX has."""

MEMORY = """The table shows the peak of device memory in GiB, from NVML, contexts and libraries included. Brackets
hold the utilisation as the paper defines it: peak live over peak reserved. "live" is what arrays and temporary
memory took at the peak, counted by gmlake_jax. N is plain training, R recomputation, L LoRA, O optimizer state on
page-locked host memory."""

STEPS = """The table shows medians over rounds that alternate between the allocators, in reversed order each time.
Brackets hold the smallest and the largest round. "default" is JAX's default allocator on demand
(`XLA_PYTHON_CLIENT_PREALLOCATE=false`). It is the same code as the preallocated one. Driver calls are those of
gmlake_jax about memory, after the warm-up."""

SITUATIONS = """Each situation runs at a limit of 1.01 times its own live peak, which a run under gmlake_jax has
measured. A failure counts as fragmentation, and is in bold, only if the request was at most the free memory and
more than the largest hole. All sizes are in GiB. For allocators that follow no limit (`cuda_async`, `platform`),
the rest of the device is occupied. `jittering_neighbour` is not about holes and has the whole device."""

NO_HELP = """A job gains nothing if its memory never comes near the device's. The default allocator has then
preallocated more than enough, in one piece, and serves it as fast. A job also gains nothing if its live memory
alone is too large. No allocator makes that less."""


def picture(root: Path, name: str, drawing: str | None, text: str) -> str:
    """Writes a picture and returns how the page shows it; nothing where there is none."""
    path = root / "docs" / "figures" / name
    if drawing is None:
        path.unlink(missing_ok=True)
        return ""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(drawing)
    return f"\n![{text}](figures/{name})\n"


def machines(lines: list[Line]) -> str:
    """On what the lines were measured."""
    kinds = collections.Counter(
        f"{line.get('gpu', 'no GPU')}, driver {line.get('driver', 'none')}, jax {line['versions'].get('jax', '?')}, "
        f"gmlake-jax {line['versions'].get('gmlake-jax', '?')}, {line['date']}"
        for line in lines
    )
    return "\n".join(f"- {kind}: {count} lines" for kind, count in kinds.items())


def commands(lines: list[Line]) -> str:
    """The commands that made the lines."""
    counts = collections.Counter(line["command"] for line in lines)
    listed = "\n".join(f"    {command}   # {count} lines" for command, count in counts.items())
    return listed or "None yet."


def impossible() -> str:
    """Why some cells cannot be run."""
    return "\n".join(f"- {model} {strategy}: {why}." for (model, strategy), why in IMPOSSIBLE.items())


def where_not(found: Results) -> str:
    """The paragraph, and the cells that say so."""
    named = tables.no_help(found)
    if not found.lines:
        return NO_HELP
    if not named:
        return NO_HELP + "\n\nIn no cell that was run did another allocator take as little as ours, to a hundredth."
    listed = "\n".join(f"- {each}" for each in named)
    return f"{NO_HELP}\n\nAnother allocator took as little as ours, to a hundredth, in:\n\n{listed}"


def page(found: Results, shown: list[str], warning: str) -> str:
    """The whole page."""
    memory, largest, steps = shown
    parts = [HEAD, warning, machines(found.lines)]
    parts += ["## The paper's claims", tables.claims(found)]
    parts += ["## Memory", MEMORY, memory, tables.memory_table(found)]
    parts += ["Impossible on one device of 141 GB:", impossible()]
    parts += ["## Step time", STEPS, steps, tables.step_table(found)]
    parts += ["## Smallest limit", tables.limit_table(found)]
    parts += ["## Largest batch", largest, tables.largest_table(found)]
    parts += ["## Situations", SITUATIONS, tables.situation_table(found)]
    parts += ["## Where it does not help", where_not(found), "## Commands", commands(found.lines)]
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def results_for(lines: list[Line], emulated: bool) -> tuple[Results, str]:
    """The lines that the page is about, and what it says of them: a real GPU's and the emulated never on one page."""
    mine = [line for line in lines if bool(line.get("emulated")) == emulated]
    if emulated:
        return Results(mine, "-tiny"), EMULATED
    return Results(mine), "" if mine else NOTHING


def write(lines: list[Line], root: Path, emulated: bool = False) -> None:
    """The page and its pictures, under `root`/docs."""
    found, warning = results_for(lines, emulated)
    drawings = figures.memory(found) if found.lines else None, figures.largest(found), figures.ratios(found)
    texts = "Memory of each model and strategy", "Largest batches", "Step-time ratios"
    shown = [picture(root, *each) for each in zip(PICTURES, drawings, texts, strict=True)]
    (root / "docs").mkdir(parents=True, exist_ok=True)
    (root / "docs" / "benchmarks.md").write_text(page(found, shown, warning))


def ratio_line(lines: list[Line], model: str, strategy: str, layers: str) -> str:
    """The step-time ratio of one cell, for the end of a command."""
    suffix = "-tiny" if model.endswith("-tiny") else ""
    group = Group(model.removesuffix("-tiny"), strategy, layers)
    return f"{group.title}: ours / default on demand {tables.spread(Results(lines, suffix).ratios(group), 4)}"
