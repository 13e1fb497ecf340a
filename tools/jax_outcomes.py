"""A pytest plugin for tools/run_jax_tests.py: notes what becomes of each test as it happens, so that nothing is lost
when the process dies, and leaves out what was noted before. Reads JAX_OUTCOMES (a file) and JAX_OUTCOMES_EVERY.
"""

import json
import os
import zlib

PATH = os.environ["JAX_OUTCOMES"]
EVERY = int(os.environ.get("JAX_OUTCOMES_EVERY", "1"))
# What a test says that got numbers it did not expect, as all get where kernels compute nothing.
ABOUT_VALUES = ("AssertionError", "Mismatched elements", "Not equal to tolerance")


def note(test, outcome):
    with open(PATH, "a") as file:
        file.write(json.dumps([test, outcome]) + "\n")


def is_in_sample(test):
    return zlib.crc32(test.encode()) % EVERY == 0


def pytest_collection_modifyitems(items):
    with open(PATH) as notes:
        done = {json.loads(line)[0] for line in notes}
    items[:] = [item for item in items if item.nodeid not in done and is_in_sample(item.nodeid)]


def pytest_runtest_logstart(nodeid):
    note(nodeid, "crashed")  # unless something else is noted after it


def pytest_runtest_logreport(report):
    if report.failed:
        text = str(report.longrepr)
        note(report.nodeid, "values" if any(words in text for words in ABOUT_VALUES) else "error")
    elif report.skipped:
        note(report.nodeid, "skipped")
    elif report.when == "call":
        note(report.nodeid, "passed")
