"""`gmlake demo`: the allocator at work, with and without a GPU, from the example programs."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from gmlake_jax.commands.command import Command
from gmlake_jax.errors import CommandError
from gmlake_jax.summary import format_comparison, format_row

_ROWS = (
    ("peak in use", "peak_bytes_in_use"),
    ("peak reserved", "peak_pool_bytes"),
    ("limit", "bytes_limit"),
    ("largest request", "largest_alloc_size"),
)
_EMULATED_STEPS = 20

# XLA's and the emulated device's own remarks, about an allocation that fails on purpose, would bury the outcome.
_QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "GMLAKE_EMULATOR_LOG": os.devnull}
_NOTE = "No GPU here, so this runs on an emulated one: kernels are no-ops there, only memory and copies are real."


def has_gpu() -> bool:
    """Whether the machine has an NVIDIA GPU: the device files that JAX looks for, too."""
    return any(os.path.exists(path) for path in ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg"))


def _example(name: str) -> Path:
    """The file of an example: inside the installed package, or beside it in the source tree."""
    package = Path(__file__).parents[1]
    folders = (package / "examples", package.parent / "examples")
    return next(folder / f"{name}.py" for folder in folders if folder.exists())


def _run_example(name: str, *arguments: str, emulate: bool, gmlake: bool) -> subprocess.CompletedProcess[bytes]:
    flags = (["--emulate"] if emulate else []) + ([] if gmlake else ["--stock"])
    command = [sys.executable, "-P", "-m", "gmlake_jax.commands.main", "run", *flags, str(_example(name)), *arguments]
    return subprocess.run(command, env=os.environ | _QUIET, check=False)


def _fill(gmlake: bool, report: Path) -> dict[str, Any]:
    run = _run_example("fill_the_holes", "--json", str(report), emulate=True, gmlake=gmlake)
    if not report.exists():
        raise CommandError(f"the example ended with {run.returncode} and no outcome; see the lines above")
    result: dict[str, Any] = json.loads(report.read_text())
    return result


def _on_emulator() -> int:
    print(_NOTE)
    with tempfile.TemporaryDirectory() as folder:
        _announce("holes, JAX's own allocator (which waits 10 s before it gives up)")
        stock = _fill(False, Path(folder, "stock.json"))
        _announce("holes, gmlake_jax")
        ours = _fill(True, Path(folder, "gmlake.json"))
    _announce(f"{_EMULATED_STEPS} training steps, gmlake_jax")
    arguments = ("--steps", str(_EMULATED_STEPS), "--size", "tiny")
    train = _run_example("train_flax_gpt", *arguments, emulate=True, gmlake=True)
    _announce("holes, side by side")
    _print_comparison({"default": stock, "gmlake": ours})
    return 0 if ours["fits"] and not stock["fits"] and train.returncode == 0 else 1


def _announce(title: str) -> None:
    print(f"\n== {title}", flush=True)


def _print_comparison(outcomes: dict[str, dict[str, Any]]) -> None:
    print(format_comparison({name: outcome["memory"] for name, outcome in outcomes.items()}, _ROWS))
    verdicts = ("fits" if outcome["fits"] else "out of memory" for outcome in outcomes.values())
    print(format_row("the large array", *verdicts))


def _on_gpu() -> int:
    return _run_example("train_flax_gpt", emulate=False, gmlake=True).returncode


class Demo(Command):
    """Show the allocator at work.

    With an NVIDIA GPU: trains a small GPT under GMLAKE=1. Without one: on an emulated GPU, fills memory with arrays,
    frees every other one and asks for one large array, with JAX's own allocator and with this one; then 20 steps of
    the same training.

    Example:
      gmlake demo
    """

    order = 40

    def prepare(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--emulate", action="store_true", help="use the emulated GPU even if there is a real one")

    def run(self, arguments: argparse.Namespace) -> int:
        try:
            import flax  # noqa: F401
        except ImportError:
            raise CommandError("the demo trains a flax model; pip install flax optax") from None
        return _on_emulator() if arguments.emulate or not has_gpu() else _on_gpu()
