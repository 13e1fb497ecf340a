"""All tests, and all processes that they start, look at one and the same gmlake_jax (tests/tested.py)."""

import os

import pytest
import tested


def pytest_configure(config):
    try:
        tested.check()
    except tested.WrongPackageError as error:
        pytest.exit(str(error), returncode=3)
    os.environ.update(tested.variables())


def pytest_report_header(config):
    return f"gmlake_jax: {tested.FOLDER}"
