"""`gmlake replay` and the readers of traces: the contract of the output, and one clear line for each broken input."""

import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("gmlake_jax._gmlake")

from gmlake_jax import traces
from gmlake_jax.commands.main import main
from gmlake_jax.commands.replay import POLICIES

MIB = 1 << 20
RECORDED = Path(__file__).resolve().parents[1] / "traces" / "opt-1.3b-LRO.npz"
RMM_HEADER = "Thread,Time,Action,Pointer,Size,Stream\n"

# Two of four go, then both holes are asked for in one piece.
EVENTS = [(0, 0, 256), (0, 1, 256), (0, 2, 256), (0, 3, 256), (1, 0, 256), (1, 2, 256), (0, 4, 512)]


def columns(events):
    op, ids, size = zip(*events, strict=True)
    zero = np.zeros(len(events), np.int64)
    return {
        "op": np.array(op, np.int8),
        "id": np.array(ids, np.int32),
        "size": np.array(size, np.int64) * MIB,
        "stream": zero.astype(np.int8),
        "time_us": zero,
    }


@pytest.fixture
def write_npz(tmp_path):
    def write(events=EVENTS, **changes):
        path = tmp_path / "holes.npz"
        arrays = columns(events) | changes
        np.savez_compressed(path, **{name: array for name, array in arrays.items() if array is not None})
        return str(path)

    return write


@pytest.fixture
def replay(capsys):
    def run(*arguments):
        code = main(["replay", *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def results(replay):
    def run(*arguments):
        code, out, err = replay(*arguments, "--json")
        assert code == 0, err
        return [json.loads(line) for line in out.splitlines()]

    return run


def test_the_native_module_knows_the_same_policies():
    from gmlake_jax import _gmlake

    assert tuple(_gmlake.policies()) == POLICIES


@pytest.mark.parametrize("policy", POLICIES)
def test_a_result_has_the_fields_of_the_contract(policy, results, write_npz):
    (result,) = results(write_npz(), "--policy", policy)
    assert result["trace"] == "holes"
    assert result["policy"] == policy
    assert result["events"] == len(EVENTS)
    assert result["peak_live_bytes"] == 1024 * MIB
    assert result["peak_reserved_bytes"] >= result["peak_live_bytes"]
    assert result["min_limit_bytes"] is None
    assert result["failures"] == 0
    assert result["ns_per_op"] >= 0
    assert set(result["driver_calls"]) == {"create", "map", "set_access", "unmap", "release", "reserve"}
    assert result["driver_time_us"] > 0
    assert "first_pass_driver_time_us" not in result


def test_each_trace_and_policy_is_a_line(results, write_npz):
    lines = results(write_npz(), RECORDED, "--policy", "bfc", "--policy", "gmlake")
    assert [(line["trace"], line["policy"]) for line in lines] == [
        ("holes", "bfc"),
        ("holes", "gmlake"),
        ("opt-1.3b-LRO", "bfc"),
        ("opt-1.3b-LRO", "gmlake"),
    ]


def test_the_smallest_limit_shows_who_can_stitch(results, write_npz):
    bfc, gmlake = results(write_npz(), "--find-min-limit", "--policy", "bfc", "--policy", "gmlake")
    assert bfc["min_limit_bytes"] == pytest.approx(1536 * MIB, rel=0.002)
    assert gmlake["min_limit_bytes"] == pytest.approx(1024 * MIB, rel=0.002)


def test_the_smallest_limit_serves_and_a_smaller_one_does_not(results):
    (found,) = results(RECORDED, "--find-min-limit")
    least = found["min_limit_bytes"]
    (enough,) = results(RECORDED, "--limit", least)
    (scarce,) = results(RECORDED, "--limit", int(found["peak_live_bytes"] * 0.99))
    assert enough["failures"] == 0
    assert enough["peak_reserved_bytes"] <= least
    assert scarce["failures"] > 0


def test_passes_are_told_apart(results, write_npz):
    (result,) = results(write_npz(), "--passes", "3")
    assert result["first_pass_driver_time_us"] > 0
    assert result["last_pass_driver_time_us"] <= result["first_pass_driver_time_us"]
    assert len(result["passes"]) == 3


def test_no_byte_of_a_recorded_job_has_two_owners(results):
    (result,) = results(RECORDED, "--verify", "--passes", "2")
    assert result["failures"] == 0


def test_the_churn_runs_under_its_limit_and_depends_on_its_seed(results):
    first, again, other = (
        results("--churn", "0.9", "--churn-limit", "8GiB", "--churn-requests", "50", "--seed", seed)[0]
        for seed in (1, 1, 2)
    )
    assert first["trace"] == "churn-0.9"
    assert first["limit_bytes"] == 8 << 30
    assert 0.5 * (8 << 30) < first["peak_live_bytes"] <= 0.9 * (8 << 30)
    assert first["peak_live_bytes"] == again["peak_live_bytes"] != other["peak_live_bytes"]


def test_people_get_a_table(replay, write_npz):
    code, out, _ = replay(write_npz())
    header, row = out.splitlines()
    assert code == 0
    assert header.split()[:3] == ["trace", "policy", "events"]
    assert row.split()[:3] == ["holes", "gmlake", "7"]
    assert "1.0 GiB" in row


# --- broken input: code 2, nothing on standard output, one line that names file and event


def assert_refused(replay, path, *words):
    code, out, err = replay(path, "--json")
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("gmlake: ")
    for word in (Path(path).stem, *words):
        assert word in err


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([(0, 0, 1), (1, 5, 1)], ("event 1", "id 5", "never allocated")),
        ([(0, 0, 1), (1, 0, 1), (1, 0, 1)], ("event 2", "id 0", "again")),
        ([(0, 0, 1), (0, 1, -4)], ("event 1", "negative size")),
        ([(0, 0, 1), (0, 0, 1)], ("event 1", "still live")),
        ([(0, 0, 1), (9, 0, 1)], ("event 1", "operation 9")),
    ],
)
def test_events_that_make_no_sense_are_named(events, words, replay, write_npz):
    assert_refused(replay, write_npz(events), *words)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"size": None}, ("no array 'size'",)),
        ({"size": np.zeros(3, np.int64)}, ("'size' has 3 entries, 'op' has 7",)),
        ({"size": np.zeros(7)}, ("'size'", "float64")),
        ({"size": np.zeros((7, 2), np.int64)}, ("'size'", "2-d")),
        ({"op": np.zeros(0, np.int8)}, ("entries",)),
    ],
)
def test_wrong_arrays_are_named(changes, words, replay, write_npz):
    assert_refused(replay, write_npz(**changes), *words)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_said_to_be_one(share, replay, tmp_path):
    whole = RECORDED.read_bytes()
    path = tmp_path / "cut.npz"
    path.write_bytes(whole[: int(len(whole) * share)])
    assert_refused(replay, path, "truncated")


