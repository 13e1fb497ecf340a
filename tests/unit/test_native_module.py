"""The compiled module: its stub tells the truth, and its errors are RuntimeErrors with a message."""

import ast
from pathlib import Path

import pytest

from gmlake_jax import library

_gmlake = pytest.importorskip("gmlake_jax._gmlake")

STUB = ast.parse(Path(library.__file__).with_name("_gmlake.pyi").read_text()).body
CLASSES = [node for node in STUB if isinstance(node, ast.ClassDef)]
FUNCTIONS = [(_gmlake, node) for node in STUB if isinstance(node, ast.FunctionDef)]
METHODS = [(getattr(_gmlake, each.name), node) for each in CLASSES for node in each.body if hasattr(node, "args")]


def public(names):
    return {name for name in names if not name.startswith("_")}


def members(node):
    """Names that a class of the stub declares: methods, properties and plain attributes."""
    for each in node.body:
        if isinstance(each, ast.AnnAssign):
            yield each.target.id
        elif isinstance(each, ast.FunctionDef):
            yield each.name


@pytest.mark.parametrize("node", CLASSES, ids=lambda node: node.name)
def test_a_class_of_the_stub_has_the_members_of_the_module(node):
    assert public(members(node)) == public(vars(getattr(_gmlake, node.name)))


def test_the_stub_has_the_names_of_the_module():
    in_stub = {node.name for node in STUB if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    assert in_stub == public(vars(_gmlake))


@pytest.mark.parametrize(("owner", "node"), FUNCTIONS + METHODS, ids=lambda value: getattr(value, "name", ""))
def test_a_function_of_the_stub_has_the_arguments_of_the_module(owner, node):
    if node.name == "__init__" or node.decorator_list:
        return  # nanobind documents neither constructors nor properties
    signature = getattr(owner, node.name).__doc__.splitlines()[0]
    for argument in node.args.args + node.args.kwonlyargs:
        assert argument.arg == "self" or f"{argument.arg}:" in signature


def test_a_missing_library_is_a_runtime_error_that_names_it():
    with pytest.raises(RuntimeError, match="no-such-library"):
        _gmlake.Library("/no-such-library.so")


def test_a_missing_library_becomes_an_error_that_says_what_to_do(monkeypatch):
    monkeypatch.setattr(library, "LIBRARY_PATH", Path("/no-such-library.so"))
    library.open_library.cache_clear()
    with pytest.raises(library.PluginError, match=r"no-such-library.*pip install"):
        library.open_library()
    library.open_library.cache_clear()
