"""More than one device, and devices that come and go."""

import pytest

SHARDED = """
from jax.sharding import Mesh, NamedSharding, PartitionSpec
devices = jax.devices()
mesh = Mesh(np.array(devices), ("x",))
source = np.arange(4 * MIB, dtype=np.float32)
sharded = jax.device_put(source, NamedSharding(mesh, PartitionSpec("x")))
whole = jax.device_put(sharded, NamedSharding(mesh, PartitionSpec()))
copied = jax.device_put(jax.device_put(source, devices[0]), devices[1])
right = [np.array_equal(np.asarray(array), source) for array in (sharded, copied)]
right += [np.array_equal(np.asarray(shard.data), source) for shard in whole.addressable_shards]
served = [gmlake_jax.memory_stats(device)["num_allocs"] for device in devices]
own = [device.memory_stats()["bytes_in_use"] == gmlake_jax.memory_stats(device)["bytes_in_use"] for device in devices]
answer(right=right, served=served, own=own, state=gmlake_jax.state())
"""


def test_each_device_serves_its_own_arrays(run_jax):
    found = run_jax(SHARDED, GMLAKE="1", GMLAKE_EMULATOR_DEVICES="2").answer
    assert all(found["right"])
    assert all(count > 1 for count in found["served"])
    assert all(found["own"])
    assert "device 0" in found["state"]
    assert "device 1" in found["state"]


def test_a_device_that_jax_leaves_out_is_left_alone(run_jax):
    program = """
jax.config.update("jax_cuda_visible_devices", "1")
jax.device_put(np.zeros(MIB))
answer(ordinal=jax.devices()[0].local_hardware_id, state=gmlake_jax.state(), others=emulator.used(0))
"""
    found = run_jax(program, GMLAKE="1", GMLAKE_EMULATOR_DEVICES="2").answer
    assert found["ordinal"] == 1
    assert "device 1" in found["state"]
    assert "device 0" not in found["state"]
    assert found["others"] == 0


@pytest.mark.parametrize(("visible", "count"), [("1", 1), ("2,0", 2)])
def test_a_process_sees_the_devices_of_cudas_variable(run_jax, visible, count):
    program = """
arrays = [jax.device_put(np.arange(MIB, dtype=np.float32), device) for device in jax.devices()]
right = [np.array_equal(np.asarray(array), np.arange(MIB, dtype=np.float32)) for array in arrays]
answer(right=right, used=[emulator.used(i) > 0 for i in range(3)], state=gmlake_jax.state(),
       ordinals=[device.local_hardware_id for device in jax.devices()])
"""
    variables = {"GMLAKE_EMULATOR_DEVICES": "3", "CUDA_VISIBLE_DEVICES": visible}
    found = run_jax(program, GMLAKE="1", **variables).answer
    assert found["right"] == [True] * count
    assert found["ordinals"] == list(range(count))
    assert found["used"] == [i < count for i in range(3)]
    assert found["state"].count("device ") == count


LIFETIMES = """
import gc
from jax._src import api
def use():
    array = jax.device_put(np.arange(8 * MIB, dtype=np.float32))
    return bool(np.asarray(array)[-1] == 8 * MIB - 1)
def close():
    gc.collect()
    api.clear_backends()
    gc.collect()
def left():
    return [emulator.used(), emulator.blocks(), emulator.mappings()]
def count_threads():
    return len(os.listdir("/proc/self/task"))
right, held, threads = [], [], []
for _ in range(4):
    right.append(use())
    close()
    if threads:  # the last threads of a client may end a little later
        settle(until=lambda: left() == held[0] and count_threads() <= threads[0], seconds=20)
    held.append(left())
    threads.append(count_threads())
answer(right=right, held=held, threads=threads, state=gmlake_jax.state())
"""


def test_a_client_that_goes_leaves_nothing_and_another_may_come(run_jax):
    found = run_jax("import os\n" + LIFETIMES, GMLAKE="1").answer
    assert all(found["right"])
    assert found["held"][-1][1:] == [0, 0], "blocks or mappings are left"
    assert found["held"][0] == found["held"][-1]
    assert found["threads"][-1] <= found["threads"][0] + 1


def test_a_forked_child_is_told_and_the_parent_goes_on(run_jax):
    program = """
import os
array = jax.device_put(np.arange(MIB, dtype=np.float32)).block_until_ready()
child = os.fork()
if child == 0:
    state = gmlake_jax.state()
    os._exit(0 if "forked" in state and not gmlake_jax.is_active() else 1)
_, status = os.waitpid(child, 0)
again = jax.device_put(np.arange(MIB, dtype=np.float32))
answer(status=status, right=np.array_equal(np.asarray(again), np.asarray(array)), active=gmlake_jax.is_active())
"""
    found = run_jax(program, GMLAKE="1").answer
    assert found["status"] == 0
    assert found["right"]
    assert found["active"]
