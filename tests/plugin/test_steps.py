"""Training steps: with and without CUDA graphs, with streams that really run behind, and quiet once warmed up."""

import pytest

STEPS = """
def step(weights, batch):
    def loss(weights):
        hidden = batch
        for weight in weights:
            hidden = jax.numpy.tanh(hidden @ weight)
        return (hidden**2).mean()
    value, gradients = jax.value_and_grad(loss)(weights)
    return [weight - 0.1 * gradient for weight, gradient in zip(weights, gradients)], value
step = jax.jit(step, donate_argnums=0)
weights = [jax.device_put(np.full((1024, 1024), 0.01, np.float32)) for _ in range(4)]
batch = jax.device_put(np.ones((256, 1024), np.float32))
for _ in range(10):
    weights, value = step(weights, batch)
value.block_until_ready()
before = gmlake_jax.memory_stats()
calls = emulator.memory_calls()
for _ in range(100):
    weights, value = step(weights, batch)
value.block_until_ready()
after = gmlake_jax.memory_stats()
answer(calls=emulator.memory_calls() - calls, served=after["num_allocs"] - before["num_allocs"],
       launches=emulator.launches(), graphs=emulator.calls("cuGraphLaunch"), active=gmlake_jax.is_active())
"""

MODES = {
    "no graphs": {"XLA_FLAGS": "--xla_gpu_enable_command_buffer="},
    "graphs": {"XLA_FLAGS": "--xla_gpu_graph_min_graph_size=1"},
    "asynchronous": {"GMLAKE_EMULATOR_ASYNC": "1", "GMLAKE_EMULATOR_DELAY_US": "20"},
}


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.replace(" ", "-"))
def test_a_hundred_steps_after_warm_up_make_no_memory_call(run_jax, mode):
    found = run_jax(STEPS, GMLAKE="1", **MODES[mode]).answer
    assert found["active"]
    assert found["served"] >= 100
    assert found["launches"] > 0
    assert (found["graphs"] > 0) == (mode != "no graphs")
    assert found["calls"] == 0


CHURN = """
import random
chance = random.Random(7)
alive = {}
wrong = 0
for turn in range(1500):
    if alive and chance.random() < 0.5:
        key = chance.choice(list(alive))
        array = alive.pop(key)
        wrong += not bool((np.asarray(array) == key).all())
    else:
        alive[turn] = jax.device_put(np.full(chance.choice([1, 100, 5000, 300000, 3000000]), turn, np.int32))
        if sum(array.nbytes for array in alive.values()) > 300 * MIB:
            alive.pop(next(iter(alive)))
wrong += sum(not bool((np.asarray(array) == key).all()) for key, array in alive.items())
answer(wrong=wrong, active=gmlake_jax.is_active(), ways=gmlake_jax.memory_stats()["num_allocs"])
"""


def test_arrays_keep_their_content_while_others_come_and_go(run_jax):
    found = run_jax(CHURN, GMLAKE="1", GMLAKE_LIMIT="400MiB", GMLAKE_EMULATOR_ASYNC="1").answer
    assert found["active"]
    assert found["wrong"] == 0


def test_pinned_host_memory_is_not_ours(run_jax):
    program = """
device = jax.devices()[0]
jax.device_put(np.zeros(4))
before = gmlake_jax.memory_stats()["num_allocs"]
host = jax.sharding.SingleDeviceSharding(device, memory_kind="pinned_host")
array = jax.device_put(np.arange(MIB, dtype=np.float32), host)
right = np.array_equal(np.asarray(array), np.arange(MIB, dtype=np.float32))
answer(right=right, ours=gmlake_jax.memory_stats()["num_allocs"] - before)
"""
    found = run_jax(program, GMLAKE="1").answer
    assert found["right"]
    assert found["ours"] == 0


SCANS = """
import jax.numpy as jnp
def tanh_step(c, w):
    return jnp.tanh(c @ w)
def scanned(w, length=8):
    return jax.lax.scan(lambda c, _: (tanh_step(c, w), c), jnp.ones((64, 64)), None, length=length)
def nested(w):
    inner = lambda c: jax.lax.scan(lambda d, _: (tanh_step(d, w), d.sum()), c, None, length=3)[0]
    return jax.lax.scan(lambda c, _: (inner(c), c), jnp.ones((64, 64)), None, length=4)[0].sum()
def branching(w):
    step = lambda c, x: (jax.lax.cond(x > 0, lambda c: tanh_step(c, w), lambda c: c, c), c.sum())
    return jax.lax.scan(step, jnp.ones((64, 64)), jnp.ones(8))[0].sum()
programs = {
    "scan": lambda w: scanned(w),
    "grad": jax.grad(lambda w: scanned(w)[0].sum()),
    "remat": jax.grad(lambda w: jax.checkpoint(lambda w: scanned(w)[0])(w).sum()),
    "nested": jax.value_and_grad(nested),
    "branching": jax.grad(branching),
    "fori": jax.grad(lambda w: jax.lax.fori_loop(0, 5, lambda i, c: tanh_step(c, w), w).sum()),
}
failed = {}
for name, program in programs.items():
    run = jax.jit(program)
    try:  # each time at other addresses, so that the graph is updated
        jax.block_until_ready([run(jnp.ones((64, 64)) + turn) for turn in range(6)])
    except Exception as error:
        failed[name] = str(error)
answer(failed=failed, updates=emulator.calls("cuGraphExecMemcpyNodeSetParams"))
"""


@pytest.mark.parametrize("gmlake", ["0", "1"])
def test_loops_and_their_gradients_run_as_graphs(run_jax, gmlake):
    found = run_jax(SCANS, GMLAKE=gmlake).answer
    assert not found["failed"]
    assert found["updates"] > 0, "no node of a graph was updated, so nothing was tested"
