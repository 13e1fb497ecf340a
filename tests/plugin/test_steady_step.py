"""A training step that repeats asks the driver for nothing: the same requests get the same addresses."""

import pytest
from emulated import emulated

NO_GRAPHS = "--xla_gpu_enable_command_buffer= --xla_gpu_autotune_level=0"


def _run_200_steps(step):
    from programs import network, train

    from gmlake_jax import emulator

    parameters, batch = network()
    parameters = train(step, parameters, batch, 20)  # compiles, and settles at the addresses that it will keep
    before = emulator.memory_calls()
    train(step, parameters, batch, 200)
    assert emulator.memory_calls() == before
    assert emulator.launches() > 0 or emulator.calls("cuGraphLaunch") > 0


@pytest.mark.parametrize("donate", [False, True])
@emulated(asynchronous=True, delay_us=20)
def test_with_graphs(donate):
    from programs import donating_train_step, train_step

    from gmlake_jax import emulator

    _run_200_steps(donating_train_step if donate else train_step)
    assert emulator.calls("cuGraphLaunch") >= 200


@emulated(asynchronous=True, delay_us=20, variables={"XLA_FLAGS": NO_GRAPHS})
def test_without_graphs():
    from programs import train_step

    from gmlake_jax import emulator

    _run_200_steps(train_step)
    assert emulator.calls("cuGraphLaunch") == 0


@emulated()
def test_when_the_host_waits_for_every_step():
    import jax
    from programs import network, train_step

    from gmlake_jax import emulator

    parameters, batch = network()
    for _ in range(20):
        parameters, _ = jax.block_until_ready(train_step(parameters, batch))
    before = emulator.memory_calls()
    for _ in range(50):
        parameters, _ = jax.block_until_ready(train_step(parameters, batch))
    assert emulator.memory_calls() == before
