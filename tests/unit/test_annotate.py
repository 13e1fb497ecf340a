"""Names for what a thread asks for: one object may be entered by several threads, and more than once."""

import threading

import pytest

import gmlake_jax
from gmlake_jax import recording


class Labels:
    """Keeps a label for each thread, as the native library does."""

    def __init__(self):
        self.local, self.names = threading.local(), [""]

    def current(self):
        return self.names[getattr(self.local, "label", 0)]

    def enter_label(self, name):
        before = getattr(self.local, "label", 0)
        self.names.append(f"{self.names[before]}/{name}")
        self.local.label = len(self.names) - 1
        return before

    def leave_label(self, before):
        self.local.label = before


@pytest.fixture
def labels(monkeypatch):
    fake = Labels()
    monkeypatch.setattr(recording, "open_library", lambda: fake)
    monkeypatch.setattr(recording.process, "may_become_active", lambda: True)
    return fake


def test_two_threads_in_one_object_keep_their_own_names(labels):
    shared = gmlake_jax.annotate("shared")
    one_inside, two_inside, one_left = threading.Event(), threading.Event(), threading.Event()
    seen = {}

    def one():
        with gmlake_jax.annotate("one"):
            with shared:
                one_inside.set()
                two_inside.wait(60)
            seen["one"] = labels.current()
            one_left.set()

    def two():
        one_inside.wait(60)
        with gmlake_jax.annotate("two"):
            with shared:
                two_inside.set()
                one_left.wait(60)
                seen["two, inside"] = labels.current()
            seen["two"] = labels.current()

    threads = [threading.Thread(target=work) for work in (one, two)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {"one": "/one", "two, inside": "/two/shared", "two": "/two"}


def test_an_object_may_be_entered_again_inside_of_itself(labels):
    name = gmlake_jax.annotate("a")
    with name, name:
        assert labels.current() == "/a/a"
    assert labels.current() == ""
    assert name._before == {}
