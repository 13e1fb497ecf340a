"""Sleep and wake under the stock JAX client: bytes, addresses, what is refused and what it says, and failing drivers.

The emulated device faults on any touch of an address that is not mapped, and counts whoever broke a rule.
"""

import contextlib

import pytest
from emulated import emulated

MIB = 1 << 20


def holds(array, value):
    """Whether every byte is `value`, as it lies on the emulated device, whose addresses are the process's own.

    JAX keeps a copy of what it has once read, which would tell nothing.
    """
    import ctypes

    array.block_until_ready()
    return ctypes.string_at(array.unsafe_buffer_pointer(), array.nbytes) == bytes([value]) * array.nbytes


@emulated()
def test_memory_is_given_away_and_every_byte_comes_back_to_its_address():
    import jax
    import numpy as np
    from programs import filled

    import gmlake_jax
    from gmlake_jax import emulator

    before = emulator.used()
    arrays = [filled(8, i) for i in range(6)]
    small = jax.device_put(np.arange(10))
    jax.block_until_ready((arrays, small))
    places = [array.unsafe_buffer_pointer() for array in arrays]
    report = gmlake_jax.sleep()
    assert gmlake_jax.is_asleep()
    assert report.copied_bytes >= 48 * MIB
    assert emulator.used() <= before + 2 * MIB
    stats = gmlake_jax.memory_stats()
    assert stats["bytes_reserved"] == stats["bytes_idle"] == 0
    assert stats["bytes_asleep"] >= stats["bytes_in_use"] >= 48 * MIB
    gmlake_jax.wake()
    assert not gmlake_jax.is_asleep()
    assert [array.unsafe_buffer_pointer() for array in arrays] == places
    assert all(holds(array, i) for i, array in enumerate(arrays))
    assert (np.asarray(small) == np.arange(10)).all()


@emulated(asynchronous=True, memory="512MiB")
def test_stitched_arrays_keep_their_bytes_through_many_nights():
    from programs import Churn, filled, settle

    import gmlake_jax

    gmlake_jax.set_memory_limit("160MiB")
    arrays = {i: filled(8, i) for i in range(16)}
    for i in range(0, 16, 2):
        arrays.pop(i).delete()
    settle(until=lambda: gmlake_jax.memory_stats()["bytes_in_use"] <= 68 * MIB)
    arrays[77] = filled(56, 77).block_until_ready()
    assert gmlake_jax.memory_stats()["ways"]["stitch"]["count"] > 0
    for _ in range(4):
        gmlake_jax.sleep()
        gmlake_jax.wake()
        assert all(holds(array, i) for i, array in arrays.items())
        Churn(seed=3, largest=4 * MIB, live=4).run(rounds=10)


@emulated()
def test_using_a_sleeping_array_is_an_error_that_says_so_and_reaches_no_driver():
    import jax
    import numpy as np
    from programs import filled

    import gmlake_jax

    array = filled(4, 1).block_until_ready()
    add = jax.jit(lambda x: x + 1)
    add(array).block_until_ready()
    unseen = jax.jit(lambda x: x * 3 - 1)
    uses = {
        "run": lambda: add(array),
        "compile": lambda: unseen(array).block_until_ready(),
        "put": lambda: jax.device_put(np.zeros(1000)).block_until_ready(),
        "export": lambda: array.__dlpack__(),
    }
    gmlake_jax.sleep()
    for name, use in uses.items():
        with pytest.raises(Exception, match="asleep"):
            pytest.fail(f"{name} was possible: {use()}")
    gmlake_jax.wake()
    assert holds(array, 1)
    for use in uses.values():
        use()


