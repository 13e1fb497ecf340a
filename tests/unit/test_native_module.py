"""The compiled module: its stub tells the truth, and its errors are RuntimeErrors with a message."""

import ast
from pathlib import Path

import pytest

from gmlake_jax import library

_gmlake = pytest.importorskip("gmlake_jax._gmlake")


def stub():
    tree = ast.parse(Path(library.__file__).with_name("_gmlake.pyi").read_text())
    return next(node for node in tree.body if isinstance(node, ast.ClassDef))


def public(names):
    return {name for name in names if not name.startswith("_")}


def test_the_stub_has_the_methods_of_the_module():
    in_stub = {node.name for node in stub().body if isinstance(node, ast.FunctionDef)}
    assert public(in_stub) == public(vars(_gmlake.Library))


def test_the_stub_has_the_arguments_of_the_module():
    for method in stub().body:
        arguments = [arg.arg for arg in method.args.args + method.args.kwonlyargs if arg.arg != "self"]
        text = getattr(_gmlake.Library, method.name).__doc__ or ""
        assert method.name == "__init__" or all(f"{name}:" in text for name in arguments), method.name


def test_a_missing_library_is_a_runtime_error_that_names_it():
    with pytest.raises(RuntimeError, match="no-such-library"):
        _gmlake.Library("/no-such-library.so")


def test_a_missing_library_becomes_an_error_that_says_what_to_do(monkeypatch):
    monkeypatch.setattr(library, "LIBRARY_PATH", Path("/no-such-library.so"))
    library.open_library.cache_clear()
    with pytest.raises(library.PluginError, match=r"no-such-library.*pip install"):
        library.open_library()
    library.open_library.cache_clear()
