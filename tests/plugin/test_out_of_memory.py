"""A request that cannot be met fails at once, as itself, and leaves a client that works."""

PROGRAM = """
small = jax.device_put(np.arange(MIB, dtype=np.float32))
big = np.zeros(400 * MIB, np.uint8)
kept = [jax.device_put(big)]
double = jax.jit(lambda array: jax.numpy.concatenate([array, array]))
double.lower(kept[0]).compile()
def attempt(function):
    begin = time.perf_counter()
    try:
        function().block_until_ready()
    except jax.errors.JaxRuntimeError as error:
        return str(error), time.perf_counter() - begin
    return "", 0.0
errors = [attempt(lambda: jax.device_put(big)), attempt(lambda: double(kept[0]))]
kept.clear()
bytes_in_use(small.nbytes)
again = jax.device_put(big)
answer(errors=errors, again=bool((np.asarray(again) == 0).all()),
       right=np.array_equal(np.asarray(small), np.arange(MIB, dtype=np.float32)),
       failures=gmlake_jax.memory_stats()["num_failures"])
"""


def test_the_error_comes_at_once_and_the_client_goes_on(run_jax):
    found = run_jax(PROGRAM, GMLAKE="1", GMLAKE_LIMIT="700MiB").answer
    for text, seconds in found["errors"]:
        assert text.startswith("RESOURCE_EXHAUSTED: Out of memory")
        assert seconds < 2
    assert found["again"]
    assert found["right"]
    assert found["failures"] > 0


def test_the_exception_says_who_has_the_memory(run_jax):
    found = run_jax(PROGRAM, GMLAKE="1", GMLAKE_LIMIT="700MiB").answer
    put, jit = (text.splitlines()[-1] for text, _ in found["errors"])
    assert put.startswith("[gmlake_jax] device 0: asked for 400.0 MiB; of a limit of 700.0 MiB, 404.0 MiB are in use")
    assert "asked for 800.0 MiB" in jit
    assert "Over the limit by 504.0 MiB" in jit


def test_a_device_that_others_have_filled_is_no_different(run_jax):
    """The limit would allow it, the device does not: the same error, from the driver."""
    program = PROGRAM.replace("errors = [", 'emulator.set_faults("cuMemCreate@1+")\nerrors = [').replace(
        "kept.clear()", 'emulator.set_faults(""); kept.clear()'
    )
    found = run_jax(program, GMLAKE="1", GMLAKE_LIMIT="1000MiB").answer
    assert "something outside gmlake_jax holds it" in found["errors"][0][0]
    for text, seconds in found["errors"]:
        assert text.startswith("RESOURCE_EXHAUSTED: Out of memory")
        assert seconds < 2
    assert found["again"]
    assert found["right"]
