"""Where JAX's arrays lie when we serve them, and how memory comes and goes."""

from emulated import emulated

MIB = 1 << 20


@emulated()
def test_a_donated_array_is_overwritten_in_place():
    import jax
    from programs import filled

    add = jax.jit(lambda x: x + 1, donate_argnums=0)
    array = filled(8, 1)
    place = array.unsafe_buffer_pointer()
    assert add(array).unsafe_buffer_pointer() == place


@emulated()
def test_an_idle_device_holds_nothing_after_empty_cache():
    from programs import filled, settle

    import gmlake_jax
    from gmlake_jax import emulator

    before = emulator.used()
    arrays = [filled(16, i).block_until_ready() for i in range(10)]
    assert emulator.used() >= before + 160 * MIB
    arrays.clear()
    settle(until=lambda: gmlake_jax.memory_stats()["bytes_in_use"] == 0)
    gmlake_jax.empty_cache()
    assert gmlake_jax.memory_stats()["bytes_reserved"] == 0
    assert emulator.used() <= before


@emulated(variables={"GMLAKE_LIMIT": "256MiB"})
def test_physical_memory_never_exceeds_the_limit():
    from programs import Churn, filled, out_of_memory

    import gmlake_jax
    from gmlake_jax import emulator

    Churn(seed=2, largest=64 * MIB, live=8).run(rounds=40)
    assert out_of_memory(lambda: [filled(32, 1) for _ in range(12)])
    assert emulator.peak() <= 256 * MIB + 4 * MIB  # the driver's own: modules' globals
    assert gmlake_jax.memory_stats()["peak_bytes_reserved"] <= 256 * MIB


@emulated()
def test_numbers_agree_with_the_device():
    from programs import filled

    import gmlake_jax
    from gmlake_jax import emulator

    arrays = [filled(16, i).block_until_ready() for i in range(10)]
    stats = gmlake_jax.memory_stats()
    assert sum(array.nbytes for array in arrays) <= stats["bytes_in_use"] <= stats["bytes_reserved"]
    assert stats["bytes_reserved"] <= emulator.used() <= stats["bytes_reserved"] + 4 * MIB


@emulated(devices=2)
def test_each_device_has_memory_of_its_own():
    import jax
    from programs import filled

    import gmlake_jax
    from gmlake_jax import emulator

    one, other = jax.devices()
    array = jax.device_put(filled(64, 1), other).block_until_ready()
    assert array.devices() == {other}
    assert emulator.used(1) >= 64 * MIB
    assert gmlake_jax.memory_stats(other)["bytes_in_use"] >= 64 * MIB
    assert gmlake_jax.memory_stats(one)["bytes_limit"] == gmlake_jax.memory_stats(other)["bytes_limit"]
