"""Feeds damaged input to everything that reads: a program of its own, so that its memory can be measured.

`python fuzzing.py PART FIRST LAST` tries the inputs of these seeds and prints as JSON how many there were, what went
wrong (the first of each kind), the processor time of the slowest, and the most memory that was ever held. Wrong is
anything but success or one line of ours that names the file. tests/unit/test_fuzz.py says what is asked.
"""

import contextlib
import io
import json
import os
import sys
import tempfile
import time
import traceback
import types
import warnings
from pathlib import Path
from types import MappingProxyType

import damage
import numpy as np

import gmlake_jax
from gmlake_jax import config, live_page, recording, sleeping, stats
from gmlake_jax.commands import main as command_line
from gmlake_jax.errors import ConfigError, GmlakeError

MOST_MESSAGE = 2000


class WrongError(Exception):
    """An answer that is neither a result nor one line."""


def check_line(text, name=""):
    if not (text and text.isprintable() and len(text) < MOST_MESSAGE and name in text):
        raise WrongError(f"not one line that names {name!r}: {text[:300]!r}")


def run_verb(argv):
    """Exit code and standard error of a verb."""
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        try:
            code = command_line.main(argv)
        except SystemExit as end:  # argparse
            code = end.code
    return code, errors.getvalue()


# --- files

OUTPUTS = ("OUT.npz", "OUT.json", "OUT.pickle", "OUT.perfetto.json", "OUT.csv", "OUT.trace.npz")
HISTORY_VERBS = (
    *(["convert", "IN", output, "--force"] for output in OUTPUTS),
    *(["compare", "IN", "IN"], ["compare", "IN", "IN", "--peak", "--by", "size", "--json"]),
    *(["replay", "IN"], ["replay", "IN", "--find-min-limit", "--json"]),
    *(["report", "IN", "-o", "OUT.html", "--force"], ["report", "IN", "-o", "OUT.html", "--force", "--no-compare"]),
)
STATS_VERBS = (["stats", "IN"], ["stats", "IN", "--device", "3", "--json"], ["summary", "IN", "--device", "3"])


def try_file(kind, seed):
    verbs = STATS_VERBS if kind == "stats" else HISTORY_VERBS
    name = f"damaged.{kind}"
    Path(name).write_bytes(damage.damaged(kind, seed))
    code, errors = run_verb([name if word == "IN" else word for word in verbs[seed % len(verbs)]])
    check_outcome(code, errors, name)


PICTURES = ("timeline", "layout", "fragmentation", "compare")
PLOT_VERBS = tuple(["plot", "IN", "--kind", picture, "-o", "OUT.svg", "--force"] for picture in PICTURES)


