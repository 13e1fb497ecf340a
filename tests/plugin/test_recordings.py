"""Snapshots, recordings, annotations and tracks of a real JAX client; scenarios whose numbers are known beforehand."""

from emulated import emulated

MIB = 1 << 20


@emulated()
def test_a_snapshot_adds_up_to_the_statistics():
    from programs import filled

    import gmlake_jax

    arrays = [filled(size, 1).block_until_ready() for size in (8, 4, 16)]
    shot = gmlake_jax.snapshot()
    assert shot.reserved_bytes == shot.stats["bytes_reserved"] == gmlake_jax.memory_stats()["bytes_reserved"]
    assert shot.live_bytes == shot.stats["bytes_in_use"]
    assert len(shot.leases) == shot.stats["num_live"]
    addresses = {array.unsafe_buffer_pointer() for array in arrays}
    assert addresses <= set(shot.leases["address"].tolist())
    assert {8 * MIB, 4 * MIB, 16 * MIB} <= set(shot.leases["requested"].tolist())


@emulated()
def test_a_lease_carries_the_names_of_what_asked_for_it():
    import jax
    from programs import filled

    import gmlake_jax

    def label_of(array):
        shot = gmlake_jax.snapshot()
        place = array.unsafe_buffer_pointer()
        [row] = [lease for lease in shot.leases if lease["address"] == place]
        return shot.annotation(int(row["annotation"]))

    double = jax.jit(lambda x: x + x)
    with gmlake_jax.annotate("outer"), gmlake_jax.annotate("inner"):
        put, computed = filled(4, 1), double(filled(4, 1))
    assert label_of(put) == "outer/inner"
    assert label_of(computed) == "outer/inner/jit__lambda"
    assert label_of(double(put)) == "jit__lambda"
    assert label_of(filled(4, 1)) == ""


@emulated()
def test_a_decorated_function_is_annotated_each_time():
    from programs import filled

    import gmlake_jax

    @gmlake_jax.annotate("loading")
    def load():
        """Doc."""
        return filled(4, 1)

    assert load.__doc__ == "Doc."
    keep = [load(), load()]
    shot = gmlake_jax.snapshot()
    assert [shot.annotation(int(index)) for index in shot.leases["annotation"]].count("loading") == len(keep)


@emulated()
def test_a_recording_has_every_request_and_free_in_order():
    from programs import filled, settle

    import gmlake_jax
    from gmlake_jax.history import Kind

    filled(1, 0).block_until_ready()
    settle(until=lambda: gmlake_jax.memory_stats()["bytes_in_use"] == 0)
    with gmlake_jax.record() as recorder:
        array = filled(8, 1).block_until_ready()
        place = array.unsafe_buffer_pointer()
        gmlake_jax.mark("deleting")
        array.delete()
        settle(until=lambda: gmlake_jax.memory_stats()["bytes_in_use"] == 0)
    events = recorder.read().events
    mine = [(Kind(e["kind"]), int(e["size"])) for e in events if e["address"] == place and e["kind"] < 2]
    assert mine == [(Kind.ALLOC, 8 * MIB), (Kind.FREE, 8 * MIB)]
    assert Kind.MARK in events["kind"]
    assert (events["time_ns"][1:] >= events["time_ns"][:-1]).all()
    assert recorder.read().dropped == 0


@emulated()
def test_a_recording_keeps_the_last_events_and_stops():
    from programs import filled

    import gmlake_jax

    recorder = gmlake_jax.record(max_events=3)
    arrays = [filled(1, 1).block_until_ready() for _ in range(10)]
    first = recorder.stop()
    assert len(first.events) == 3
    assert first.dropped > 0
    arrays += [filled(1, 1).block_until_ready()]
    assert recorder.stop() is first
    assert not gmlake_jax.library.open_library().is_recording(0)


@emulated()
def test_two_recordings_at_once_are_an_error():
    import pytest
    from programs import filled

    import gmlake_jax

    filled(1, 1)
    with gmlake_jax.record(), pytest.raises(gmlake_jax.GmlakeError, match="recorded already"):
        gmlake_jax.record()
    gmlake_jax.record().stop()


