"""Any PJRT host can load libgmlake_pjrt.so as its plugin: here JAX does, knowing nothing of gmlake_jax."""

from pathlib import Path

import pytest

from gmlake_jax import stock
from gmlake_jax.library import LIBRARY_PATH

PROGRAM = """
array = jax.device_put(np.arange(MIB, dtype=np.float32))
right = np.array_equal(np.asarray(array), np.arange(MIB, dtype=np.float32))
answer(right=right, stats=jax.devices()[0].memory_stats())
"""

HOST = {"JAX_PLATFORMS": "anyhost", "PJRT_NAMES_AND_LIBRARY_PATHS": f"anyhost:{LIBRARY_PATH}"}


def load_as_plugin(run_jax, **variables):
    return run_jax(PROGRAM, **HOST, **({"GMLAKE_STOCK_PLUGIN": str(stock.find_stock_plugin())} | variables))


def test_a_host_that_loads_the_library_gets_the_allocator(run_jax):
    found = load_as_plugin(run_jax, GMLAKE_LIMIT="512MiB").answer
    assert found["right"]
    assert found["stats"]["bytes_limit"] == 512 << 20
    assert found["stats"]["bytes_in_use"] >= 4 << 20


def test_a_limit_that_cannot_be_followed_leaves_the_stock_allocator(run_jax):
    run = load_as_plugin(run_jax, GMLAKE_LIMIT="much")
    assert run.answer["right"]
    assert run.answer["stats"]["bytes_limit"] != 512 << 20
    assert "GMLAKE_LIMIT=much" in run.lines_of_ours[0]


OUR_LIMIT = 512 << 20


@pytest.mark.parametrize("off", ["0", "false"])
def test_a_host_that_switches_it_off_gets_the_stock_plugin_without_a_word(run_jax, off):
    run = load_as_plugin(run_jax, GMLAKE=off, GMLAKE_LIMIT="512MiB")
    assert run.answer["right"]
    assert run.answer["stats"]["bytes_limit"] != OUR_LIMIT
    assert run.lines_of_ours == []


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("GMLAKE_LIMITS", "5GiB"),
        ("GMLAKE_RECORD_EVENTS", "99999999999999999999"),
        ("GMLAKE_LIMIT", "99999999999999999999999"),
        ("GMLAKE_WAIT", "1e30"),
        ("XLA_CLIENT_MEM_FRACTION", "7"),
        ("XLA_PYTHON_CLIENT_ALLOCATOR", "platform"),
    ],
)
def test_what_cannot_be_followed_is_named_in_one_line(run_jax, variable, value):
    run = load_as_plugin(run_jax, **({"GMLAKE_VERBOSE": "0"} | {variable: value}))
    assert run.answer["right"]
    [line] = run.lines_of_ours
    assert variable in line
    assert "JAX keeps its own allocator" in line


def test_unified_memory_is_left_to_xla(run_jax):
    run = load_as_plugin(run_jax, TF_FORCE_UNIFIED_MEMORY="1")  # which the emulated device has none of
    [line] = [line for line in run.lines_of_ours if line.startswith("gmlake_jax: ")]
    assert line.startswith("gmlake_jax: TF_FORCE_UNIFIED_MEMORY=1 asks for unified memory")


@pytest.mark.parametrize("variable", ["XLA_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION"])
def test_the_fraction_of_xla_is_the_limit(run_jax, variable):
    assert load_as_plugin(run_jax, **{variable: "0.5"}).answer["stats"]["bytes_limit"] == 512 << 20


def test_without_a_stock_plugin_the_host_is_told(run_jax):
    run = load_as_plugin(run_jax, GMLAKE_STOCK_PLUGIN="")
    assert run.code != 0
    assert "GMLAKE_STOCK_PLUGIN" in run.lines_of_ours[0]


def test_the_stock_plugin_may_lie_beside_the_library(run_jax, tmp_path):
    beside = tmp_path / LIBRARY_PATH.name
    beside.write_bytes(LIBRARY_PATH.read_bytes())
    (tmp_path / "xla_cuda_plugin.so").symlink_to(Path(stock.find_stock_plugin()))
    found = run_jax(PROGRAM, JAX_PLATFORMS="anyhost", PJRT_NAMES_AND_LIBRARY_PATHS=f"anyhost:{beside}").answer
    assert found["right"]
    assert found["stats"]["bytes_limit"] == 768 << 20