@emulated()
def test_a_sleeping_array_can_be_read():
    import jax
    import numpy as np
    from programs import filled

    import gmlake_jax

    random = np.random.default_rng(1)
    contents = [random.normal(size=shape).astype(kind) for shape, kind in (((64, 33), "f4"), ((7,), "i2"), ((), "f4"))]
    arrays = [jax.device_put(content) for content in contents]
    large, gone = filled(8, 5), gmlake_jax.tag("cache", filled(4, 6), disposable=True)
    jax.block_until_ready((arrays, large, gone))
    with gmlake_jax.asleep(level=2):
        for array, content in zip(arrays, contents, strict=True):
            assert np.array_equal(np.asarray(array), content)
        assert (np.asarray(large) == 5).all()
        assert (np.asarray(gone) == 0).all()
    assert holds(large, 5)


@emulated()
def test_what_is_deleted_meanwhile_needs_no_memory_afterwards():
    from programs import filled, settle

    import gmlake_jax

    kept, gone = filled(8, 1).block_until_ready(), filled(64, 2).block_until_ready()
    gmlake_jax.sleep()
    gone.delete()
    settle(until=lambda: gmlake_jax.memory_stats()["bytes_in_use"] <= 10 * MIB)
    gmlake_jax.wake()
    assert gmlake_jax.memory_stats()["bytes_reserved"] < 64 * MIB
    assert holds(kept, 1)
    assert holds(filled(64, 3), 3)


@emulated()
def test_disposable_arrays_are_dropped_and_zero_afterwards():
    from programs import filled

    import gmlake_jax

    kept = gmlake_jax.tag("weights", filled(8, 1))
    cache = gmlake_jax.tag("cache", [filled(16, 2), filled(16, 3)], disposable=True)
    scratch = gmlake_jax.tag("scratch", {"a": filled(4, 4)}, disposable=True)
    with gmlake_jax.asleep(tags=["cache"]) as report:
        assert report.dropped_bytes == 32 * MIB
    assert all(holds(array, 0) for array in cache)
    assert holds(kept, 1)
    assert holds(scratch["a"], 4)
    assert gmlake_jax.sleep(level=2).dropped_bytes == 36 * MIB
    gmlake_jax.wake()
    assert holds(scratch["a"], 0)
    assert holds(kept, 1)


@emulated()
def test_a_tag_stays_with_memory_that_is_updated_in_place():
    import jax
    from programs import filled

    import gmlake_jax

    cache = gmlake_jax.tag("cache", filled(16, 2), disposable=True)
    cache = jax.jit(lambda x: x + 1, donate_argnums=0)(cache)
    assert gmlake_jax.sleep(level=2).dropped_bytes == 16 * MIB
    gmlake_jax.wake()


@emulated()
def test_mistakes_with_levels_and_tags_are_named():
    from programs import filled

    import gmlake_jax

    gmlake_jax.tag("weights", filled(1, 1))
    for arguments, word in (
        ({"level": 3}, "level=3"),
        ({"tags": ["x"]}, "weights"),
        ({"tags": ["weights"]}, "disposable"),
    ):
        with pytest.raises(gmlake_jax.SleepError, match=word):
            gmlake_jax.sleep(**arguments)
    with pytest.raises(gmlake_jax.SleepError, match="choose"):
        gmlake_jax.tag("weights", filled(1, 1), disposable=True)
    assert not gmlake_jax.is_asleep()
    gmlake_jax.sleep()
    with pytest.raises(gmlake_jax.SleepError, match="already"):
        gmlake_jax.sleep()
    gmlake_jax.wake()
    gmlake_jax.wake()


@emulated()
def test_arrays_that_another_library_holds_are_named():
    from programs import filled

    import gmlake_jax

    array, other = filled(4, 1).block_until_ready(), filled(8, 2).block_until_ready()
    capsule = array.__dlpack__()
    with pytest.raises(gmlake_jax.SleepError, match=r"dlpack: uint8\[4194304\]; delete"):
        gmlake_jax.sleep()
    assert not gmlake_jax.is_asleep()
    assert holds(array, 1)
    del capsule
    with gmlake_jax.asleep():
        pass
    assert holds(other, 2)


