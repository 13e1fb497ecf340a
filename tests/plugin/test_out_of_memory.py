"""A request that cannot be met fails at once, as itself, and leaves a client that works; and what is said of it."""

import re
from pathlib import Path

from emulated import emulated

MIB = 1 << 20
XLA_WAITS_S = 9.5  # it sleeps ten seconds in all before it gives up; a busy machine may take some of them, too

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
        assert seconds < XLA_WAITS_S, "nobody waits for memory that will not come"
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
        assert seconds < XLA_WAITS_S, "nobody waits for memory that will not come"
    assert found["again"]
    assert found["right"]


def test_the_full_report_comes_once_for_each_failure(run_jax, tmp_path):
    run = run_jax(PROGRAM, GMLAKE="1", GMLAKE_LIMIT="700MiB", GMLAKE_OOM_DIR=str(tmp_path))
    assert run.answer
    reports = re.split(r"^(?=\[gmlake_jax\] out of memory on device)", run.errors, flags=re.MULTILINE)[1:]
    assert len(reports) == 2
    assert "  asked for             400.0 MiB\n" in reports[0]
    assert "  asked for             800.0 MiB  by jit__lambda\n" in reports[1]
    for report in reports:
        assert "earlier request" not in report, "that the plugin asks twice for the same is not worth a word"
        assert "  live                  404.0 MiB  in 2 buffers" in report
        assert "  1 x 400.0 MiB         400.0 MiB" in report
        assert "This is not fragmentation: it is too much for the limit." in report
        assert "this process, in all (pid" in report
    saved = re.findall(r"^Saved: (.*)$", run.errors, re.MULTILINE)
    assert len(saved) == 2
    for stem in saved:
        assert "out of memory on device 0" in Path(stem + ".txt").read_text()


def test_what_is_saved_is_the_state_of_that_moment(run_jax, tmp_path):
    from gmlake_jax.history import load_snapshot

    run_jax(PROGRAM, GMLAKE="1", GMLAKE_LIMIT="700MiB", GMLAKE_OOM_DIR=str(tmp_path))
    files = sorted(tmp_path.glob("*.npz"))
    assert files
    shot = load_snapshot(str(files[0]))
    assert sorted(shot.leases["requested"].tolist()) == [4 * MIB, 400 * MIB]
    assert shot.stats["bytes_limit"] == 700 * MIB


def test_a_recording_from_the_start_is_written_at_the_end_and_when_memory_runs_out(run_jax, tmp_path):
    from gmlake_jax.history import Kind, load_recording

    path = tmp_path / "all-%p.npz"
    program = PROGRAM + "\nimport os\nprint(os.path.exists(f'{os.environ[\"FOLDER\"]}/all-{os.getpid()}.npz'))"
    run = run_jax(program, GMLAKE="1", GMLAKE_LIMIT="700MiB", GMLAKE_RECORD=str(path), FOLDER=str(tmp_path))
    assert run.output.splitlines()[-1] == "True", "written before the end"
    [file] = tmp_path.glob("all-*.npz")
    recording = load_recording(str(file))
    assert (recording.events["kind"] == Kind.REFUSED).any()
    assert recording.events["size"][recording.events["kind"] == Kind.ALLOC].max() == 400 * MIB
    assert len(recording.end.leases) >= 1, "taken before JAX gives its arrays up"


def test_a_refusal_without_consequence_is_a_number_until_the_next_report(run_jax):
    program = """
import sys
def soft():
    stats = gmlake_jax.memory_stats()
    return stats["num_soft_failures"], stats["num_failures"]
kept = jax.device_put(np.zeros(300 * MIB, np.uint8)).block_until_ready()
seen = [soft()]
with gmlake_jax.on_oom(lambda _: kept.delete() is None):
    fits = jax.device_put(np.zeros(500 * MIB, np.uint8)).block_until_ready()
seen.append(soft())
print("the error", file=sys.stderr, flush=True)
try:
    jax.device_put(np.zeros(600 * MIB, np.uint8)).block_until_ready()
except jax.errors.JaxRuntimeError as error:
    str(error)
seen.append(soft())
answer(seen=seen)
"""
    run = run_jax(program, GMLAKE="1", GMLAKE_LIMIT="700MiB")
    before, coped, failed = run.answer["seen"]
    assert before == [0, 0]
    assert coped[0] == coped[1] > 0, "refused, and nothing came of it"
    assert failed[0] == coped[0], "what reaches the program is no soft failure"
    assert failed[1] > coped[1]
    quiet, loud = run.errors.split("the error\n")
    assert "out of memory" not in quiet
    assert f"{coped[0]} earlier request" in loud


