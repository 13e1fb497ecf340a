"""Idle memory goes back unasked: for the plugin's own allocations, for others on the device, and when all is quiet."""

import time

from emulated import emulated

MIB = 1 << 20


def fill_and_drop(megabytes):
    """Leaves about `megabytes` idle."""
    from programs import filled, settle

    import gmlake_jax

    arrays = [filled(16, i).block_until_ready() for i in range(megabytes // 16)]
    arrays.clear()
    settle(until=lambda: gmlake_jax.memory_stats()["bytes_in_use"] < MIB)


def allocate(megabytes):
    """A neighbour's plain allocation; None where the device is full."""
    import ctypes

    pointer = ctypes.c_uint64()
    result = ctypes.CDLL("libcuda.so.1").cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(megabytes * MIB))
    return None if result else pointer


def wait_for(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


@emulated(memory="512MiB")
def test_a_module_that_finds_the_device_full_gets_what_is_idle():
    import jax
    from programs import filled

    import gmlake_jax
    from gmlake_jax import emulator

    filled(1, 1).block_until_ready()
    fill_and_drop(320)
    before = gmlake_jax.memory_stats()["bytes_reserved"]
    emulator.set_faults("cuModuleLoadData*@1")
    jax.jit(lambda x: x * 3 + 1)(filled(1, 2)).block_until_ready()
    assert gmlake_jax.memory_stats()["bytes_reserved"] < before / 2


@emulated(memory="512MiB", variables={"GMLAKE_IDLE_TRIM": "1"})
def test_a_quiet_program_gives_all_that_is_idle_back():
    from programs import filled

    import gmlake_jax

    kept = filled(16, 7).block_until_ready()
    fill_and_drop(256)
    assert wait_for(lambda: gmlake_jax.memory_stats()["bytes_reserved"] <= 34 * MIB)
    assert kept.nbytes == 16 * MIB


@emulated(memory="512MiB")
def test_without_being_told_it_keeps_what_it_has():
    import gmlake_jax

    fill_and_drop(256)
    time.sleep(3)
    assert gmlake_jax.memory_stats()["bytes_reserved"] >= 256 * MIB


@emulated(memory="512MiB")
def test_a_device_that_others_fill_gets_what_was_not_needed_for_a_while():
    import gmlake_jax

    fill_and_drop(320)
    assert allocate(150) is not None
    assert wait_for(lambda: gmlake_jax.memory_stats()["bytes_reserved"] <= 310 * MIB, seconds=30)


@emulated(memory="256MiB", variables={"GMLAKE_WAIT": "20"})
def test_a_full_device_is_waited_for():
    import ctypes
    import threading

    from programs import filled

    filled(1, 1).block_until_ready()
    pointer = allocate(200)
    threading.Timer(0.5, lambda: ctypes.CDLL("libcuda.so.1").cuMemFree_v2(pointer)).start()
    filled(100, 2).block_until_ready()


@emulated(memory="256MiB", variables={"GMLAKE_PREALLOCATE": "1", "GMLAKE_IDLE_TRIM": "1"})
def test_what_was_taken_in_advance_stays():
    from programs import filled

    import gmlake_jax

    filled(1, 1).block_until_ready()
    time.sleep(3)
    stats = gmlake_jax.memory_stats()
    assert stats["bytes_reserved"] == stats["bytes_limit"]