@emulated(asynchronous=True, delay_us=20000)
def test_queued_work_gets_time_and_is_then_a_reason_to_refuse():
    import jax
    from programs import filled

    import gmlake_jax

    array = filled(4, 1).block_until_ready()
    busy = jax.jit(lambda x: jax.lax.fori_loop(0, 100, lambda i, y: y @ y, x))
    result = busy(jax.numpy.ones((64, 64)))
    with pytest.raises(gmlake_jax.SleepError, match="queued"):
        gmlake_jax.sleep(timeout=0.05)
    assert not gmlake_jax.is_asleep()
    result.block_until_ready()
    gmlake_jax.sleep(timeout=20)
    gmlake_jax.wake()
    assert holds(array, 1)


# XLA queues copies on threads of its own, after the call that asked for them; no stream shows them until then.
LEFT_BEHIND = {
    "read": ("cuMemcpyDtoHAsync_v2", lambda jax, array, other: array.copy_to_host_async()),
    "write": ("cuMemcpyHtoDAsync_v2", lambda jax, array, other: jax.device_put(other)),
    "run": ("cuMemcpyHtoDAsync_v2", lambda jax, array, other: jax.jit(lambda x: x + 1)(jax.device_put(other))),
    "launch": ("cuLaunchKernel*", lambda jax, array, other: jax.jit(lambda x: x + 1)(array)),
}


@pytest.mark.parametrize("what", LEFT_BEHIND)
@emulated(asynchronous=True)
def test_work_that_is_not_even_queued_yet_is_waited_for_though_its_arrays_are_gone(what):
    import time

    import jax
    import numpy as np
    from programs import filled

    import gmlake_jax
    from gmlake_jax import emulator

    slow, ask = LEFT_BEHIND[what]
    array, spare = gmlake_jax.tag("cache", [filled(8, 1), filled(8, 2)], disposable=True)
    ask(jax, spare.block_until_ready(), np.full(4 * MIB, 8, np.uint8))  # compiled before it is slow
    jax.block_until_ready((array, spare))
    emulator.set_faults(f"{slow}~400000")
    ask(jax, array, np.full(4 * MIB, 9, np.uint8))
    gmlake_jax.sleep(level=2, timeout=20)
    time.sleep(0.6)  # long enough for what was left behind
    gmlake_jax.wake()
    emulator.set_faults("")
    assert emulator.violations() == 0, emulator.describe_violations()
    assert holds(array, 0)


@emulated(asynchronous=True)
def test_a_copy_that_is_not_over_in_time_is_a_reason_to_refuse():
    from programs import filled

    import gmlake_jax
    from gmlake_jax import emulator

    array = filled(8, 1).block_until_ready()
    emulator.set_faults("cuMemcpyDtoHAsync_v2~4000000")
    array.copy_to_host_async()
    with pytest.raises(gmlake_jax.SleepError, match="copy from or to the device is queued"):
        gmlake_jax.sleep(timeout=0.1)
    assert not gmlake_jax.is_asleep()
    emulator.set_faults("")
    gmlake_jax.sleep(timeout=20)
    gmlake_jax.wake()
    assert holds(array, 1)


@emulated(devices=2)
def test_one_device_may_sleep_while_the_other_works():
    import jax
    from programs import filled

    import gmlake_jax
    from gmlake_jax import emulator

    one, other = jax.devices()
    here, there = jax.device_put(filled(16, 1), one), jax.device_put(filled(16, 2), other)
    jax.block_until_ready((here, there))
    gmlake_jax.sleep(device=other)
    assert emulator.used(1) < 16 * MIB < emulator.used(0)
    assert holds(here, 1)
    with pytest.raises(Exception, match="device 1 is asleep"):
        jax.device_put(here, other).block_until_ready()
    gmlake_jax.sleep()
    assert emulator.used(0) < 16 * MIB
    gmlake_jax.wake()
    assert holds(here, 1)
    assert holds(there, 2)


