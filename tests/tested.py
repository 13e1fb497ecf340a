"""Which gmlake_jax is tested: the one that this process imports, and every process that it starts imports the same one.

TESTED_INSTALLATION names a folder that it must lie in (tools/test_matrix.py sets it to the fresh environment that the
wheel was installed into); a source tree that slips in front of it ends the run. With TESTED_LOG, every program that ran
on the emulated device adds a line to that file.
"""

import json
import os
from pathlib import Path

import gmlake_jax

FOLDER = Path(gmlake_jax.__file__).resolve().parent
TESTS = Path(__file__).resolve().parent


class WrongPackageError(Exception):
    """Something else is imported than what should be tested."""


def check(folder=FOLDER, installation=None):
    installation = installation or os.environ.get("TESTED_INSTALLATION")
    if installation and not folder.is_relative_to(Path(installation).resolve()):
        raise WrongPackageError(f"gmlake_jax comes from {folder}, not from {installation}")


def variables():
    """For child processes: our gmlake_jax, whatever folder they start in."""
    return {
        "PYTHONPATH": os.pathsep.join([str(FOLDER.parent), str(TESTS)]),
        "PYTHONSAFEPATH": "1",
        "TESTED_PACKAGE": str(FOLDER),
    }


def check_inside():
    """In a child process: it imports what its parent imports."""
    check(FOLDER, os.environ["TESTED_PACKAGE"])


def log_program(violations, launches):
    """One program ran on the emulated device, and ended with so many broken rules."""
    if path := os.environ.get("TESTED_LOG"):
        with open(path, "a") as file:
            file.write(json.dumps({"violations": violations, "launches": launches}) + "\n")
