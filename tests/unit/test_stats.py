"""Arithmetic on the allocator's numbers, and how they look on a terminal."""

import sys
import types

import pytest

import gmlake_jax
from gmlake_jax import stats
from gmlake_jax.errors import ConfigError, NotActiveError
from gmlake_jax.summary import format_comparison, format_summary

MIB = 1 << 20

RAW = {
    "bytes_in_use": 60 * MIB,
    "bytes_requested": 58 * MIB,
    "peak_bytes_in_use": 80 * MIB,
    "peak_bytes_requested": 79 * MIB,
    "bytes_reserved": 100 * MIB,
    "peak_bytes_reserved": 120 * MIB,
    "bytes_mapped": 130 * MIB,
    "bytes_limit": 1024 * MIB,
    "bytes_quarantined": 4 * MIB,
    "bytes_asleep": 0,
    "bytes_on_host": 0,
    "bytes_pending": 6 * MIB,
    "largest_alloc_size": 32 * MIB,
    "largest_free_block": 12 * MIB,
    "largest_servable": 954 * MIB,
    "bytes_stitchable": 28 * MIB,
    "bytes_small_free": 2 * MIB,
    "bytes_created": 150 * MIB,
    "bytes_released": 50 * MIB,
    "bytes_addresses": 8192 * MIB,
    "bytes_device_total": 4096 * MIB,
    "bytes_device_free": 3000 * MIB,
    "bytes_outside": 996 * MIB,
    "num_allocs": 1234,
    "num_frees": 1200,
    "num_live": 34,
    "num_failures": 2,
    "num_soft_failures": 1,
    "num_blocks": 9,
    "num_ranges": 11,
    "num_reservations": 2,
    "num_stitched_ranges": 2,
    "num_reclaimed_ranges": 1,
    "num_quarantined_blocks": 1,
    "num_free_pieces": 5,
    "num_stream_waits": 0,
    "num_device_waits": 0,
    "ways": {way: {"count": 1000, "bytes": 5 * MIB} for way in ("small", "reuse", "split", "stitch", "grow")},
    "driver_calls": {"create": 9, "map": 20, "set_access": 11, "unmap": 0, "time_us": 1500.0},
}

JAX_KEYS = {
    "num_allocs",
    "bytes_in_use",
    "peak_bytes_in_use",
    "largest_alloc_size",
    "bytes_limit",
    "bytes_reserved",
    "peak_bytes_reserved",
    "bytes_reservable_limit",
    "largest_free_block_bytes",
    "pool_bytes",
    "peak_pool_bytes",
}


class FakeDevice:
    """One device under the allocator, as the stand-in for the native library has it."""

    trimmed_to = None
    host_store_released = False
    limit = None

    def stats(self, index):
        return RAW

    def trim(self, index, target_bytes):
        self.trimmed_to = target_bytes
        return 7

    def release_host_store(self, index):
        self.host_store_released = True

    def device_memory(self, index):
        return 512 * MIB, 4096 * MIB

    def set_limit(self, index, limit_bytes):
        self.limit = limit_bytes
        if limit_bytes < RAW["bytes_in_use"]:
            raise RuntimeError("60.0 MiB are in use")

    def ordinals(self):
        return [0]


@pytest.fixture
def active(monkeypatch):
    device = FakeDevice()
    monkeypatch.setattr(stats, "open_library", lambda: device)
    monkeypatch.setattr(stats.process, "is_active", lambda: True)
    return device


def test_has_every_key_of_jax():
    assert set(stats.derive(RAW)) >= JAX_KEYS


def test_idle_is_what_is_held_and_neither_used_nor_waiting_nor_in_doubt():
    assert stats.derive(RAW)["bytes_idle"] == 30 * MIB


def test_fragmentation_is_the_idle_share_outside_the_largest_piece():
    assert stats.derive(RAW)["fragmentation"] == pytest.approx(1 - 12 / 30)


def test_nothing_idle_is_not_fragmented():
    assert stats.derive(RAW | {"bytes_in_use": 90 * MIB, "largest_free_block": 0})["fragmentation"] == 0


def test_numbers_that_do_not_change_when_derived():
    derived = stats.derive(RAW)
    assert {key: derived[key] for key in RAW} == RAW


def test_asking_before_it_is_active_says_why_it_is_not():
    with pytest.raises(NotActiveError, match="GMLAKE"):
        gmlake_jax.memory_stats(0)


def test_asking_for_a_device_that_is_not_there(active):
    with pytest.raises(NotActiveError, match="no device 3"):
        gmlake_jax.memory_stats(3)


def test_asking_for_a_device_that_is_no_gpu(active):
    with pytest.raises(NotActiveError, match="not a CUDA device"):
        gmlake_jax.memory_stats("cpu:0")


def test_the_cache_is_emptied_down_to_what_shall_be_kept(active):
    assert gmlake_jax.empty_cache(0, keep="2MiB") == 7
    assert active.trimmed_to == 2 * MIB
    assert active.host_store_released


