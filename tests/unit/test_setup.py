"""How the wheel is made: the tag tells what its binaries need, and without Bazel there is a way out."""

import importlib.util
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

import gmlake_jax

ROOT = Path(__file__).resolve().parents[2]

pytest.importorskip("setuptools.command.bdist_wheel")


@pytest.fixture(scope="module")
def setup():
    spec = importlib.util.spec_from_file_location("gmlake_setup", ROOT / "setup.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("content", "glibc"),
    [
        (b"\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.17\0", 34),
        (b"\0GLIBC_2.17\0GLIBCXX_3.4.21\0", 17 + 10),
        (b"\0GLIBC_2.34\0GLIBCXX_3.4.30\0", 35),
        (b"\0GLIBC_2.36\0GLIBCXX_3.4.19\0", 36),
    ],
)
def test_a_binary_needs_the_newest_of_what_it_mentions(setup, content, glibc):
    assert setup.needed_glibc(content) == glibc


def test_a_libstdcxx_that_no_policy_knows_stops_the_build(setup):
    with pytest.raises(SystemExit, match=r"GLIBCXX_3\.4\.99"):
        setup.needed_glibc(b"GLIBCXX_3.4.99")


def test_the_wheel_is_as_demanding_as_its_most_demanding_binary(setup, tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.so").write_bytes(b"GLIBC_2.17\0")
    (tmp_path / "deep" / "libcuda.so.1").write_bytes(b"GLIBC_2.31\0")
    (tmp_path / "notes.txt").write_bytes(b"GLIBC_2.99\0")
    assert setup.platform_tag(tmp_path, "x86_64") == "manylinux_2_31_x86_64"


def test_pips_build_isolation_does_not_reach_bazel(setup, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/isolated")
    assert not [name for name in setup.clean_environment() if name.startswith("PYTHON")]


def test_without_bazel_the_build_says_how_to_get_it(tmp_path):
    for tool in ("bash", "env", "dirname", "cat"):
        (tmp_path / tool).symlink_to(shutil.which(tool))
    command = [str(ROOT / "bazel" / "run"), "build", "//cc/..."]
    result = subprocess.run(command, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert result.returncode == 127
    assert "apt-get install bazel-bootstrap" in result.stderr
    assert "bazelisk" in result.stderr


def test_a_missing_bazel_ends_the_build_and_a_failing_one_too(setup, monkeypatch, tmp_path):
    for code, says in ((127, "without Bazel"), (1, "exit code 1")):
        fake = tmp_path / f"bazel-{code}"
        fake.write_text(f"#!/bin/sh\nexit {code}\n")
        fake.chmod(0o755)
        monkeypatch.setattr(setup, "BAZEL", fake)
        with pytest.raises(SystemExit, match=says):
            setup.run_bazel("build", "//cc/...")


def test_the_version_has_one_source():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" not in project["project"]
    assert project["tool"]["setuptools"]["dynamic"]["version"]["attr"] == "gmlake_jax._version.__version__"
    assert gmlake_jax.__version__.count(".") == 2


def test_the_entry_points_lead_somewhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    plugin = importlib.import_module(project["entry-points"]["jax_plugins"]["gmlake"])
    assert callable(plugin.initialize)
    module, _, function = project["scripts"]["gmlake"].partition(":")
    assert callable(getattr(importlib.import_module(module), function))
