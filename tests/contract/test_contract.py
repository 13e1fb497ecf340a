"""What a device allocator under JAX must do, asked of JAX's own and of ours in the same words. Where they differ, the
table says how: the rest of this project rests on these differences being real.
"""

import pytest
from emulated import ALLOCATORS, emulated

every_allocator = pytest.mark.parametrize("allocator", ALLOCATORS)

# Half of the device is free, in holes of that many MiB between live arrays: may one array as large as many holes have
# it? The driver's pool moves free memory together in chunks of 32 MiB, and only whole ones.
FILLS_HOLES = {
    ("default", 16): False,
    ("default", 32): False,
    ("cuda_async", 16): False,
    ("cuda_async", 32): True,
    ("vmm", 16): True,
    ("vmm", 32): True,
    ("gmlake", 16): True,
    ("gmlake", 32): True,
}
# Whether JAX can show statistics.
HAS_STATISTICS = {"default": True, "cuda_async": True, "vmm": False, "gmlake": True}


@every_allocator
@emulated(asynchronous=True, delay_us=20)
def test_arrays_hold_what_was_put_into_them(allocator):
    from programs import Churn

    Churn(seed=1, largest=1 << 20, live=40).run(rounds=300)


@pytest.mark.parametrize(("allocator", "hole"), sorted(FILLS_HOLES))
@emulated(memory="640MiB")
def test_an_array_larger_than_every_hole(allocator, hole):
    import jax
    import numpy as np
    from programs import filled, is_filled, out_of_memory, settle_at

    arrays = {i: filled(hole, i) for i in range(448 // hole)}
    jax.block_until_ready(arrays)
    for i in range(0, len(arrays), 2):
        arrays.pop(i).delete()
    settle_at(225)
    content = np.random.default_rng(0).integers(0, 256, 200 << 20, dtype=np.uint8)
    large = []
    failed = out_of_memory(lambda: large.append(jax.device_put(content)) or large)
    assert failed != FILLS_HOLES[allocator, hole]
    assert failed or np.array_equal(np.asarray(large[0]), content)
    assert all(is_filled(array, i) for i, array in arrays.items())


@every_allocator
@emulated(memory="256MiB")
def test_out_of_memory_is_an_error_and_not_the_end(allocator):
    import jax
    from programs import filled, is_filled, out_of_memory, settle_at

    kept = filled(16, 3)
    assert out_of_memory(lambda: [filled(32, 1) for _ in range(12)])
    settle_at(17)
    assert is_filled(kept, 3)
    again = [filled(32, i) for i in range(3)]
    jax.block_until_ready(again)
    assert all(is_filled(array, i) for i, array in enumerate(again))


@every_allocator
@emulated(asynchronous=True, delay_us=20)
def test_a_training_step_runs_and_its_arguments_may_be_donated(allocator):
    import jax
    from programs import donating_train_step, filled, is_filled, network, train, train_step

    bystander = filled(8, 5)
    parameters, batch = network()
    trained = train(train_step, parameters, batch, 10)
    donated = trained[0][0]
    trained = train(donating_train_step, trained, batch, 10)
    assert donated.is_deleted()
    assert not parameters[0][0].is_deleted()
    assert is_filled(bystander, 5)
    jax.block_until_ready(trained)


@every_allocator
@emulated(devices=2, asynchronous=True, delay_us=20)
def test_copies_between_devices_arrive(allocator):
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    one, other = jax.devices()
    content = np.random.default_rng(0).normal(size=(512, 512)).astype(np.float32)
    array = jax.device_put(content, one)
    for _ in range(10):
        array = jax.device_put(jax.device_put(array, other), one)
    assert np.array_equal(np.asarray(array), content)
    mesh = Mesh(np.array([one, other]), ("x",))
    rows = jax.device_put(content, NamedSharding(mesh, PartitionSpec("x")))
    columns = jax.device_put(rows, NamedSharding(mesh, PartitionSpec(None, "x")))
    assert np.array_equal(np.asarray(columns), content)


@every_allocator
@emulated()
def test_host_memory_holds_arrays_too(allocator):
    import jax
    import numpy as np
    from jax.sharding import SingleDeviceSharding

    content = np.random.default_rng(0).integers(0, 256, 1 << 20, dtype=np.uint8)
    on_host = SingleDeviceSharding(jax.devices()[0], memory_kind="pinned_host")
    offloaded = jax.device_put(jax.device_put(content), on_host)
    assert offloaded.sharding.memory_kind == "pinned_host"
    back = jax.device_put(offloaded, SingleDeviceSharding(jax.devices()[0], memory_kind="device"))
    assert np.array_equal(np.asarray(back), content)


@every_allocator
@emulated()
def test_statistics(allocator):
    import jax
    from programs import filled, settle

    device = jax.devices()[0]
    array = filled(32, 1).block_until_ready()
    statistics = device.memory_stats()
    assert (statistics is not None) == HAS_STATISTICS[allocator]
    if statistics is None:
        return
    assert 32 << 20 <= statistics["bytes_in_use"] <= statistics["peak_bytes_in_use"]
    array.delete()
    settle(until=lambda: device.memory_stats()["bytes_in_use"] < 32 << 20)
    assert device.memory_stats()["bytes_in_use"] < 32 << 20
    assert device.memory_stats()["peak_bytes_in_use"] >= 32 << 20