@emulated()
def test_what_the_library_writes_is_what_python_reads():
    from programs import filled

    import gmlake_jax
    from gmlake_jax.history import load_recording, load_snapshot
    from gmlake_jax.library import open_library

    with gmlake_jax.annotate("näme"):
        array = filled(8, 1).block_until_ready()
    with gmlake_jax.record() as recorder:
        array.delete()
        open_library().write(0, "recording.npz", with_events=True)
        open_library().write(0, "snapshot.npz", with_events=False)
        mine = recorder.read()
    written = load_recording("recording.npz")
    assert written.events.tobytes() == mine.events.tobytes()
    assert written.annotations == mine.annotations
    assert "näme" in written.annotations
    assert written.about.device_name == mine.about.device_name
    assert written.about.program == mine.about.program != ""
    assert written.end.blocks.tobytes() == mine.end.blocks.tobytes()
    assert load_snapshot("snapshot.npz").mappings.tobytes() == mine.end.mappings.tobytes()
    assert set(mine.end.stats) > set(written.end.stats), "derived numbers come on top"


@emulated()
def test_a_track_measures_what_its_block_does():
    from programs import filled, settle

    import gmlake_jax

    base = filled(4, 1).block_until_ready()
    settle(until=lambda: gmlake_jax.memory_stats()["bytes_in_use"] == base.nbytes)
    with gmlake_jax.track() as t:
        array = filled(8, 1).block_until_ready()
        with gmlake_jax.track() as inner:
            filled(16, 1).block_until_ready().delete()
            settle(until=lambda: gmlake_jax.memory_stats()["bytes_in_use"] == 12 * MIB)
    assert (t.bytes_at_start, t.peak_bytes, t.net_bytes) == (4 * MIB, 28 * MIB, 8 * MIB)
    assert (t.peak_increase, t.num_allocs, t.num_frees, t.bytes_allocated) == (24 * MIB, 2, 1, 24 * MIB)
    assert (inner.bytes_at_start, inner.peak_bytes, inner.net_bytes, inner.num_allocs) == (12 * MIB, 28 * MIB, 0, 1)
    assert array.nbytes == 8 * MIB
    assert "peak 28.0 MiB (24.0 MiB above the start), net 8.0 MiB, 2 requests" in str(t)


@emulated(variables={"GMLAKE_LIMIT": "256MiB"})
def test_a_track_sees_stitched_bytes():
    from programs import filled, settle

    import gmlake_jax

    arrays = [filled(8, i).block_until_ready() for i in range(30)]
    for array in arrays[::2]:
        array.delete()
    settle(until=lambda: gmlake_jax.memory_stats()["bytes_in_use"] == 120 * MIB)
    with gmlake_jax.track() as t:
        filled(96, 1).block_until_ready()
    assert t.bytes_stitched == 96 * MIB


@emulated()
def test_a_name_counts_its_own_from_every_thread():
    import threading

    from programs import filled

    import gmlake_jax

    filled(1, 1).block_until_ready()
    keep = []

    def work(megabytes):
        with gmlake_jax.track("worker"):
            keep.append(filled(megabytes, 1).block_until_ready())

    with gmlake_jax.track("main") as t:
        threads = [threading.Thread(target=work, args=(size,)) for size in (2, 4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        keep.append(filled(8, 1).block_until_ready())
    assert t.bytes_allocated == 8 * MIB, "threads have labels of their own"
    assert t.device.bytes_allocated == 14 * MIB
    totals = gmlake_jax.tracked()["worker"]
    assert totals.calls == 2
    assert totals.bytes_allocated >= 6 * MIB
    assert totals.net_bytes >= 6 * MIB


@emulated()
def test_a_tracked_function_goes_by_its_name():
    from programs import filled

    import gmlake_jax

    keep = []

    @gmlake_jax.track()
    def build(megabytes):
        keep.append(filled(megabytes, 1).block_until_ready())
        return megabytes

    assert [build(2), build(4)] == [2, 4]
    [(name, totals)] = gmlake_jax.tracked().items()
    assert name.endswith("build")
    assert (totals.calls, totals.bytes_allocated, totals.peak_increase) == (2, 6 * MIB, 4 * MIB)


@emulated(devices=2)
def test_devices_are_known_by_their_ordinals():
    import jax

    jax.config.update("jax_cuda_visible_devices", "1")
    from programs import filled

    import gmlake_jax
    from gmlake_jax.library import open_library
    from gmlake_jax.stats import served_devices

    kept = filled(4, 1).block_until_ready()
    assert open_library().ordinals() == [1]
    assert served_devices() == [1]
    assert gmlake_jax.memory_stats(1)["bytes_in_use"] >= kept.nbytes
    assert gmlake_jax.snapshot().about.device == 1
    assert gmlake_jax.memory_stats() == gmlake_jax.memory_stats(1)


@emulated()
def test_annotations_cost_nothing_worth_mentioning_and_leave_no_trace():
    import time

    import gmlake_jax

    start = time.process_time()
    for _ in range(10_000):
        with gmlake_jax.annotate("quick"):
            pass
    assert time.process_time() - start < 1, "100 us each would be far too much"