def test_a_damaged_member_is_noticed(replay, tmp_path):
    broken = bytearray(RECORDED.read_bytes())
    middle = zipfile.ZipFile(RECORDED).getinfo("id.npy").header_offset + 500
    broken[middle : middle + 64] = bytes(64)
    path = tmp_path / "broken.npz"
    path.write_bytes(bytes(broken))
    assert_refused(replay, path)


@pytest.mark.parametrize("content", [b"", b"hello", b"\x93NUMPY", b"{}\n" * 100, bytes(5000)])
def test_a_file_that_is_no_trace_is_refused(content, replay, tmp_path):
    path = tmp_path / "other.npz"
    path.write_bytes(content)
    assert_refused(replay, path, "not a trace")


def test_a_missing_file_is_refused(replay, tmp_path):
    assert_refused(replay, tmp_path / "nowhere.npz", "No such file")


def test_pickled_objects_are_not_loaded(replay, write_npz):
    assert_refused(replay, write_npz(size=np.array([print] * 7, dtype=object)))


def test_nothing_to_replay_is_wrong_usage(replay):
    code, _, err = replay()
    assert code == 2
    assert "give a TRACE, or --churn" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ("--limit", "much", RECORDED),
        ("--limit", "1KiB", RECORDED),
        ("--limit", "1GiB", "--find-min-limit", RECORDED),
        ("--passes", "0", RECORDED),
        ("--policy", "best", RECORDED),
        ("--churn", "1.5"),
    ],
)
def test_wrong_usage_ends_with_2(arguments, replay):
    with pytest.raises(SystemExit) as end:
        replay(*arguments)
    assert end.value.code == 2


