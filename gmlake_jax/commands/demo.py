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
from gmlake_jax.summary import format_comparison

_ROWS = (
    ("peak in use", "peak_bytes_in_use"),
    ("peak reserved", "peak_pool_bytes"),
    ("limit", "bytes_limit"),
    ("largest request", "largest_alloc_size"),
)
_EMULATED_STEPS = 20
_NOTE = (
    "No GPU here: this runs on an emulated one. Its kernels are no-ops, so losses mean nothing and nothing is fast;\n"
    "its memory is real, and so is every allocation that JAX makes.\n"
)


def has_gpu() -> bool:
    """Whether the machine has an NVIDIA GPU that this user can open."""
    return os.access("/dev/nvidiactl", os.R_OK | os.W_OK)


def _run_example(name: str, *arguments: str, emulate: bool, gmlake: bool) -> subprocess.CompletedProcess[bytes]:
    flags = (["--emulate"] if emulate else []) + ([] if gmlake else ["--stock"])
    command = [sys.executable, "-m", "gmlake_jax.commands.main", "run", *flags, "-m", f"gmlake_jax.examples.{name}"]
    return subprocess.run([*command, *arguments], check=False)


def _fill(gmlake: bool, report: Path) -> dict[str, Any]:
    _run_example("fill_the_holes", "--json", str(report), emulate=True, gmlake=gmlake)
    result: dict[str, Any] = json.loads(report.read_text())
    return result


def _on_emulator() -> int:
    print(_NOTE, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        stock = _fill(False, Path(folder, "stock.json"))
        print(flush=True)
        ours = _fill(True, Path(folder, "gmlake.json"))
    print(flush=True)
    steps = str(_EMULATED_STEPS)
    train = _run_example("train_flax_gpt", "--steps", steps, "--size", "tiny", emulate=True, gmlake=True)
    columns = {"default": stock["memory"], "gmlake": ours["memory"]}
    print(f"\nfill_the_holes, side by side\n{format_comparison(columns, _ROWS)}")
    verdict = {name: "fits" if run["fits"] else "OUT OF MEMORY" for name, run in (("default", stock), ("gmlake", ours))}
    print("  " + ", ".join(f"{name}: {text}" for name, text in verdict.items()))
    return 0 if ours["fits"] and not stock["fits"] and train.returncode == 0 else 1


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
            raise CommandError("the demo trains a flax model; pip install 'gmlake-jax[examples]'") from None
        return _on_emulator() if arguments.emulate or not has_gpu() else _on_gpu()