def test_trimming_leaves_the_hosts_memory_alone(active):
    assert gmlake_jax.trim("3MiB", 0) == 7
    assert active.trimmed_to == 3 * MIB
    assert not active.host_store_released


def test_a_limit_can_be_a_size(active):
    gmlake_jax.set_memory_limit("1GiB", 0)
    assert active.limit == 1024 * MIB


def test_a_limit_can_be_a_share_of_the_device(active):
    gmlake_jax.set_memory_limit("25%", 0)
    assert active.limit == 1024 * MIB


@pytest.mark.parametrize("limit", ["1MiB", "plenty", 1])
def test_a_limit_that_cannot_be_set_says_why(active, limit):
    with pytest.raises(ConfigError, match=f"cannot be {limit}"):
        gmlake_jax.set_memory_limit(limit, 0)


def test_the_summary_shows_every_size_in_its_place():
    lines = format_summary(stats.derive(RAW), "a title").splitlines()
    assert lines[0] == "a title"
    table = {line[:34].strip(): line[34:].split() for line in lines}
    assert table["in use"] == ["60.0", "MiB", "80.0", "MiB"]
    assert table["reserved"] == ["100.0", "MiB", "120.0", "MiB"]
    assert table["limit"] == ["1.0", "GiB"]
    assert table["fragmentation of idle memory"] == ["60.0", "%"]
    assert table["refused"] == ["2"]
    assert "  driver calls: create 9, map 20, set_access 11" in lines
    assert "  time in them: 1.5 ms" in lines


def test_the_summary_fits_a_terminal():
    huge = stats.derive({key: value * 10**6 if isinstance(value, int) else value for key, value in RAW.items()})
    assert max(map(len, format_summary(huge, "t").splitlines())) <= 80


def test_the_summary_of_jaxs_own_allocator_shows_what_it_knows():
    text = format_summary({"bytes_in_use": MIB, "peak_bytes_in_use": MIB, "pool_bytes": -1}, "t")
    assert "in use" in text
    assert "1.0 MiB" in text
    assert "driver" not in text


def test_a_comparison_puts_readings_beside_each_other():
    text = format_comparison({"default": {"bytes_limit": MIB}, "gmlake": {}}, [("limit", "bytes_limit")])
    assert text.splitlines()[0].split() == ["default", "gmlake"]
    assert text.splitlines()[1].split() == ["limit", "1.0", "MiB", "-"]


def test_a_limit_above_the_devices_memory_is_refused(active):
    with pytest.raises(ConfigError, match=r"cannot be 8TiB: the device has 4.0 GiB in all"):
        gmlake_jax.set_memory_limit("8TiB", 0)
    assert active.limit is None


HUGE = [1 << 48, 1 << 63, 10**30, 10**5000, -1, "9" * 400, "99999999TiB"]


@pytest.mark.parametrize("number", HUGE, ids=range(len(HUGE)))
def test_numbers_out_of_all_bounds_are_refused_in_one_line(active, number):
    calls = (lambda: gmlake_jax.trim(number, 0), lambda: gmlake_jax.empty_cache(0, number))
    for call in calls:
        with pytest.raises(ValueError, match=r"size|must be") as error:
            call()
        assert str(error.value).isprintable()
        assert len(str(error.value)) < 500
    with pytest.raises(ConfigError):
        gmlake_jax.set_memory_limit(number, 0)


@pytest.mark.parametrize("device", [3, -1, 10**30, 10**5000, True], ids=["3", "-1", "huge", "long", "bool"])
def test_a_device_that_is_not_there_is_refused_whatever_its_number(active, device):
    with pytest.raises(NotActiveError) as error:
        gmlake_jax.memory_stats(device)
    assert str(error.value).isprintable()


def test_numpys_integers_are_numbers_too(active):
    numpy = pytest.importorskip("numpy")
    assert gmlake_jax.memory_stats(numpy.int32(0))["bytes_in_use"] == RAW["bytes_in_use"]


class Device:
    """A device of JAX."""

    platform = "gpu"

    def __init__(self, ordinal):
        self.local_hardware_id = ordinal

    def __str__(self):
        return f"cuda:{self.local_hardware_id}"

    def memory_stats(self):
        return {"bytes_in_use": self.local_hardware_id * MIB}


def test_a_number_is_a_cuda_ordinal_and_not_a_place_in_a_list(monkeypatch):
    jax = types.SimpleNamespace(local_devices=lambda: [Device(3), Device(1)])
    monkeypatch.setitem(sys.modules, "jax", jax)
    for ordinal in (3, 1):
        assert f"cuda:{ordinal}." in gmlake_jax.memory_summary(ordinal)
        assert f"{ordinal}.0 MiB" in gmlake_jax.memory_summary(ordinal)
    with pytest.raises(NotActiveError, match="no device 0 in this process; it has 3, 1"):
        gmlake_jax.memory_summary(0)