# --- RMM's CSV


@pytest.fixture
def write_rmm(tmp_path):
    def write(*rows, header=RMM_HEADER):
        path = tmp_path / "rmm.csv"
        path.write_text(header + "".join(f"{row}\n" for row in rows))
        return str(path)

    return write


def test_rmm_logs_are_read_pointers_reused_and_failures_skipped(write_rmm, results):
    path = write_rmm(
        "1,10:00:00.000000,allocate,0x7f0000000000,4194304,0x0",
        "1,10:00:00.000500,allocate failure,(nil),99999999999,0x0",
        "1,10:00:01.000000,free,0x7f0000000000,4194304,0x0",
        "2,10:00:02.000000,allocate,0x7f0000000000,8388608,0x5",
    )
    assert traces.read_trace(path).duration_us == 2_000_000
    (result,) = results(path)
    assert result["events"] == 3
    assert result["peak_live_bytes"] == 8 * MIB


def test_rmm_logs_with_the_older_time_and_over_midnight(write_rmm):
    path = write_rmm("1,23:59:59:000000,allocate,0x10,64,0x0", "1,00:00:01:000000,free,0x10,64,0x0")
    assert traces.read_trace(path).duration_us == 2_000_000


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (["1,10:00:00.0,allocate,0x10,64,0x0", "1,10:00:00.0,free,0x20,64,0x0"], ("event 1", "never allocated")),
        (["1,10:00:00.0,allocate,0x10,-64,0x0"], ("event 0", "negative size")),
        (["1,10:00:00.0,allocate,0x10,64,0x0", "1,10:00:00.0,free,0x1"], ("event 1", "not a line of RMM's log")),
        (["1,10:00:00.0,shrink,0x10,64,0x0"], ("event 0", "shrink")),
        ([], ("no events",)),
    ],
)
def test_broken_rmm_logs_are_refused(rows, words, write_rmm, replay):
    assert_refused(replay, write_rmm(*rows), *words)


def test_rmm_columns_must_be_rmms(write_rmm, replay):
    assert_refused(replay, write_rmm(header="Thread,Time,Size\n"), "Thread,Time,Size")


# --- its page


def test_the_page_defines_every_field_and_option(results, write_npz, capsys):
    page = (Path(__file__).resolve().parents[2] / "docs" / "replay.md").read_text()
    (result,) = results(write_npz(), "--passes", "2")
    assert [key for key in result if f"`{key}`" not in page] == []
    with pytest.raises(SystemExit):
        main(["replay", "--help"])
    options = set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) - {"--help"}
    assert {option for option in options if option not in page} == set()


@pytest.mark.parametrize("flags", [[], ["--json"], ["--find-min-limit"], ["--policy", "bfc"]], ids=" ".join)
@pytest.mark.parametrize("events", [[(0, 0, 0), (1, 0, 0)], [(2, 0, 5), (2, 1, 7)]], ids=["empty", "refused"])
def test_a_trace_in_which_nothing_lives_is_one_line(write_npz, replay, events, flags):
    code, _, err = replay(write_npz(events), *flags)
    assert code == 2
    assert err.count("\n") == 1
    assert "holes.npz: nothing was allocated in it" in err


@pytest.mark.parametrize(
    ("column", "value"), [("size", 1 << 60), ("stream", 1 << 40), ("time_us", 1 << 60), ("time_us", -(1 << 60))]
)
def test_numbers_that_would_be_cut_are_refused(write_npz, replay, column, value):
    values = np.zeros(len(EVENTS), np.int64)
    values[0] = value
    assert_refused(replay, write_npz(**{column: values}), "holes.npz", f"event 0: {column}", str(value))


def test_unsigned_numbers_beyond_63_bits_are_refused(write_npz, replay):
    sizes = np.full(len(EVENTS), (1 << 64) - 1, np.uint64)
    assert_refused(replay, write_npz(size=sizes), "holes.npz", "does not fit into 64 bits")
