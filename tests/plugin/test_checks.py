"""The checks check: what is wrong on purpose is found out by the program that finds no fault in what is right."""

import contextlib

import pytest
from emulated import emulated

wrongly = pytest.mark.parametrize("allocator", ["cuda_async"])


def _train_and_drop():
    """Much memory changes hands while work is queued."""
    import jax
    from programs import filled, network, train_step

    parameters, batch = network(width=128)
    for i in range(30):
        parameters, _ = train_step(parameters, batch)
        filled(1 + i % 7, i)
    jax.block_until_ready(parameters)


@wrongly
@emulated(asynchronous=True, delay_us=200)
def test_the_right_pool_breaks_no_rule(allocator):
    _train_and_drop()


@wrongly
@emulated(asynchronous=True, delay_us=200, pool="hasty")
def test_a_pool_that_takes_memory_back_too_early_is_found_out(allocator):
    from gmlake_jax import emulator

    with contextlib.suppress(Exception):  # XLA sees the driver's errors, too
        _train_and_drop()
    assert emulator.violations("use-after-free") > 0, emulator.describe_violations()
    emulator.reset_violations()


@emulated(asynchronous=True, delay_us=50_000)
def test_memory_unmapped_under_queued_work_is_found_out():
    """The mistake that six projects shipped: cuMemUnmap does not wait for the device."""
    import ctypes

    import jax
    from programs import filled

    from gmlake_jax import emulator

    array = filled(16, 1).block_until_ready()
    place = array.unsafe_buffer_pointer()
    driver = ctypes.CDLL("libcuda.so.1")
    start, size = ctypes.c_uint64(), ctypes.c_size_t()
    assert driver.cuMemGetAddressRange_v2(ctypes.byref(start), ctypes.byref(size), ctypes.c_uint64(place)) == 0
    copy = jax.jit(lambda x: x.copy())
    copy(array).block_until_ready()
    copied = [copy(array) for _ in range(20)]  # a second's work, in which we are sure to get our turn
    assert driver.cuMemUnmap(start, size) == 0
    with contextlib.suppress(Exception):
        jax.block_until_ready(copied)
    assert emulator.violations("unmap-in-use") > 0, emulator.describe_violations()
    emulator.reset_violations()