@emulated(variables={"GMLAKE_LIMIT": "700MiB"})
def test_a_callback_can_make_room_and_the_request_succeeds():
    from programs import filled, is_filled

    import gmlake_jax

    cache = [filled(300, 1).block_until_ready()]
    asked = []

    def drop_cache(shortage):
        asked.append(shortage)
        for array in cache:
            array.delete()
        cache.clear()
        return True

    handle = gmlake_jax.on_oom(drop_cache)
    with gmlake_jax.annotate("loading"):
        array = filled(500, 7)
    assert is_filled(array, 7)
    [shortage] = asked
    assert (shortage.device, shortage.asked_bytes, shortage.annotation) == (0, 500 * MIB, "loading")
    assert shortage.bytes_limit == 700 * MIB
    assert "asked for             500.0 MiB  by loading" in shortage.report
    stats = gmlake_jax.memory_stats()
    assert stats["num_soft_failures"] == stats["num_failures"] > 0, "no error has reached the program"
    handle.remove()


@emulated(variables={"GMLAKE_LIMIT": "700MiB"})
def test_a_program_is_run_again_after_a_callback():
    import jax
    import jax.numpy as jnp
    from programs import filled, settle

    import gmlake_jax

    cache = [filled(300, 1).block_until_ready()]
    program = jax.jit(lambda x: (jnp.concatenate([x, x, x, x]), x + 1))
    argument = filled(100, 1).block_until_ready()
    program.lower(argument).compile()

    def drop_cache(_):
        cache.pop().delete()
        return True

    with gmlake_jax.on_oom(drop_cache):
        large, same = jax.block_until_ready(program(argument))
    assert not cache
    assert (large.nbytes, same.nbytes) == (400 * MIB, 100 * MIB)
    settle(until=lambda: gmlake_jax.memory_stats()["bytes_in_use"] == 600 * MIB)
    assert gmlake_jax.memory_stats()["bytes_in_use"] == 600 * MIB


@emulated(variables={"GMLAKE_LIMIT": "700MiB"})
def test_a_program_whose_argument_is_donated_already_is_not_run_again():
    import jax
    import jax.numpy as jnp
    import pytest
    from programs import filled

    import gmlake_jax

    kept = filled(300, 1).block_until_ready()
    program = jax.jit(lambda x: (jnp.concatenate([x, x, x, x]), x + 1), donate_argnums=0)
    argument = filled(100, 1).block_until_ready()
    asked = []
    with gmlake_jax.on_oom(lambda _: asked.append(1) or True), pytest.raises(Exception, match="RESOURCE_EXHAUSTED"):
        jax.block_until_ready(program(argument))
    assert not asked or not argument.is_deleted()
    assert kept.nbytes


@emulated(variables={"GMLAKE_LIMIT": "700MiB"})
def test_callbacks_are_asked_newest_first_and_an_error_in_one_is_no():
    import pytest
    from programs import filled

    import gmlake_jax

    kept = filled(400, 1).block_until_ready()
    order = []

    def fails(_):
        order.append("fails")
        raise ValueError("on purpose")

    older, newer = gmlake_jax.on_oom(lambda _: order.append("older")), gmlake_jax.on_oom(fails)
    with older, newer, pytest.raises(Exception, match="RESOURCE_EXHAUSTED"):
        filled(400, 1).block_until_ready()
    assert order[:2] == ["fails", "older"]
    with pytest.raises(Exception, match="RESOURCE_EXHAUSTED"):
        filled(400, 1).block_until_ready()
    assert len(order) == 2, "removed"
    assert kept.nbytes


