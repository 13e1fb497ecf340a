"""Runs JAX programs, each in a process of its own, on the stock CUDA plugin over the emulated device.

A program is a piece of Python; what it passes to `answer` is what the test gets. Every program must leave CUDA's rules
unbroken: the emulated device counts violations, and a program with one fails here.
"""

import json
import os
import subprocess
import sys

import pytest
from emulated import TIMEOUT_S

from gmlake_jax import emulator

PRELUDE = """
import gc, json, time
import tested
from gmlake_jax import emulator
tested.check_inside()
emulator.start()
import jax
import numpy as np
import gmlake_jax
from programs import settle

MIB = 1 << 20

def bytes_in_use(expected):
    settle(until=lambda: gmlake_jax.memory_stats()["bytes_in_use"] == expected)
    return gmlake_jax.memory_stats()["bytes_in_use"]

def answer(**values):
    tested.log_program(emulator.violations(), emulator.launches())
    print(json.dumps(values | {"violations": emulator.violations(), "broken": emulator.describe_violations()}))
"""

NOT_INHERITED = ("GMLAKE", "XLA_", "JAX_", "TF_FORCE")


def _environment(variables):
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(NOT_INHERITED)}
    return inherited | {"JAX_PLATFORMS": "cuda", "TF_CPP_MIN_LOG_LEVEL": "3"} | variables


class Run:
    """What became of a program."""

    def __init__(self, process):
        self.code = process.returncode
        self.output = process.stdout
        self.errors = process.stderr

    @property
    def answer(self):
        assert self.code == 0, self.errors[-3000:]
        values = json.loads(self.output.strip().splitlines()[-1])
        assert values["violations"] == 0, values["broken"]
        return values

    @property
    def lines_of_ours(self):
        return [line for line in self.errors.splitlines() if "gmlake_jax" in line]


@pytest.fixture
def run_jax():
    """run_jax(program, VARIABLE=value, ...): the program in a fresh process over the emulated device."""
    if not (emulator.library_folder() / "libcuda.so.1").exists():
        pytest.skip("no emulated device is built")

    def run(program, **variables):
        command = [sys.executable, "-c", PRELUDE + program]
        process = subprocess.run(
            command, env=_environment(variables), capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
        return Run(process)

    return run
