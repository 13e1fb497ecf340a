"""What the unit tests share: a stand-in for the native library, and a process state that each test starts anew."""

import os
import subprocess
import sys

import pytest

from gmlake_jax import activation, process, stats


class FakeLibrary:
    """Answers as libgmlake_pjrt.so would, and remembers what it was asked to do."""

    def __init__(self):
        self.installed = []
        self.devices = 0
        self.refusal = None

    def install(self, stock_path, options):
        if self.refusal:
            raise RuntimeError(self.refusal)
        self.installed.append((stock_path, options))

    def num_devices(self):
        return self.devices

    def state(self):
        return f"active on {self.devices} device(s)"


@pytest.fixture
def library(monkeypatch):
    fake = FakeLibrary()
    for module in (activation, process, stats):
        monkeypatch.setattr(module, "open_library", lambda: fake)
    return fake


@pytest.fixture(autouse=True)
def fresh_process(monkeypatch):
    """No option set, nothing installed, no plugin of JAX imported (another test of this process may have done so)."""
    for name in [name for name in sys.modules if name.startswith("jax_plugins.")]:
        monkeypatch.delitem(sys.modules, name)
    for name in list(os.environ):
        if name.startswith(("GMLAKE", "XLA_PYTHON_CLIENT", "XLA_CLIENT", "TF_FORCE", "JAX_PLATFORMS")):
            monkeypatch.delenv(name)
    monkeypatch.setattr(process, "current", process.Process())


@pytest.fixture
def run_python():
    """Runs Python code in a process of its own, with the given variables."""

    def run(code, *arguments, **environ):
        command = [sys.executable, "-c", code, *arguments]
        return subprocess.run(
            command, env=os.environ | environ, capture_output=True, text=True, timeout=120, check=False
        )

    return run
