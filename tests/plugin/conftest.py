"""Runs JAX programs, each in a process of its own, on the stock CUDA plugin over an emulated device.

The emulated device is the folder of CUDA libraries that the package ships (gmlake_jax/_emulator), or the one that
GMLAKE_TEST_EMULATOR names. A program is a piece of Python; what it prints as JSON on its last line is the answer.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EMULATOR = Path(os.environ.get("GMLAKE_TEST_EMULATOR", ROOT / "gmlake_jax" / "_emulator"))

# The libraries are loaded before JAX asks for them by name, so that a real CUDA on the machine plays no part. JAX looks
# for the device files of a real GPU before it creates a client; any file that exists will do.
PRELUDE = """
import ctypes, json, os, pathlib
for library in sorted(pathlib.Path(os.environ["GMLAKE_TEST_EMULATOR"]).glob("*.so*")):
    ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
from jax._src import hardware_utils
hardware_utils._NVIDIA_GPU_DEVICES = ["/dev/null"]
import jax
import numpy as np
import gmlake_jax
def answer(**values):
    print(json.dumps(values))
"""

CLEAN = ("GMLAKE", "XLA_", "JAX_", "TF_FORCE", "FAKE_CUDA")


def _environment(variables):
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(CLEAN)}
    ours = {
        "GMLAKE_TEST_EMULATOR": str(EMULATOR),
        "JAX_PLATFORMS": "cuda",
        "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1",
        "PYTHONPATH": str(ROOT),
        "XLA_FLAGS": "--xla_gpu_autotune_level=0",
    }
    return inherited | ours | variables


class Run:
    """What became of a program."""

    def __init__(self, process):
        self.code = process.returncode
        self.output = process.stdout
        self.errors = process.stderr

    @property
    def answer(self):
        assert self.code == 0, self.errors[-3000:]
        return json.loads(self.output.strip().splitlines()[-1])

    def lines_of_ours(self):
        return [line for line in self.errors.splitlines() if "gmlake_jax" in line]


@pytest.fixture
def run_jax():
    """run_jax(program, VARIABLE=value, ...): the program in a fresh process over the emulated device."""
    if not (EMULATOR / "libcuda.so.1").exists():
        pytest.skip("no emulated device is built")

    def run(program, **variables):
        command = [sys.executable, "-c", PRELUDE + program]
        process = subprocess.run(
            command, env=_environment(variables), capture_output=True, text=True, timeout=200, check=False
        )
        return Run(process)

    return run
