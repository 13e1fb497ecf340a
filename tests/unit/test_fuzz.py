"""10,000 damaged inputs, the same in each run, for every reader of files, the page of `gmlake top`, every option, every
number of the command line and of the functions: each ends in success or in one line, soon, and in little memory.

tests/damage.py makes the inputs and tests/fuzzing.py tries them, in processes of their own. Time is that of the
processor, so that a busy machine changes nothing.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("gmlake_jax._gmlake")
pytest.importorskip("plotly")
pytest.importorskip("matplotlib")

FUZZING = Path(__file__).resolve().parents[1] / "fuzzing.py"
MOST_SECONDS = 1.0
MOST_BYTES = 512 << 20

# How many inputs of each kind: 10,000 in all.
COUNTS = {
    **{"npz": 2000, "json": 1400, "trace": 1200, "rmm": 600, "torch": 1000, "stats": 600},
    **{"picture": 200, "page": 1000, "option": 900, "call": 700, "argument": 400},
}
BOMBS = 11
SPARSE = 5


def fuzz(part, count):
    command = [sys.executable, str(FUZZING), part, "0", str(count)]
    ran = subprocess.run(command, env=os.environ, capture_output=True, text=True, timeout=600, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    result = json.loads(ran.stdout)
    assert result["inputs"] == count
    assert not result["wrong"], "\n".join(result["wrong"])
    assert result["slowest"][0] < MOST_SECONDS, f"{part} {result['slowest'][1]} took {result['slowest'][0]} s"
    assert result["memory"] < MOST_BYTES


@pytest.mark.parametrize("part", COUNTS)
def test_damaged_input_is_one_line(part):
    fuzz(part, COUNTS[part])


def test_there_are_ten_thousand():
    assert sum(COUNTS.values()) == 10_000


def test_small_files_that_ask_for_much_get_little():
    fuzz("bomb", BOMBS)


def test_large_files_that_hold_nothing_are_not_read():
    fuzz("sparse", SPARSE)
