"""`gmlake doctor`: what is installed, what the driver can do, what is active and why."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from gmlake_jax import config
from gmlake_jax._version import __version__
from gmlake_jax.commands.command import Command
from gmlake_jax.commands.demo import has_gpu
from gmlake_jax.errors import GmlakeError
from gmlake_jax.library import open_library
from gmlake_jax.stock import installed_plugins
from gmlake_jax.untrusted import brief, visible

_DRIVER_VERSION = Path("/proc/driver/nvidia/version")
_SHOWN_PREFIXES = (
    "GMLAKE",
    "XLA_PYTHON_CLIENT",
    "XLA_CLIENT",
    "XLA_FLAGS",
    "JAX_PLATFORMS",
    "CUDA_VISIBLE",
    "TF_FORCE",
)
_CHECK_SECONDS = 120


def _version_of(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _driver() -> str:
    try:
        return _DRIVER_VERSION.read_text().splitlines()[0].removeprefix("NVRM version:").strip()
    except OSError:
        return "none (no /proc/driver/nvidia)"


def _system() -> Iterator[tuple[str, str]]:
    yield "gmlake_jax", __version__
    yield "python", f"{platform.python_version()} on {platform.platform()}"
    yield "jax, jaxlib", f"{_version_of('jax')}, {_version_of('jaxlib')}"
    plugins = installed_plugins()
    for module, path in plugins.items():
        name = module.rpartition("_")[2]
        yield "CUDA plugin", f"{name} {_version_of(f'jax-{name}-pjrt')}, {path}"
    if not plugins:
        yield "CUDA plugin", 'none; pip install "jax[cuda13]" or "jax[cuda12]"'
    yield "NVIDIA driver", _driver()
    yield "GPU", "there" if has_gpu() else "none that JAX looks for (no /dev/nvidia0, /dev/nvidiactl or /dev/dxg)"


def _variables() -> Iterator[tuple[str, str]]:
    for name, value in sorted(os.environ.items()):
        if name.startswith(_SHOWN_PREFIXES):
            yield name, value


def _options() -> Iterator[tuple[str, str]]:
    options = config.read_options(enabled=True)
    for option in dataclasses.fields(options):
        value = getattr(options, option.name)
        if option.name != "enabled":
            yield option.name, "default" if value is None else str(value)


def _print_section(title: str, rows: Iterator[tuple[str, str]]) -> None:
    print(f"\n{title}")
    for label, value in rows:
        print(f"  {visible(label):<16}{visible(value)}")


def _probe() -> bool:
    print("\nprobe of the driver")
    ok, report = open_library().probe(config.read_options(enabled=True).driver)
    for line in report.splitlines():
        print(f"  {line}")
    return ok


def _last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "no output")


def _run_check(emulate: bool) -> dict[str, Any]:
    command = [sys.executable, "-P", "-m", "gmlake_jax.selfcheck", *(["--emulate"] if emulate else [])]
    environment = os.environ | {"GMLAKE": "1"}
    try:
        result = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=_CHECK_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return {"state": f"JAX did not start within {_CHECK_SECONDS} s"}
    if result.returncode != 0:
        return {"state": f"JAX could not start: {_last_line(result.stderr)}"}
    return _parsed(_last_line(result.stdout))


def _parsed(line: str) -> dict[str, Any]:
    """What the check printed, unless something else printed after it."""
    try:
        check = json.loads(line)
    except ValueError:
        check = None
    return check if isinstance(check, dict) and "state" in check else {"state": f"the check printed {brief(line)}"}


def _verdict(check: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if "devices" in check:
        yield "devices", f"{', '.join(check['devices'])} ({check['kind']})"
        yield "data", "came back unchanged" if check["data"] else "CAME BACK CHANGED"
    yield "active", "yes" if check.get("active") else "no"
    yield "because", check["state"]


class Doctor(Command):
    """Say what is installed, what the driver can do, what is active and why.

    Starts JAX once under GMLAKE=1 in a process of its own. The exit code is 0 if the allocator works here, else 1.
    Paste the output into a bug report.

    Example:
      gmlake doctor
    """

    order = 0

    def prepare(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--emulate", action="store_true", help="look at the emulated GPU")

    def run(self, arguments: argparse.Namespace) -> int:
        print("gmlake doctor")
        _print_section("versions", _system())
        _print_section("environment", _variables())
        try:
            _print_section("options under GMLAKE=1", _options())
            if not arguments.emulate:
                _probe()
        except GmlakeError as error:
            print(f"  {error}")
        check = _run_check(arguments.emulate)
        _print_section("a JAX program under GMLAKE=1", _verdict(check))
        return 0 if check.get("active") and check["data"] else 1