@emulated(memory="256MiB")
def test_a_device_that_somebody_filled_meanwhile_is_waited_for():
    import ctypes

    from programs import filled

    import gmlake_jax

    array = filled(64, 1).block_until_ready()
    gmlake_jax.sleep()
    driver, pointer = ctypes.CDLL("libcuda.so.1"), ctypes.c_uint64()
    assert driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(200 * MIB)) == 0
    with pytest.raises(gmlake_jax.SleepError, match="sleeps on"):
        gmlake_jax.wake()
    assert driver.cuMemFree_v2(pointer) == 0
    gmlake_jax.wake()
    assert holds(array, 1)


@emulated()
def test_a_process_may_end_asleep():
    from programs import filled

    import gmlake_jax

    array = filled(8, 1).block_until_ready()
    gmlake_jax.sleep()
    assert array.nbytes == 8 * MIB


@emulated()
def test_host_memory_that_was_prepared_is_what_the_first_sleep_uses():
    import jax
    from programs import filled

    import gmlake_jax
    from gmlake_jax import emulator

    def on_host():
        return gmlake_jax.memory_stats()["bytes_on_host"]

    array = filled(80, 1).block_until_ready()
    gmlake_jax.prepare_sleep()
    assert 80 * MIB <= on_host() <= 90 * MIB
    emulator.set_faults("cuMemHostRegister_v2@1+=999")  # nothing more is made
    with gmlake_jax.asleep(), pytest.raises(gmlake_jax.SleepError, match="asleep"):
        gmlake_jax.prepare_sleep("1MiB")
    assert holds(array, 1)
    with pytest.raises(gmlake_jax.SleepError, match="cuMemHostRegister"):
        gmlake_jax.prepare_sleep("300MiB")
    emulator.set_faults("")
    gmlake_jax.prepare_sleep("300MiB")
    assert on_host() == 300 * MIB
    gmlake_jax.empty_cache()
    assert on_host() == 0
    jax.block_until_ready(filled(1, 1))


@emulated()
def test_preparing_in_the_background_is_over_at_some_time():
    from programs import filled, settle

    import gmlake_jax

    array = filled(16, 1).block_until_ready()
    gmlake_jax.prepare_sleep("200MiB", wait=False)
    with gmlake_jax.asleep():
        pass
    settle(until=lambda: gmlake_jax.memory_stats()["bytes_on_host"] == 200 * MIB)
    assert holds(array, 1)


@emulated()
def test_a_process_may_end_while_host_memory_is_being_made():
    from programs import filled

    import gmlake_jax

    filled(1, 1).block_until_ready()
    gmlake_jax.prepare_sleep("1GiB", wait=False)


CALLS = (
    "cuMemUnmap",
    "cuMemRelease",
    "cuMemCreate",
    "cuMemMap",
    "cuMemSetAccess",
    "cuMemHostRegister_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuStreamSynchronize",
    "cuCtxSynchronize",
    "cuEventRecord",
)


@pytest.mark.parametrize("call", CALLS)
@emulated(memory="256MiB")
def test_a_driver_that_fails_at_any_step_costs_no_byte(call):
    from programs import filled, settle

    import gmlake_jax
    from gmlake_jax import emulator

    gmlake_jax.set_memory_limit("200MiB")
    arrays = {i: filled(8, i) for i in range(12)}
    for i in range(0, 12, 2):
        arrays.pop(i).delete()
    settle(until=lambda: gmlake_jax.memory_stats()["bytes_in_use"] <= 50 * MIB)
    for number in (1, 2, 3, 5, 8):
        for which in (f"{call}@{number}=999", f"{call}@{number}+=999"):
            for step in (gmlake_jax.sleep, gmlake_jax.wake):
                emulator.set_faults(which)
                with contextlib.suppress(gmlake_jax.SleepError):
                    step()
                emulator.set_faults("")
            gmlake_jax.wake()
            assert all(holds(array, i) for i, array in arrays.items()), which
    assert holds(filled(8, 99), 99)
