"""Memory changes hands while work is still queued: streams are threads here, every piece of work is late, and the
machine notices when something is taken away under work that may touch it.
"""

import pytest
from emulated import emulated

MIB = 1 << 20


@pytest.mark.parametrize("seed", range(3))
@emulated(asynchronous=True, delay_us=300, memory="192MiB")
def test_arrays_that_come_and_go_before_their_copies_have_run(seed):
    """Near the limit, so that ranges are reclaimed, split and stitched while the device is behind."""
    from programs import Churn

    Churn(seed, largest=24 * MIB, live=9).run(rounds=150)


@emulated(asynchronous=True, delay_us=2000, memory="512MiB")
def test_memory_is_given_back_only_when_the_device_is_done_with_it():
    import jax
    from programs import filled, is_filled

    import gmlake_jax

    copy = jax.jit(lambda x: x.copy())
    kept = filled(16, 9)
    for i in range(10):
        array = filled(32, i)
        for _ in range(5):
            array = copy(array)  # queued, and not waited for
        del array
        gmlake_jax.empty_cache()
    assert is_filled(kept, 9)


@emulated(asynchronous=True, delay_us=300, memory="512MiB")
def test_results_that_are_dropped_at_once():
    import jax
    from programs import filled, is_filled, network, train_step

    parameters, batch = network(width=128)
    kept = [filled(8, i) for i in range(4)]
    for i in range(60):
        parameters, _ = train_step(parameters, batch)
        filled(1 + i % 7, i)
    jax.block_until_ready(parameters)
    assert all(is_filled(array, i) for i, array in enumerate(kept))


@emulated(devices=2, asynchronous=True, delay_us=300)
def test_copies_between_devices_without_waiting():
    import jax
    import numpy as np

    one, other = jax.devices()
    content = [np.full(4 * MIB, i, np.uint8) for i in range(8)]
    arrays = [jax.device_put(each, one) for each in content]
    for _ in range(6):
        arrays = [jax.device_put(jax.device_put(array, other), one) for array in arrays]
    assert all(np.array_equal(np.asarray(array), each) for array, each in zip(arrays, content, strict=True))


@emulated(devices=2, asynchronous=True, delay_us=100)
def test_a_collective_reaches_the_memory_of_every_device():
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    from gmlake_jax import emulator

    mesh = Mesh(np.array(jax.devices()), ("x",))
    array = jax.device_put(np.ones((1024, 1024), np.float32), NamedSharding(mesh, PartitionSpec("x")))
    gather = jax.jit(lambda x: x + 1, out_shardings=NamedSharding(mesh, PartitionSpec()))
    for _ in range(5):
        gather(array).block_until_ready()
    assert emulator.calls("collective") > 0
