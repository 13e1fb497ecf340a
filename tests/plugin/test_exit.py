"""The end of a program: whatever is queued or held, it ends well and says nothing."""

import pytest

LATE = {"GMLAKE": "1", "GMLAKE_EMULATOR_ASYNC": "1", "GMLAKE_EMULATOR_DELAY_US": "20000"}

QUEUED = """
arrays = [jax.device_put(np.full(4 * MIB, i, np.uint8)) for i in range(4)]
copy = jax.jit(lambda x: x.copy())
for _ in range(10):
    arrays = [copy(array) for array in arrays]  # nobody waits for these
"""


@pytest.mark.parametrize("end", ["", "raise SystemExit(0)", "api.clear_backends()"])
def test_a_program_may_end_while_work_is_queued(run_jax, end):
    run = run_jax("from jax._src import api\n" + QUEUED + end, **LATE)
    assert run.code == 0, run.errors[-2000:]
    assert "VIOLATION" not in run.errors
    assert not run.lines_of_ours


def test_a_program_may_end_in_an_error_while_work_is_queued(run_jax):
    run = run_jax(QUEUED + "raise ValueError('the program is wrong')", **LATE)
    assert run.code == 1
    assert "the program is wrong" in run.errors
    assert "VIOLATION" not in run.errors


ASKING = """
import threading
array = jax.device_put(np.ones(1000)).block_until_ready()
asked = [0] * 4
def ask(number):
    while True:
        gmlake_jax.memory_stats(), gmlake_jax.is_asleep(), gmlake_jax.empty_cache()
        asked[number] += 1
for number in range(4):
    threading.Thread(target=ask, args=(number,), daemon=True).start()
settle(until=lambda: min(asked) > 10)
"""


def test_a_program_may_end_while_its_daemon_threads_ask(run_jax):
    run = run_jax(ASKING, GMLAKE="1")
    assert run.code == 0, run.errors[-2000:]
    assert not run.errors


SLOW = """
import threading
arrays = [jax.device_put(np.ones(1000)).block_until_ready()]
library = gmlake_jax.library.open_library()
calls = {
    "stats": lambda: library.stats(0), "reset_peaks": lambda: library.reset_peaks(0),
    "is_recording": lambda: library.is_recording(0), "mark": lambda: library.mark(0, "here"),
    "take": lambda: library.take(0, False), "begin_track": lambda: library.begin_track(0, "part"),
    "read_track": lambda: library.read_track(0, track, False), "is_asleep": lambda: library.is_asleep(0),
    "tag": lambda: library.tag(0, arrays[0].unsafe_buffer_pointer(), 1), "unprepared": lambda: library.unprepared(0),
    "shared_addresses": lambda: library.shared_addresses(0), "device_memory": lambda: library.device_memory(0),
    "ordinals": library.ordinals, "num_devices": library.num_devices, "state": library.state,
}
track = library.begin_track(0, "whole")
gaps = {}
def tick(name, over):  # how long this thread is kept from running
    last = time.perf_counter()
    while not over.is_set():
        time.sleep(0.001)
        now = time.perf_counter()
        gaps[name] = max(gaps.get(name, 0), now - last)
        last = now
def grow():
    arrays.append(jax.device_put(np.ones(16 * MIB, np.uint8)).block_until_ready())
took = 0.0
for name, call in calls.items():
    emulator.set_faults("cuMemCreate~100000")  # with the allocator's lock held
    over = threading.Event()
    threads = [threading.Thread(target=grow), threading.Thread(target=tick, args=(name, over))]
    begin = time.perf_counter()
    [thread.start() for thread in threads]
    while threads[0].is_alive():
        call()
        time.sleep(0.05)
    took = max(took, time.perf_counter() - begin)
    over.set()
    [thread.join() for thread in threads]
    emulator.set_faults("")
answer(gaps=gaps, took=took)
"""


def test_who_waits_for_the_allocator_does_not_stop_the_other_threads(run_jax):
    found = run_jax(SLOW, GMLAKE="1").answer
    assert found["took"] > 0.6, "nothing was slow, so nobody waited"
    assert {name: gap for name, gap in found["gaps"].items() if gap > 0.4} == {}
