"""A program on the emulated device prints what it prints; the machine itself has nothing to say."""

PROGRAM = """
from jax.sharding import Mesh, NamedSharding, PartitionSpec
mesh = Mesh(np.array(jax.devices()), ("x",))
array = jax.device_put(np.ones((256, 256), np.float32), NamedSharding(mesh, PartitionSpec("x")))
jax.jit(lambda x: (x @ x).sum())(array).block_until_ready()
"""


def test_nothing_that_xla_asks_for_is_missing(run_jax):
    run = run_jax(PROGRAM, GMLAKE="1", GMLAKE_EMULATOR_DEVICES="2")
    assert run.code == 0
    assert "[gmlake emulator]" not in run.errors
    assert not run.lines_of_ours
