"""Clang's thread safety analysis of our C++ finds nothing: guarded data is touched, and functions that need a mutex are
called, with the mutex held (cc/base/mutex.h). libclang, a package of PyPI, runs it; no compiler has to be installed.
"""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
from clang import cindex

ROOT = Path(__file__).resolve().parents[2]
ANNOTATED = re.compile(r"\bMutex(Lock|Unlock)?\b|\bGMLAKE_(GUARDED_BY|REQUIRES)\b")
FLAGS = ["-x", "c++", "-std=c++17", "-Wthread-safety", f"-I{ROOT}"]
NO_INTRINSICS = ["-U__SSE__", "-U__SSE2__", "-U__SSSE3__"]  # the compiler's headers for them are not for Clang
OUR_WORDS = {"thread-safety-analysis", "thread-safety-attributes", "thread-safety-precise", "thread-safety-reference"}

SOURCES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "cc").rglob("*.cc"))


@cache
def builtin_headers():
    """The wheel of libclang lacks the compiler's own headers, so it gets those of the compiler that is here."""
    found = subprocess.run(["g++", "-print-file-name=include"], capture_output=True, text=True, check=True)
    return ["-isystem", found.stdout.strip()]


@cache
def external_headers():
    """CUDA's and XLA's headers, where Bazel has put them; without a build there are none."""
    patterns = ("cuda_runtime_wheel/nvidia/*/include", "tensorflow_wheel/tensorflow/include")
    folders = [path for each in patterns for path in sorted(ROOT.glob(f"bazel-*/external/{each}"))]
    return [flag for folder in folders for flag in ("-isystem", str(folder))]


def text_with_own_headers(source):
    path = ROOT / source
    header = path.with_suffix(".h")
    return path.read_text() + (header.read_text() if header.exists() else "")


def diagnostics(path):
    """(whether it is an error, its option, its text), of each; they do not outlive the parsed file."""
    flags = [*FLAGS, *NO_INTRINSICS, *builtin_headers(), *external_headers()]
    unit = cindex.Index.create().parse(str(path), args=flags)
    return [(each.severity >= cindex.Diagnostic.Error, each.option, str(each)) for each in unit.diagnostics]


def findings(found):
    return [text for _, option, text in found if option.removeprefix("-W") in OUR_WORDS]


@pytest.mark.parametrize("source", [s for s in SOURCES if ANNOTATED.search(text_with_own_headers(s))])
def test_no_guarded_data_is_touched_without_its_mutex(source):
    found = diagnostics(ROOT / source)
    errors = [text for is_error, _, text in found if is_error]
    if any("file not found" in error for error in errors) and not external_headers():
        pytest.skip("the headers of CUDA and XLA come with a build")
    assert not errors, "the file could not be read"
    assert findings(found) == []


BROKEN = """
#include "cc/base/mutex.h"
class Counter {
 public:
  void Add() { ++count_; }
  void AddTwice() { AddOne(); gmlake::MutexLock lock(&mutex_); AddOne(); }
  int Read() { gmlake::MutexLock lock(&mutex_); gmlake::MutexUnlock unlocked(&mutex_); return count_; }
 private:
  void AddOne() GMLAKE_REQUIRES(mutex_) { ++count_; }
  gmlake::Mutex mutex_;
  int count_ GMLAKE_GUARDED_BY(mutex_) = 0;
};
"""


def test_a_missing_lock_is_seen(tmp_path):
    broken = tmp_path / "broken.cc"
    broken.write_text(BROKEN)
    found = findings(diagnostics(broken))
    assert [int(re.search(r"broken.cc:(\d+)", each)[1]) for each in found] == [5, 6, 7]


def test_every_mutex_of_the_product_is_annotated():
    plain = re.compile(r"\bstd::(mutex|lock_guard|unique_lock)\b")
    product = [p for p in (ROOT / "cc").rglob("*.[hc]*") if p.suffix in (".h", ".cc")]
    apart = ("emulator", "safety", "testing")  # an emulated driver and fixtures
    ours = [p for p in product if not set(apart) & set(p.relative_to(ROOT / "cc").parts) and "_test" not in p.name]
    assert [p.relative_to(ROOT).as_posix() for p in ours if plain.search(p.read_text())] == ["cc/base/mutex.h"]
