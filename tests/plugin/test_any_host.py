"""Any PJRT host can load libgmlake_pjrt.so as its plugin: here JAX does, knowing nothing of gmlake_jax."""

from pathlib import Path

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