@emulated(variables={"GMLAKE_LIMIT": "700MiB"})
def test_a_callback_that_never_makes_room_ends_after_some_attempts():
    import pytest
    from programs import filled

    import gmlake_jax

    kept = filled(400, 1).block_until_ready()
    calls = []
    with gmlake_jax.on_oom(lambda _: calls.append(1) or True), pytest.raises(Exception, match="RESOURCE_EXHAUSTED"):
        filled(400, 1).block_until_ready()
    assert 1 <= len(calls) <= 4
    assert kept.nbytes


@emulated(variables={"GMLAKE_LIMIT": "700MiB"})
def test_a_callback_that_asks_for_memory_itself_is_refused_and_not_asked_again():
    import pytest
    from programs import filled

    import gmlake_jax

    kept = filled(400, 1).block_until_ready()
    inside = []

    def greedy(_):
        with pytest.raises(Exception, match="RESOURCE_EXHAUSTED"):
            filled(400, 2).block_until_ready()
        inside.append(True)
        return False

    with gmlake_jax.on_oom(greedy), pytest.raises(Exception, match="RESOURCE_EXHAUSTED"):
        filled(400, 1).block_until_ready()
    assert inside == [True]
    assert kept.nbytes


def told_devices(errors):
    """The device that each error's story is about; None where there is no story."""
    found = [re.search(r"^\[gmlake_jax\] device (\d+): asked for", text, re.MULTILINE) for text in errors]
    return [int(match[1]) if match else None for match in found]


@emulated(devices=2, variables={"GMLAKE_LIMIT": "300MiB"})
def test_each_error_tells_of_its_own_device_in_whatever_order_they_are_read():
    import jax
    import numpy as np

    devices = jax.devices()
    arguments = [jax.device_put(np.ones(20 * MIB, np.uint8), device) for device in devices]
    full = jax.device_put(np.ones(120 * MIB, np.uint8), devices[1])
    jax.block_until_ready((arguments, full))
    program = jax.jit(lambda x: jax.numpy.tile(x, 20))

    def error_of(function):
        try:
            function()
        except jax.errors.JaxRuntimeError as error:
            return str(error)
        return ""

    for order in ([0, 1], [1, 0]):
        in_error = [program(argument) for argument in arguments]
        errors = [error_of(in_error[device].block_until_ready) for device in order]
        assert told_devices(errors) == order, errors
    huge = np.zeros(400 * MIB, np.uint8)
    put = [error_of(lambda d=device: jax.device_put(huge, d).block_until_ready()) for device in reversed(devices)]
    assert told_devices(put) == [1, 0]


@emulated(devices=2, variables={"GMLAKE_LIMIT": "300MiB"})
def test_an_array_made_of_one_in_error_tells_of_the_device_that_had_no_memory():
    import jax
    import numpy as np
    import pytest

    devices = jax.devices()
    arguments = [jax.device_put(np.ones(20 * MIB, np.uint8), device) for device in devices]
    tile = jax.jit(lambda x: jax.numpy.tile(x, 20))
    in_error = [tile(argument) for argument in arguments]
    for device in (1, 0, 1):
        with pytest.raises(jax.errors.JaxRuntimeError) as caught:
            np.asarray(jax.jit(lambda x: x + 1)(in_error[device]))
        assert told_devices([str(caught.value)]) == [device], str(caught.value)


@emulated(variables={"GMLAKE_LIMIT": "300MiB"})
def test_pinned_host_memory_that_runs_out_is_no_story_of_the_device():
    import jax
    import numpy as np
    import pytest

    import gmlake_jax
    from gmlake_jax import emulator

    host = np.ones(400 * MIB, np.uint8)
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"\[gmlake_jax\] device 0: asked for 400.0 MiB"):
        jax.device_put(host).block_until_ready()
    asked = []
    emulator.set_faults("cuMemHostAlloc*@1+,cuMemAllocHost*@1+,cuMemHostRegister*@1+")
    pinned = jax.sharding.SingleDeviceSharding(jax.devices()[0], memory_kind="pinned_host")
    with gmlake_jax.on_oom(asked.append), pytest.raises(jax.errors.JaxRuntimeError) as caught:
        jax.device_put(host, pinned).block_until_ready()
    emulator.set_faults("")
    assert not asked
    assert "asked for" not in str(caught.value)