def try_picture(_, seed):
    """Pictures take a while each, so few are drawn."""
    name = "damaged.file"
    kind = ("npz", "json", "torch", "trace")[seed // len(PLOT_VERBS) % 4]
    Path(name).write_bytes(damage.damaged(kind, seed))
    code, errors = run_verb([name if word == "IN" else word for word in PLOT_VERBS[seed % len(PLOT_VERBS)]])
    check_outcome(code, errors, name)


def check_outcome(code, errors, name):
    if code == 0:
        if errors:
            raise WrongError(f"succeeded, and said {errors[:300]!r}")
        return
    if code not in (1, 2) or errors.count("\n") != 1:
        raise WrongError(f"ended with {code} and {errors.count(chr(10))} lines: {errors[:300]!r}")
    check_line(errors.rstrip("\n"), name)


# --- the page of gmlake top

DEVICE = {
    **dict.fromkeys(("bytes_in_use", "bytes_reserved", "bytes_limit", "bytes_idle", "num_allocs", "num_failures"), 5),
    "fragmentation": 0.5,
    "driver_calls": {"map": 1, "time_us": 2.5},
}


def try_page(_, seed):
    pid = os.getpid()
    content = {"pid": pid, "started": live_page.start_of_process(pid), "program": "train.py", "time": 1.5}
    content |= {"ordinals": [0, 3], "devices": [DEVICE, DEVICE]}
    folder = Path("pages")
    folder.mkdir(exist_ok=True)
    live_page.page_path(folder).write_bytes(damage.page(damage.Damage([seed, 77]), content))
    live_page.running_pages.__defaults__ = (folder,)
    code, errors = run_verb(["top", "--once"] if seed % 2 else ["top", "--json"])
    if code not in (0, 1) or errors:
        raise WrongError(f"ended with {code}: {errors[:300]!r}")


# --- options, and arguments of functions

NUMBERS = ("0", "-1", "-0", "1.5", "1e9", "1e400", "1e-400", "nan", "inf", "-inf", "0x10", "1_000", "+5", "٣", "²")
HUGE = ("9" * 30, "9" * 400, "9" * 5000, f"0.{'9' * 5000}", "99999999TiB", "9e9TiB", 10**5000, -(10**5000))
SHARES = ("1TiB%", "100.1%", "0%", "101%", "%", "0.5-", "0.5-0.4", "0.5+", "1+1", "9.9")
STRINGS = ("", " ", "x" * 100_000, "\x1b[2J", "line\nline", "\ud800", "nul\0", "%p", b"x", (), object)
PATHS = ("~", "~/x", ".", "/", "/dev/null", "/dev/zero", "/proc/self/x", "/nowhere/at/all", "~nobody-here/x")
LONG_PATHS = ("a" * 300, "a/" * 3000)
VALUES = (*NUMBERS, *HUGE, *SHARES, *STRINGS, *PATHS, *LONG_PATHS, *damage.ODD_VALUES, np.int64(-5), np.float64("nan"))
TEXTS = tuple(value for value in VALUES if isinstance(value, str))
VARIABLES = (*config._NAME_OF_VARIABLE, "XLA_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_ALLOCATOR", "GMLAKE_UNKNOWN")


def try_option(_, seed):
    chance = damage.Damage([seed, 78])
    try:
        if seed % 2:
            config.read_options({"GMLAKE": "1", chance.one_of(VARIABLES): chance.one_of(TEXTS)})
        else:
            config.read_options({"GMLAKE": "1"}, **{chance.one_of(list(config._FIELDS)): chance.one_of(VALUES)})
    except ConfigError as error:
        check_line(str(error))


class Native:
    """Takes what the native library takes: numbers of 64 bits. Anything else must not come so far."""

    answers = MappingProxyType({"ordinals": [0], "device_memory": (1 << 29, 1 << 30), "unprepared": 0})

    def __getattr__(self, name):
        def call(*arguments, **named):
            for value in (*arguments, *named.values()):
                check_taken(name, value)
            return self.answers.get(name, False)

        return call


def check_taken(name, value):
    if not isinstance(value, str | int | float | list | tuple | type(None)):
        raise WrongError(f"{name} was given {type(value).__name__}")
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        raise WrongError(f"{name} was given a number of more than 64 bits")


def arrange_native():
    for module in (stats, recording, sleeping):
        module.open_library = Native
    stats.process.is_active = lambda: True
    sys.modules["jax"] = types.SimpleNamespace(
        config=types.SimpleNamespace(jax_default_device=None), local_devices=lambda: [], live_arrays=lambda: []
    )


CALLS = (
    lambda value: gmlake_jax.trim(value, 0),
    lambda value: gmlake_jax.empty_cache(0, value),
    lambda value: gmlake_jax.set_memory_limit(value, 0),
    lambda value: gmlake_jax.prepare_sleep(value, 0),
    lambda value: gmlake_jax.record(value, 0),
    lambda value: gmlake_jax.memory_stats(value if value is not None else 1),
    lambda value: gmlake_jax.memory_summary(value if value is not None else 1),
    lambda value: gmlake_jax.mark(value, 0),
    lambda value: gmlake_jax.annotate(value),
    lambda value: gmlake_jax.track(value),
    lambda value: gmlake_jax.on_oom(value if not callable(value) else None),
    lambda value: sleeping._dropped(value, ()),
    lambda value: sleeping.check_seconds("timeout", value),
    lambda value: sleeping.check_names("tags", value),
)


def try_call(_, seed):
    try:
        CALLS[seed % len(CALLS)](damage.Damage([seed, 79]).one_of(VALUES))
    except (GmlakeError, ValueError, TypeError) as error:
        check_line(str(error))


ARGUMENTS = (
    *(["replay", "ok.npz", flag] for flag in ("--limit", "--passes", "--policy")),
    *(["replay", "--churn-requests", "9", flag] for flag in ("--churn", "--seed")),
    *(["replay", "--churn", "0.5", flag] for flag in ("--churn-limit", "--churn-requests")),
    *(["stats", "ok.json", "--device"], ["top", "--once", "--pid"], ["top", "--once", "--interval"], ["stats"]),
    *(["plot", "ok.npz", "--at"], ["convert", "ok.npz", "--to"], ["convert", "ok.npz"], ["compare", "ok.npz"]),
)


def try_argument(_, seed):
    chance = damage.Damage([seed, 80])
    argv = [*chance.one_of(ARGUMENTS), chance.one_of(TEXTS)]
    code, errors = run_verb(argv)
    told = "error: " in errors or errors.startswith("gmlake: ") or (argv[0] == "top" and code == 1)
    if code not in (0, 1, 2) or told is (code == 0) or "Traceback" in errors:
        raise WrongError(f"{argv[:-1]} ended with {code}: {errors[:300]!r}")


# --- bombs


PICKLE, JSON_START = b"\x80\x02", b'{"format": "gmlake-recording-1", "x": ['
EVENTS, FEW_EVENTS = damage.event_header(1 << 27), damage.event_header(1 << 22)

# Small files that ask for much.
BOMBS = {
    "array.npz": lambda: damage.zip_bomb("events.npy", EVENTS, 1 << 27),
    "lie.npz": lambda: damage.zip_bomb("events.npy", FEW_EVENTS, 1 << 27, lie=1 << 22),
    "other.npz": lambda: damage.zip_bomb("picture.npy", b"", 1 << 27),
    "meta.npz": lambda: damage.zip_bomb("meta.npy", b"", 1 << 27),
    "many.npz": lambda: damage.many_entries(200_000),
    "memo.pickle": damage.memo_bomb,
    "references.pickle": damage.reference_bomb,
    "deep.pickle": lambda: PICKLE + b"(" * 1_000_000,
    "deep.json": lambda: damage.NESTED.encode() * 10,
    "wide.json": lambda: JSON_START + b"[]," * 3_000_000 + b"[]]}",
    "long.csv": lambda: b"Thread,Time,Action,Pointer,Size,Stream\n" + b"," * 10_000_000,
}


def try_bomb(_, seed):
    name = list(BOMBS)[seed]
    Path(name).write_bytes(BOMBS[name]())
    return lambda: check_outcome(*run_verb(["compare", name, name]), name)


def try_sparse(_, seed):
    """A file that is large and holds nothing."""
    name = f"sparse-{seed}"
    Path(name).write_bytes((b"PK\x03\x04", b"\x80\x04", b"Thread,", b"{", b"\x00")[seed])
    os.truncate(name, 1 << 40)
    check_outcome(*run_verb(["compare", name, name]), name)
    check_outcome(*run_verb(["stats", name]), name)


# --- the whole

PARTS = {
    **dict.fromkeys(damage.KINDS, try_file),
    **{"picture": try_picture, "page": try_page, "option": try_option, "call": try_call, "argument": try_argument},
    **{"bomb": try_bomb, "sparse": try_sparse},
}


def most_memory():
    """The most that this process ever held, in bytes."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) << 10


def place_of(error):
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "gmlake_jax" in frame.filename]
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "-"


def run(part, seeds):
    wrong, slowest = {}, (0.0, None)
    for seed in seeds:
        start = time.process_time()
        try:
            then = PARTS[part](part, seed)
            if then:  # what comes before is the making of the input
                start = time.process_time()
                then()
        except Exception as error:
            kind = f"{type(error).__name__} at {place_of(error)}"
            wrong.setdefault(kind, f"{part} {seed}: {kind}: {str(error)[:400]}")
        slowest = max(slowest, (time.process_time() - start, seed), key=lambda pair: pair[0])
    return {"inputs": len(seeds), "wrong": list(wrong.values()), "slowest": slowest, "memory": most_memory()}


def main():
    part, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    warnings.simplefilter("always")
    parser = command_line._parser()
    command_line._parser = lambda: parser
    if part == "call":
        arrange_native()
    live_page._PATIENCE_S = 0.001
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("ok.json").write_text(json.dumps(damage.STATS))
        damage.LIFE.save("ok.npz")
        print(json.dumps(run(part, range(first, last))))


if __name__ == "__main__":
    main()
