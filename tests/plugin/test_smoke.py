"""The shortest proof that all of it works: stock JAX takes its arrays from us, and they are where they should be."""

import pytest

HOLES = """
arrays = [jax.device_put(np.full(16 * MIB // 4, i, np.float32)) for i in range(36)]
for i in range(0, 36, 2):
    arrays[i] = None
expected = np.arange(200 * MIB // 4, dtype=np.float32)
slab = jax.device_put(expected)
right = np.array_equal(np.asarray(slab), expected)
kept = all((np.asarray(array) == i).all() for i, array in enumerate(arrays) if array is not None)
if not gmlake_jax.is_active():
    raise SystemExit(gmlake_jax.state())
in_use = bytes_in_use((18 * 16 + 200) * MIB)
answer(right=right, kept=kept, in_use=in_use, jax=jax.devices()[0].memory_stats(), ours=gmlake_jax.memory_stats())
"""


def test_free_memory_between_live_arrays_becomes_one_array(run_jax):
    found = run_jax(HOLES, GMLAKE="1", GMLAKE_LIMIT="640MiB").answer
    assert found["right"]
    assert found["kept"]
    assert found["in_use"] == (18 * 16 + 200) << 20


def test_jax_shows_our_numbers(run_jax):
    found = run_jax(HOLES, GMLAKE="1", GMLAKE_LIMIT="640MiB").answer
    assert {name: found["ours"][name] for name in found["jax"]} == found["jax"]
    assert found["jax"]["bytes_limit"] == 640 << 20


def test_the_same_program_does_not_fit_on_the_allocator_that_jax_has(run_jax):
    run = run_jax(HOLES, XLA_PYTHON_CLIENT_MEM_FRACTION="0.625")
    assert run.code != 0
    assert "RESOURCE_EXHAUSTED" in run.errors


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_discovery_does_not_matter(run_jax, seed):
    program = "jax.device_put(1.0); answer(active=gmlake_jax.is_active(), state=gmlake_jax.state())"
    found = run_jax(program, GMLAKE="1", PYTHONHASHSEED=str(seed)).answer
    assert found["active"], found["state"]


def test_nothing_is_loaded_unless_asked_for(run_jax):
    program = """
jax.device_put(1.0)
maps = open("/proc/self/maps").read()
answer(loaded="libgmlake" in maps, active=gmlake_jax.is_active())
"""
    found = run_jax(program).answer
    assert not found["loaded"]
    assert not found["active"]
