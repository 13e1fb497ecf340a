"""What people get wrong in a call of a public function: one clear line each, before anything has happened."""

import pytest
from emulated import emulated


def complaints(calls):
    """The error of each call, which must be one line, and none of the binding's own."""
    found = []
    for call in calls:
        try:
            call()
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
        else:
            text = "nothing"
        assert "\n" not in text, text
        assert "incompatible function arguments" not in text
        found.append(text)
    return found


def check(expected):
    """`expected`: pairs of a call and words of the complaint."""
    said = complaints([call for call, _ in expected])
    wrong = [(words, text) for (_, words), text in zip(expected, said, strict=True) if words not in text]
    assert not wrong, wrong


@emulated(memory="256MiB")
def test_sleep_and_wake():
    import jax
    import pytest
    from programs import filled

    import gmlake_jax as g

    filled(1, 1).block_until_ready()
    host = jax.devices("cpu")[0]
    check(
        [
            (lambda: g.sleep(level="2"), "SleepError: level='2': 1 keeps"),
            (lambda: g.sleep(tags="cache"), "TypeError: tags takes names in a list, such as ['kv_cache']"),
            (lambda: g.sleep(tags=3), "TypeError: tags takes names in a list"),
            (lambda: g.sleep(tags=["never"]), "SleepError: no array was tagged never; tags are none"),
            (lambda: g.sleep(timeout="1"), "TypeError: timeout takes seconds, a number; this is str '1'"),
            (lambda: g.sleep(timeout=-1), "ValueError: timeout takes seconds from 0"),
            (lambda: g.sleep(timeout=float("inf")), "ValueError: timeout takes seconds from 0"),
            (lambda: g.sleep(timeout=float("nan")), "ValueError: timeout takes seconds from 0"),
            (lambda: g.sleep(device=7), "NotActiveError: gmlake_jax serves no device 7"),
            (lambda: g.sleep(device=host), "is not a CUDA device"),
            (lambda: g.prepare_sleep("lots"), "ValueError: 'lots' is not a size, such as 20GiB"),
            (lambda: g.prepare_sleep(-1), "ValueError: prepare_sleep is -1; it must be at least 0"),
            (lambda: g.prepare_sleep(1 << 45), "SleepError: the host has "),
            (lambda: g.wake("cuda:0"), "NotActiveError: cuda:0 is not a CUDA device"),
            (lambda: g.is_asleep(host), "is not a CUDA device"),
        ]
    )
    assert not g.is_asleep(), "nothing has happened"
    with g.asleep(), pytest.raises(g.SleepError, match="asleep already"), g.asleep():
        pass
    assert not g.is_asleep()


@emulated(memory="256MiB")
def test_tags():
    import numpy as np
    from programs import filled

    import gmlake_jax as g

    array, gone = filled(1, 1), filled(1, 2)
    gone.delete()
    check(
        [
            (lambda: g.tag("a", [3]), "TypeError: tag takes arrays of JAX in a tree; this is int 3"),
            (lambda: g.tag("a", np.zeros(3)), "TypeError: tag takes arrays of JAX in a tree; this is ndarray"),
            (lambda: g.tag(3, [array]), "TypeError: tag takes a name, a str; this is int 3"),
            (lambda: g.tag("", [array]), "ValueError: tag takes a name; this one is empty"),
            (lambda: g.tag("a", gone), "SleepError: uint8[1048576] is deleted"),
            (lambda: g.tag("a", [array], disposable=True), "nothing"),
            (lambda: g.tag("a", [array]), "the tag a was disposable=True before"),
        ]
    )


@emulated(memory="256MiB")
def test_tracks_and_names():
    from programs import filled

    import gmlake_jax as g

    filled(1, 1).block_until_ready()
    check(
        [
            (lambda: g.track(3), "TypeError: track takes a name, a str; this is int 3"),
            (lambda: g.track(len), "as a decorator, write @track(...) with parentheses"),
            (lambda: g.track("a")(3), "TypeError: track('a') takes a function; this is int 3"),
            (lambda: g.track(device=9).__enter__(), "NotActiveError: gmlake_jax serves no device 9"),
            (lambda: g.annotate(None), "TypeError: annotate takes a name, a str; this is NoneType None"),
            (lambda: g.annotate(len), "as a decorator, write @annotate(...) with parentheses"),
            (lambda: g.annotate("a\0b"), "ValueError: annotate: a name is made of printable characters"),
            (lambda: g.annotate("\ud800"), "ValueError: annotate: a name is made of printable characters"),
            (lambda: g.annotate("a")(3), "TypeError: annotate('a') takes a function; this is int 3"),
            (lambda: g.mark(3), "TypeError: mark takes a name, a str; this is int 3"),
            (lambda: g.mark("a", 9), "NotActiveError: gmlake_jax serves no device 9"),
        ]
    )


@emulated(memory="256MiB")
def test_recordings_callbacks_and_sizes():
    import jax
    from programs import filled

    import gmlake_jax as g

    filled(1, 1).block_until_ready()
    host = jax.devices("cpu")[0]
    check(
        [
            (lambda: g.record("10"), "TypeError: max_events takes a whole number; this is str '10'"),
            (lambda: g.record(0), "ValueError: max_events is 0; it must be at least 1"),
            (lambda: g.record(1 << 47), "GmlakeError: a recording of 140737488355328 events: expected at most"),
            (lambda: g.record(device=host), "is not a CUDA device"),
            (lambda: g.snapshot(host), "is not a CUDA device"),
            (lambda: g.snapshot().save("/nowhere/a.npz"), "/nowhere/a.npz: cannot be written"),
            (lambda: g.on_oom(3), "TypeError: on_oom takes a function; this is int 3"),
            (lambda: g.trim(1.5), "TypeError: trim takes a whole number; this is float 1.5"),
            (lambda: g.trim(-1), "ValueError: trim is -1; it must be at least 0"),
            (lambda: g.trim("lots"), "ValueError: 'lots' is not a size, such as 20GiB"),
            (lambda: g.empty_cache(keep=None), "TypeError: empty_cache takes a whole number; this is NoneType None"),
            (lambda: g.set_memory_limit([]), "ConfigError: the limit cannot be []"),
        ]
    )


@pytest.mark.parametrize("allocator", ["default"])
@emulated()
def test_where_the_allocator_is_not_active(allocator):
    import gmlake_jax as g

    inactive = [
        g.sleep,
        g.wake,
        g.is_asleep,
        g.snapshot,
        g.record,
        lambda: g.trim(0),
        lambda: g.track().__enter__(),
        lambda: g.set_memory_limit("80%"),
    ]
    assert all("NotActiveError: gmlake_jax is not active: " in text for text in complaints(inactive))
    assert complaints([lambda: g.annotate("a").__enter__(), lambda: g.mark("a")]) == ["nothing", "nothing"]
