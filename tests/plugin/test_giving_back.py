"""Idle memory goes back unasked: for the plugin's own allocations, for others on the device, and when all is quiet."""

import os
import pty
import time
from contextlib import contextmanager

import pytest
from emulated import emulated

MIB = 1 << 20


def fill_and_drop(megabytes):
    """Leaves about `megabytes` idle."""
    from programs import filled, settle

    import gmlake_jax

    before = gmlake_jax.memory_stats()["bytes_in_use"] if gmlake_jax.is_active() else 0
    arrays = [filled(16, i).block_until_ready() for i in range(megabytes // 16)]
    arrays.clear()
    settle(until=lambda: gmlake_jax.memory_stats()["bytes_in_use"] <= before)


def allocate(megabytes):
    """A neighbour's plain allocation; None where the device is full."""
    import ctypes

    pointer = ctypes.c_uint64()
    result = ctypes.CDLL("libcuda.so.1").cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(megabytes * MIB))
    return None if result else pointer


@contextmanager
def captured_errors(ends):
    """What anybody, the allocator too, writes to standard error meanwhile: a list that gets the text at the end.
    `ends` makes the two ends of what stands there: os.pipe, or pty.openpty for a terminal."""
    reading, writing = ends()
    before, text = os.dup(2), []
    os.dup2(writing, 2)
    try:
        yield text
    finally:
        os.write(2, b"\0")
        os.dup2(before, 2)
        got = b""
        while not got.endswith(b"\0"):
            got += os.read(reading, 1 << 16)
        text.append(got.decode())


def refusal(megabytes):
    """The error of a request that must fail, and the seconds that it took."""
    import jax
    import numpy as np

    content = np.full(megabytes * MIB, 2, np.uint8)
    begin = time.monotonic()
    with pytest.raises(Exception, match="RESOURCE_EXHAUSTED") as failure:
        jax.device_put(content).block_until_ready()
    return str(failure.value), time.monotonic() - begin


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


@emulated(memory="512MiB")
def test_a_module_that_finds_the_device_full_gets_what_is_idle():
    import jax
    from programs import filled

    import gmlake_jax
    from gmlake_jax import emulator

    filled(1, 1).block_until_ready()
    fill_and_drop(320)
    before = gmlake_jax.memory_stats()["bytes_reserved"]
    emulator.set_faults("cuModuleLoad*@1")
    jax.jit(lambda x: x * 3 + 1)(filled(1, 2)).block_until_ready()
    assert gmlake_jax.memory_stats()["bytes_reserved"] < before / 2


@emulated(memory="512MiB", variables={"GMLAKE_IDLE_TRIM": "1"})
def test_a_quiet_program_gives_all_that_is_idle_back():
    from programs import filled

    import gmlake_jax

    kept = filled(16, 7).block_until_ready()
    fill_and_drop(256)
    assert wait_for(lambda: gmlake_jax.memory_stats()["bytes_reserved"] <= 34 * MIB)
    assert kept.nbytes == 16 * MIB


@emulated(memory="512MiB")
def test_without_being_told_it_keeps_what_it_has():
    import gmlake_jax

    fill_and_drop(256)
    time.sleep(3)
    assert gmlake_jax.memory_stats()["bytes_reserved"] >= 256 * MIB


@emulated(memory="512MiB")
def test_a_device_that_others_fill_gets_what_was_not_needed_for_a_while():
    import gmlake_jax

    fill_and_drop(320)
    assert allocate(150) is not None
    assert wait_for(lambda: gmlake_jax.memory_stats()["bytes_reserved"] <= 310 * MIB)


@emulated(memory="256MiB", variables={"GMLAKE_WAIT": "20"})
def test_a_full_device_is_waited_for():
    import ctypes
    import threading

    from programs import filled

    filled(1, 1).block_until_ready()
    pointer = allocate(200)
    threading.Timer(0.5, lambda: ctypes.CDLL("libcuda.so.1").cuMemFree_v2(pointer)).start()
    filled(100, 2).block_until_ready()


@emulated(memory="256MiB", variables={"GMLAKE_WAIT": "4"})
def test_a_device_that_stays_full_is_waited_for_so_long_and_then_the_report_comes():
    from programs import filled

    filled(1, 1).block_until_ready()
    assert allocate(200) is not None
    with captured_errors(os.pipe) as errors:
        said, seconds = refusal(100)
    assert 4 <= seconds < 8, "the wait is as long as was asked for, once"
    assert "asked for 100.0 MiB" in said
    assert "something outside gmlake_jax holds it" in said
    assert errors[0].count("out of memory on device 0") == 1
    assert "outside gmlake_jax" in errors[0]


def put(megabytes):
    from programs import filled

    filled(megabytes, 2).block_until_ready()


def run_a_program(megabytes):
    import jax
    import jax.numpy as jnp

    jax.block_until_ready(jax.jit(lambda: jnp.ones(megabytes * MIB, jnp.uint8))())


def put_on_three_threads(megabytes):
    import threading

    refused = []
    for _ in range(3):
        threading.Thread(target=lambda: refused.append(refusal(megabytes))).start()
    try:
        wait_for(lambda: len(refused) == 3)
    finally:
        assert wait_for(lambda: len(refused) == 3)


REQUESTS = {request.__name__: request for request in (put, run_a_program, put_on_three_threads)}


@pytest.mark.parametrize("name", REQUESTS)
@emulated(memory="256MiB", variables={"GMLAKE_WAIT": "60"})
def test_ctrl_c_ends_the_wait_for_a_full_device(name):
    import ctypes
    import signal
    import threading

    from programs import filled, is_filled

    filled(1, 1).block_until_ready()
    neighbour = allocate(200)
    handler = signal.getsignal(signal.SIGINT)
    threading.Timer(1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        REQUESTS[name](100)
    assert 0.9 < time.monotonic() - begin < 20, "neither before the signal nor after the whole wait"
    assert ctypes.CDLL("libcuda.so.1").cuMemFree_v2(neighbour) == 0
    assert is_filled(filled(100, 3), 3)
    assert signal.getsignal(signal.SIGINT) is handler
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


@emulated(memory="256MiB", variables={"GMLAKE_WAIT": "3"})
def test_where_sigint_is_ignored_the_wait_goes_on():
    import signal
    import threading

    from programs import filled

    filled(1, 1).block_until_ready()
    assert allocate(200) is not None
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    _, seconds = refusal(100)
    assert seconds >= 3


@emulated(memory="256MiB", variables={"GMLAKE_WAIT": "20", "GMLAKE_LIMIT": "100MiB"})
def test_nobody_waits_for_others_where_the_limit_refuses():
    from programs import filled

    filled(1, 1).block_until_ready()
    said, seconds = refusal(150)
    assert "Over the limit" in said
    assert seconds < 15


@emulated(memory="256MiB")
def test_a_full_device_is_not_waited_for_unasked():
    from programs import filled

    filled(1, 1).block_until_ready()
    assert allocate(200) is not None
    said, seconds = refusal(100)
    assert "something outside gmlake_jax holds it" in said
    assert seconds < 5


def preallocation_lines(ends):
    """What is said of taking memory in advance when the device is first used."""
    from programs import filled

    with captured_errors(ends) as errors:
        filled(1, 1).block_until_ready()
    return [line for line in errors[0].replace("\n", "\r").split("\r") if "taken in advance" in line]


PREALLOCATING = {"GMLAKE_PREALLOCATE": "1", "GMLAKE_LIMIT": "160MiB", "TF_CPP_MIN_LOG_LEVEL": "3"}


@emulated(memory="256MiB", variables=PREALLOCATING)
def test_taking_memory_in_advance_is_a_line_that_grows_on_a_terminal():
    lines = preallocation_lines(pty.openpty)
    assert [line.strip() for line in lines] == [
        f"gmlake_jax: device 0: {step}.0 MiB of 160.0 MiB taken in advance" for step in range(10, 170, 10)
    ]


@emulated(memory="256MiB", variables=PREALLOCATING)
def test_taking_memory_in_advance_is_one_line_elsewhere():
    assert preallocation_lines(os.pipe) == ["gmlake_jax: device 0: 160.0 MiB of 160.0 MiB taken in advance"]


@emulated(memory="256MiB", variables={"GMLAKE_PREALLOCATE": "1", "GMLAKE_IDLE_TRIM": "1"})
def test_what_was_taken_in_advance_stays():
    from programs import filled

    import gmlake_jax

    filled(1, 1).block_until_ready()
    time.sleep(3)
    stats = gmlake_jax.memory_stats()
    assert stats["bytes_reserved"] == stats["bytes_limit"]
