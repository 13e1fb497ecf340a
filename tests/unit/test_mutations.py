"""The tool for breakages tells one that does not apply. Whether all of them apply is for `make mutations` to say."""

import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def tool():
    spec = importlib.util.spec_from_file_location("mutation_check", ROOT / "tools" / "mutation_check.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutation_check"] = module
    spec.loader.exec_module(module)
    return module


CHECK = tool()


def test_there_are_enough_of_them():
    assert len(CHECK.load()) >= 20


def test_a_mutation_that_does_not_apply_is_seen(tmp_path):
    (tmp_path / "a.cc").write_text("x; x;")
    assert not CHECK.Mutation("twice", "a.cc", "x;", "y;", ()).applies(tmp_path)
    assert not CHECK.Mutation("never", "a.cc", "z;", "y;", ()).applies(tmp_path)
    mutation = CHECK.Mutation("once", "a.cc", "; x", "; y", ())
    mutation.apply(tmp_path)
    assert (tmp_path / "a.cc").read_text() == "x; y;"
