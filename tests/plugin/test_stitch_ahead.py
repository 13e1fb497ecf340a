"""What a program will ask for is known when it is compiled: idle memory is mapped side by side before it runs."""

from emulated import emulated

MIB = 1 << 20


def fill_and_make_holes():
    """24 arrays of 32 MiB; every other one is freed again. Returns those that are left."""
    from programs import filled, settle

    import gmlake_jax

    arrays = [filled(32, i).block_until_ready() for i in range(24)]
    full = gmlake_jax.memory_stats()["bytes_in_use"]
    for array in arrays[::2]:
        array.delete()
    settle(until=lambda: gmlake_jax.memory_stats()["bytes_in_use"] <= full - 12 * 32 * MIB)
    return arrays[1::2]


def lowered(megabytes):
    """A program that sorts so many, which takes six times as much temporary memory, and its argument."""
    import jax
    import jax.numpy as jnp

    def total(x):
        product = jnp.dot(x, jnp.broadcast_to(x[0, 0], (1024, megabytes * MIB // 4096)))
        return jnp.sum(jnp.sort(product, axis=1))

    x = jnp.zeros((1024, 1024), jnp.float32)
    return jax.jit(total).lower(x), x


def is_prepared(wanted=1):
    from programs import settle

    import gmlake_jax

    settle(until=lambda: gmlake_jax.memory_stats()["num_prepared_ranges"] >= wanted)
    return gmlake_jax.memory_stats()["num_prepared_ranges"] >= wanted


def run(compiled, x):
    """Runs the program once; the requests that it stitched for, and the memory calls of the driver that it made."""
    import gmlake_jax
    from gmlake_jax import emulator

    before, calls = gmlake_jax.memory_stats(), emulator.memory_calls()
    compiled(x).block_until_ready()
    after = gmlake_jax.memory_stats()
    stitched = after["ways"]["stitch"]["count"] - before["ways"]["stitch"]["count"]
    return stitched, emulator.memory_calls() - calls


@emulated(memory="2GiB")
def test_the_first_run_of_a_program_maps_nothing():
    import gmlake_jax

    kept = fill_and_make_holes()
    program, x = lowered(50)
    compiled = program.compile()
    assert 64 * MIB < compiled.memory_analysis().temp_size_in_bytes < 12 * 32 * MIB
    assert is_prepared()
    assert run(compiled, x) == (0, 0)
    assert gmlake_jax.memory_stats()["num_prepared_ranges_used"] == 1
    assert len(kept) == 12


@emulated(memory="2GiB", variables={"GMLAKE_STITCH_AHEAD": "0"})
def test_switched_off_the_first_run_stitches():
    import gmlake_jax

    kept = fill_and_make_holes()
    program, x = lowered(50)
    compiled = program.compile()
    stitched, calls = run(compiled, x)
    assert stitched == 1
    assert calls > 0
    assert gmlake_jax.memory_stats()["num_prepared_ranges"] == 0
    assert len(kept) == 12


@emulated(memory="2GiB")
def test_a_program_that_is_loaded_is_foreseen_too():
    from jax.experimental import serialize_executable

    program, x = lowered(50)
    stored = serialize_executable.serialize(program.compile())
    kept = fill_and_make_holes()
    loaded = serialize_executable.deserialize_and_load(*stored)
    assert is_prepared()
    assert run(loaded, x) == (0, 0)
    assert len(kept) == 12


@emulated(devices=2, memory="2GiB")
def test_only_the_devices_of_the_program_are_told():
    import gmlake_jax

    kept = fill_and_make_holes()
    program, x = lowered(50)
    compiled = program.compile()
    assert is_prepared()
    assert gmlake_jax.memory_stats(1)["num_prepared_ranges"] == 0
    assert run(compiled, x)[0] == 0
    assert len(kept) == 12