@emulated(variables={"GMLAKE_LIMIT": "300MiB"})
def test_a_forked_child_does_not_tell_of_its_parents_shortage():
    import os

    import jax
    import numpy as np
    import pytest

    import gmlake_jax

    with pytest.raises(jax.errors.JaxRuntimeError):
        jax.device_put(np.ones(400 * MIB, np.uint8)).block_until_ready()
    asked = []
    gmlake_jax.on_oom(asked.append)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            jax.device_put(np.ones(4096, np.uint8)).block_until_ready()
            text = "no error"
        except Exception as error:
            text = str(error)
        os.write(writer, f"{len(asked)} {text}".encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    assert text.startswith("0 ")
    assert "no error" not in text
    assert "asked for" not in text


def callbacks_that_raise():
    import sys

    class Unspeakable(BaseException):
        def __str__(self):
            raise RuntimeError("on purpose")

    class NoBool:
        def __bool__(self):
            raise GeneratorExit

    def raising(error):
        def callback(_):
            raise error

        return callback

    errors = (KeyboardInterrupt(), ValueError("two\nlines"), Unspeakable())
    return [lambda _: sys.exit("I give up"), *map(raising, errors), lambda _: NoBool(), lambda _: sys.exit("again")]


def said_while_memory_runs_out_twice(callback):
    """The lines on stderr, and the seconds that it took."""
    import contextlib
    import io
    import time

    import pytest
    from programs import filled

    import gmlake_jax

    said = io.StringIO()
    begin = time.monotonic()
    with gmlake_jax.on_oom(callback), contextlib.redirect_stderr(said):
        for _ in range(2):
            with pytest.raises(Exception, match="RESOURCE_EXHAUSTED"):
                filled(400, 1).block_until_ready()
    return said.getvalue().splitlines(), time.monotonic() - begin


@emulated(variables={"GMLAKE_LIMIT": "300MiB"})
def test_whatever_a_callback_raises_later_failures_do_not_wait():
    for callback in callbacks_that_raise():
        lines, seconds = said_while_memory_runs_out_twice(callback)
        assert seconds < 20, "the time that is given to a callback which does not answer"
        assert len(lines) == 2, lines
        assert all(line.startswith("[gmlake_jax] on_oom: the callback ended with ") for line in lines)


@emulated(variables={"GMLAKE_LIMIT": "300MiB"})
def test_a_callback_may_fail_without_a_stderr():
    import sys
    import time

    import pytest
    from programs import filled

    import gmlake_jax

    begin = time.monotonic()
    kept = sys.stderr
    with gmlake_jax.on_oom(lambda _: sys.exit(1)):
        for broken in (None, open("/dev/full", "w", buffering=1)):  # noqa: SIM115
            sys.stderr = broken
            with pytest.raises(Exception, match="RESOURCE_EXHAUSTED"):
                filled(400, 1).block_until_ready()
    sys.stderr = kept
    assert time.monotonic() - begin < 20


@emulated(variables={"GMLAKE_LIMIT": "400MiB"})
def test_two_threads_that_run_out_are_both_served_by_what_one_callback_frees():
    run_out_together([100, 101], freed_at_once=True)


@emulated(variables={"GMLAKE_LIMIT": "400MiB"})
def test_each_of_many_threads_gets_its_turn():
    run_out_together([50, 51, 52, 53, 54, 55], freed_at_once=False)


def run_out_together(sizes_mib, *, freed_at_once):
    """Threads that run out of memory together, and a callback that frees for all of them or for one at a time."""
    import threading
    import time

    from programs import filled

    import gmlake_jax

    pieces = [350] if freed_at_once else [58] * len(sizes_mib)
    cache = [filled(size, 1).block_until_ready() for size in pieces]
    results = {}
    barrier = threading.Barrier(len(sizes_mib))

    def drop(_):
        time.sleep(0.3)  # so that the others come meanwhile
        if not cache:
            return False
        cache.pop().delete()
        return True

    def work(size):
        barrier.wait()
        results[size] = filled(size, 2).block_until_ready()

    with gmlake_jax.on_oom(drop):
        threads = [threading.Thread(target=work, args=(size,)) for size in sizes_mib]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(results) == sizes_mib
