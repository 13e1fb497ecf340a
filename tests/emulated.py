"""Tests whose bodies run in a process of their own, on the stock JAX client over an emulated device.

    @emulated(devices=2, asynchronous=True, delay_us=50)
    def test_something(allocator):
        ...

The body is an ordinary test; its parameters come from pytest. `allocator` chooses what serves JAX's arrays: "gmlake",
or one of JAX's own ("default", "cuda_async", "vmm", "platform"); a body without that parameter runs on "gmlake". The
rest describes the machine (gmlake_jax.emulator.start). When the body is done, no rule of CUDA may have been broken.
"""

import functools
import importlib.util
import inspect
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ALLOCATORS = ("default", "cuda_async", "vmm", "gmlake")
TIMEOUT_S = 600  # nothing takes a tenth of it on a quiet machine

# Nothing of the outer process's choice of allocator or platform reaches the inner one.
_CLEAN = ("GMLAKE", "XLA_", "JAX_", "TF_", "CUDA_")


def _variables(allocator, extra):
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(_CLEAN)}
    if allocator == "gmlake":
        chosen = {"GMLAKE": "1"}
    elif allocator == "default":
        chosen = {}
    else:
        chosen = {"XLA_PYTHON_CLIENT_ALLOCATOR": allocator, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    return inherited | chosen | {name: str(value) for name, value in extra.items()}


def require_libraries():
    """Skips where there is nothing to test: a source tree that was not built."""
    from gmlake_jax import emulator

    if not (emulator.library_folder() / "libcuda.so.1").exists():
        pytest.skip("the emulated device is not built")
    pytest.importorskip("jax_plugins.xla_cuda13", reason="the stock CUDA plugin is not installed")


def _run(body, parameters, machine, variables):
    require_libraries()
    request = {"file": inspect.getsourcefile(body), "name": body.__name__, "parameters": parameters, "machine": machine}
    command = [sys.executable, str(HERE / "emulated.py"), json.dumps(request)]
    environment = _variables(parameters.get("allocator", "gmlake"), variables)
    with tempfile.TemporaryDirectory() as folder:  # not the source tree, so that an installed wheel is what is tested
        ran = subprocess.run(
            command, env=environment, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    if ran.returncode != 0:
        pytest.fail(f"exit code {ran.returncode}\n{ran.stdout[-2000:]}\n{ran.stderr[-6000:]}", pytrace=False)


def emulated(variables=None, **machine):
    """The decorator. `variables` are environment variables of the inner process."""

    def decorate(body):
        @functools.wraps(body)
        def run_in_a_process_of_its_own(**parameters):
            _run(body, parameters, machine, variables or {})

        run_in_a_process_of_its_own.body = body
        return run_in_a_process_of_its_own

    return decorate


def _body_of(file, name):
    specification = importlib.util.spec_from_file_location(Path(file).stem, file)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return getattr(module, name).body


def _main():
    request = json.loads(sys.argv[1])
    import tested

    from gmlake_jax import emulator

    tested.check_inside()
    emulator.start(**request["machine"])
    body = _body_of(request["file"], request["name"])
    body(**request["parameters"])
    broken = emulator.violations()
    tested.log_program(broken, emulator.launches())
    assert broken == 0, f"{broken} rules of CUDA were broken:\n{emulator.describe_violations()}"
    print(f"{emulator.launches()} launches, no rule broken")


if __name__ == "__main__":
    _main()
