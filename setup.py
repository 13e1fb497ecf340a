"""Builds the wheel: setuptools for the Python part (pyproject.toml), Bazel for everything compiled.

`build_ext` runs bazel/run and copies what Bazel built into the package; nothing is compiled here. The wheel's tag says
which Python it fits (stable ABI from Python 3.12 on) and which glibc the binaries really ask for.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
BAZEL = ROOT / "bazel" / "run"
STABLE_ABI = sys.version_info >= (3, 12) and not sysconfig.get_config_var("Py_GIL_DISABLED")

# For questions to Bazel, which it answers on standard output.
QUIET = ("--noshow_progress", "--ui_event_filters=-info")

# Bazel target of each native part, and where its files go inside the package.
MODULE = "//:gmlake_module"
LIBRARIES = {
    "//:gmlake_pjrt": ".",
    "//:gmlake_emulator": "_emulator",
}


def clean_environment() -> dict[str, str]:
    """The environment without pip's build isolation, which would hide pip itself from the programs that Bazel runs."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def has_pip(python: str) -> bool:
    command = [python, "-m", "pip", "--version"]
    return subprocess.run(command, env=clean_environment(), capture_output=True, check=False).returncode == 0


def build_python() -> str:
    """The Python that Bazel builds for: this one; its base where this is a virtual environment without pip."""
    candidates = [sys.executable, getattr(sys, "_base_executable", sys.executable)]
    return next((python for python in candidates if has_pip(python)), sys.executable)


def run_bazel(*arguments: str) -> str:
    """Runs Bazel and returns its standard output; ends the build with Bazel's own words where it fails."""
    environment = clean_environment() | {"GMLAKE_BUILD_PYTHON": build_python()}
    result = subprocess.run(
        [str(BAZEL), *arguments], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=False
    )
    if result.returncode == 127:
        raise SystemExit("gmlake_jax cannot be built without Bazel; see the lines above for how to get it.")
    if result.returncode != 0:
        raise SystemExit(f"bazel {' '.join(arguments)} failed with exit code {result.returncode}.")
    return result.stdout


def outputs_of(label: str) -> list[Path]:
    """Files that a built target consists of, by asking Bazel."""
    expression = "'\\n'.join([file.path for file in target.files.to_list()])"
    paths = run_bazel("cquery", *QUIET, label, "--output=starlark", f"--starlark:expr={expression}").split()
    root = Path(run_bazel("info", *QUIET, "execution_root").strip())
    return [root / path for path in paths]


def copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)  # Bazel's outputs are read-only, and a running program may have the old file mapped
    shutil.copyfile(source, target)


class BazelExtension(Extension):
    """An extension module that Bazel builds; it has no sources here."""

    def __init__(self, name: str):
        super().__init__(name, sources=[], py_limited_api=STABLE_ABI)


class BuildWithBazel(build_ext):
    """Puts the compiled module and the native libraries into the package of the build, or of the source tree."""

    def run(self) -> None:
        labels = [MODULE, *LIBRARIES]
        run_bazel("build", *labels)
        for extension in self.extensions:
            module = Path(self.get_ext_fullpath(extension.name))
            copy(outputs_of(MODULE)[0], module)
            self._copy_libraries(module.parent)

    def _copy_libraries(self, package: Path) -> None:
        for label, folder in LIBRARIES.items():
            for library in outputs_of(label):
                copy(library, package / folder / library.name)


# The oldest glibc whose manylinux policy (PEP 600) promises each libstdc++, by the last number of GLIBCXX_3.4.n.
GLIBC_OF_LIBSTDCXX = {19: 17, 24: 27, 28: 31, 29: 34, 30: 35, 32: 38, 33: 39}


def newest_symbol(content: bytes, prefix: bytes) -> int:
    """Last number of the newest symbol version with this prefix that a binary mentions; 0 where it mentions none."""
    return max((int(number) for number in re.findall(re.escape(prefix) + rb"(\d+)\b", content)), default=0)


def needed_glibc(content: bytes) -> int:
    """The n of the oldest glibc 2.n whose systems have everything that a binary asks of glibc and libstdc++."""
    libstdcxx = newest_symbol(content, b"GLIBCXX_3.4.")
    promised = [glibc for release, glibc in GLIBC_OF_LIBSTDCXX.items() if release >= libstdcxx]
    if not promised:
        raise SystemExit(f"no manylinux policy is known for GLIBCXX_3.4.{libstdcxx}; add it to GLIBC_OF_LIBSTDCXX")
    return max(newest_symbol(content, b"GLIBC_2."), promised[0])


def platform_tag(folder: Path, machine: str) -> str:
    """The oldest manylinux that every binary in `folder` runs on."""
    binaries = [path.read_bytes() for path in folder.rglob("*.so*") if path.is_file()]
    return f"manylinux_2_{max(map(needed_glibc, binaries))}_{machine}"


class HonestWheel(bdist_wheel):
    """A wheel whose tag is computed from its binaries."""

    def get_tag(self) -> tuple[str, str, str]:
        python, abi, platform = super().get_tag()
        built = Path(self.bdist_dir or "")
        return python, abi, platform_tag(built, os.uname().machine) if self.bdist_dir and built.exists() else platform


def main() -> None:
    setup(
        ext_modules=[BazelExtension("gmlake_jax._gmlake")],
        cmdclass={"build_ext": BuildWithBazel, "bdist_wheel": HonestWheel},
        options={"bdist_wheel": {"py_limited_api": "cp312"}} if STABLE_ABI else {},
    )


if __name__ == "__main__":
    main()
