"""Things that meet or outlive each other in unusual orders: a client that goes while its device sleeps or while another
library holds its memory, a forked child that drops what it inherited, threads that put one device to sleep or change
its limit under load.
"""

from emulated import emulated


@emulated()
def test_a_client_that_goes_asleep_is_followed_by_one_that_is_awake():
    import gc

    import jax
    import numpy as np
    from jax._src import api

    import gmlake_jax

    array = jax.device_put(np.arange(1000)).block_until_ready()
    gmlake_jax.sleep()
    del array
    gc.collect()
    api.clear_backends()
    gc.collect()
    again = jax.device_put(np.arange(1000))
    assert (np.asarray(again) == np.arange(1000)).all()
    assert not gmlake_jax.is_asleep()


@emulated()
def test_memory_that_another_library_holds_outlives_the_client():
    import ctypes
    import gc

    import jax
    import numpy as np
    from jax._src import api

    count = 1 << 20
    array = jax.device_put(np.full(count, 7, np.uint8)).block_until_ready()
    place, capsule = array.unsafe_buffer_pointer(), array.__dlpack__()
    del array
    gc.collect()
    api.clear_backends()
    gc.collect()
    others = [jax.device_put(np.zeros(count, np.uint8)).block_until_ready() for _ in range(8)]
    assert all(other.unsafe_buffer_pointer() != place for other in others)
    assert ctypes.string_at(place, count) == bytes([7]) * count
    del capsule
    gc.collect()
    assert (np.asarray(others[0]) == 0).all()


# It leaves by os._exit: the stock client does not survive exit() in a child, whatever allocator it has.
def test_a_forked_child_may_drop_the_arrays_that_it_inherited(run_jax):
    program = """
import os
arrays = [jax.device_put(np.arange(MIB, dtype=np.float32)) for _ in range(3)]
jax.block_until_ready(arrays)  # a child inherits locks that threads hold, and not the threads
child = os.fork()
if child == 0:
    arrays.clear()
    os._exit(0)
_, status = os.waitpid(child, 0)
answer(status=status, right=all(np.asarray(array)[-1] == MIB - 1 for array in arrays))
"""
    run = run_jax(program, GMLAKE="1")
    assert run.answer["status"] == 0
    assert run.answer["right"]
    assert "cudaFreeAsync" not in run.errors
    assert not run.lines_of_ours


def complaint(run):
    """What `run` failed with; that the device is asleep is no reason to complain."""
    try:
        run()
    except Exception as error:
        return None if "asleep" in str(error) else str(error)
    return None


@emulated(asynchronous=True, delay_us=2000)
def test_two_threads_that_put_a_device_to_sleep_do_not_open_its_doors_to_each_other():
    import threading
    import time

    import jax
    import numpy as np

    import gmlake_jax

    array = jax.device_put(np.ones(1 << 20, np.float32)).block_until_ready()
    copy = jax.jit(lambda x: x + 1)
    copy(array).block_until_ready()
    end = time.monotonic() + 3
    wrong = []

    def run_in_a_sleep():
        copy(array)
        assert not gmlake_jax.is_asleep(), "a program was run on a sleeping device"

    def doze(patience):
        while time.monotonic() < end:
            try:
                gmlake_jax.sleep(timeout=patience)
            except gmlake_jax.SleepError:
                continue
            wrong.append(complaint(run_in_a_sleep))
            gmlake_jax.wake()

    def work():
        while time.monotonic() < end:
            wrong.append(complaint(lambda: copy(array).block_until_ready()))

    threads = [threading.Thread(target=doze, args=(patience,)) for patience in (0, 0.001, 0.2)]
    threads += [threading.Thread(target=work)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gmlake_jax.wake()
    assert not [text for text in wrong if text is not None]


@emulated(devices=2, memory="512MiB", asynchronous=True, delay_us=50)
def test_a_limit_that_another_thread_moves_under_load_harms_no_array():
    import itertools
    import threading

    import jax
    from programs import Churn

    import gmlake_jax

    one, other = jax.devices()
    untouched = gmlake_jax.memory_stats(other)["bytes_limit"]
    churns = [
        Churn(seed=3, largest=24 << 20, live=8, device=one),
        Churn(seed=4, largest=24 << 20, live=8, device=other),
    ]
    done = threading.Event()
    moves = itertools.cycle(["480MiB", "260MiB", "300MiB"])
    changed = []

    def disturb():
        while not done.is_set():
            try:
                gmlake_jax.set_memory_limit(next(moves), device=one)
                changed.append(1)
            except gmlake_jax.ConfigError:
                changed.append(0)
            gmlake_jax.empty_cache(one)

    disturber = threading.Thread(target=disturb)
    disturber.start()
    for _ in range(3):
        for churn in churns:
            churn.run(rounds=25)  # compares what it put with what it reads
    done.set()
    disturber.join()
    assert 1 in changed
    assert gmlake_jax.memory_stats(other)["bytes_limit"] == untouched
