"""What each variable may hold, what wins over what, and the one line that a mistake gets."""

import pytest

from gmlake_jax.config import Limit, Options, parse_mem_fraction, read_options, reason_to_step_aside
from gmlake_jax.errors import ConfigError

GIB = 1 << 30


def read(**environ):
    return read_options({"GMLAKE": "1"} | environ)


@pytest.mark.parametrize("text", ["1", "true", "on", "ON", "True", "yes"])
def test_words_that_switch_it_on(text):
    assert read_options({"GMLAKE": text}).enabled


@pytest.mark.parametrize("text", ["0", "false", "off", "OFF", "no", ""])
def test_words_that_leave_it_off(text):
    assert not read_options({"GMLAKE": text}).enabled


def test_nothing_set_gives_the_defaults():
    assert read_options({}) == Options()


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("21474836480", Limit(bytes=20 * GIB)),
        ("20GiB", Limit(bytes=20 * GIB)),
        ("20 gib", Limit(bytes=20 * GIB)),
        ("1.5GiB", Limit(bytes=3 * GIB // 2)),
        ("20GB", Limit(bytes=20 * 10**9)),
        ("80%", Limit(fraction=0.8)),
        ("100%", Limit(fraction=1.0)),
    ],
)
def test_forms_of_a_limit(text, limit):
    assert read(GMLAKE_LIMIT=text).limit == limit


@pytest.mark.parametrize(
    "text", ["lots", "20XB", "-5GiB", "0%", "101%", "0.8", "1MiB", "1e9", "nan", "inf", "GiB", "%"]
)
def test_a_limit_that_cannot_be_followed_is_an_error(text):
    with pytest.raises(ConfigError) as error:
        read(GMLAKE_LIMIT=text)
    assert f"GMLAKE_LIMIT={text}" in str(error.value)


@pytest.mark.parametrize(
    "environ",
    [
        {"GMLAKE": "maybe"},
        {"GMLAKE": "1", "GMLAKE_LIMIT": "20XB"},
        {"GMLAKE": "1", "GMLAKE_PREALLOCATE": "perhaps"},
        {"GMLAKE": "1", "GMLAKE_DRIVER": "/no/such/library"},
        {"GMLAKE": "1", "GMLAKE_LIMTI": "20GiB"},
        {"GMLAKE": "1", "XLA_PYTHON_CLIENT_ALLOCATOR": "vmm"},
        {"GMLAKE": "1", "XLA_CLIENT_MEM_FRACTION": "most"},
        {"GMLAKE": "1", "XLA_CLIENT_MEM_FRACTION": "0.5", "XLA_PYTHON_CLIENT_MEM_FRACTION": "0.5"},
    ],
)
def test_a_mistake_gets_one_line_that_says_what_to_do(environ):
    with pytest.raises(ConfigError) as error:
        read_options(environ)
    message = str(error.value)
    assert "\n" not in message
    assert list(environ)[-1] in message
    assert "unset" in message


@pytest.mark.parametrize(("text", "seconds"), [("0", 0), ("60", 60), ("2.5", 2.5)])
def test_times_are_seconds(text, seconds):
    assert read(GMLAKE_WAIT=text).wait == seconds
    assert read(GMLAKE_IDLE_TRIM=text).idle_trim == seconds


@pytest.mark.parametrize("text", ["-1", "soon", "1e9", "5s", "nan", "9999999"])
def test_a_time_that_is_none_is_an_error(text):
    with pytest.raises(ConfigError, match="GMLAKE_WAIT"):
        read(GMLAKE_WAIT=text)


def test_a_misspelt_variable_lists_the_right_ones():
    with pytest.raises(ConfigError, match="GMLAKE_LIMIT"):
        read(GMLAKE_LIMTI="1GiB")


def test_variables_of_the_build_and_of_other_programs_are_none_of_our_business():
    assert read(GMLAKE_BUILD_PYTHON="/usr/bin/python3", GMLAKES="x", GMLAKE_EMULATOR_MEMORY="1GiB").enabled


@pytest.mark.parametrize(
    ("text", "upper"), [("0.75", 0.75), (".5", 0.5), ("1", 1.0), ("0.75+", 1.0), ("0.75-0.85", 0.85)]
)
def test_the_limit_follows_xlas_grammar_of_fractions(text, upper):
    assert parse_mem_fraction(text) == Limit(fraction=upper)
    assert read(XLA_CLIENT_MEM_FRACTION=text).limit == Limit(fraction=upper)
    assert read(XLA_PYTHON_CLIENT_MEM_FRACTION=text).limit == Limit(fraction=upper)


@pytest.mark.parametrize("text", ["0", "1.5", "0.9-0.5", "0.5-", "0.5-1.5", "++", "-0.5", "75%"])
def test_fractions_that_xla_would_not_take_either(text):
    with pytest.raises(ConfigError, match="XLA_CLIENT_MEM_FRACTION"):
        read(XLA_CLIENT_MEM_FRACTION=text)


@pytest.mark.parametrize(
    ("text", "expected"), [("false", False), ("False", False), ("0", False), ("true", True), ("no", True)]
)
def test_xlas_preallocation_is_read_as_xla_reads_it(text, expected):
    assert read(XLA_PYTHON_CLIENT_PREALLOCATE=text).preallocate is expected


def test_our_variable_wins_over_xlas_and_an_argument_over_both():
    environ = {"GMLAKE": "1", "GMLAKE_LIMIT": "2GiB", "XLA_CLIENT_MEM_FRACTION": "0.5"}
    assert read_options(environ).limit == Limit(bytes=2 * GIB)
    assert read_options(environ, limit="3GiB").limit == Limit(bytes=3 * GIB)
    assert read_options(environ, limit=3 * GIB).limit == Limit(bytes=3 * GIB)
    assert read_options(environ, limit=None).limit == Limit(bytes=2 * GIB)


def test_xlas_variables_are_not_read_where_the_allocator_is_off():
    assert read_options({"XLA_CLIENT_MEM_FRACTION": "nonsense", "XLA_PYTHON_CLIENT_ALLOCATOR": "vmm"}) == Options()


@pytest.mark.parametrize("allocator", ["default", "Default", ""])
def test_asking_xla_for_its_default_is_no_contradiction(allocator):
    assert read(XLA_PYTHON_CLIENT_ALLOCATOR=allocator).enabled


def test_an_unknown_argument_lists_the_known_ones():
    with pytest.raises(ConfigError, match="limit"):
        read_options({}, limti="1GiB")


@pytest.mark.parametrize(
    ("environ", "word"),
    [
        ({"TF_FORCE_UNIFIED_MEMORY": "1"}, "unified"),
        ({"TF_FORCE_UNIFIED_MEMORY": "true"}, "unified"),
        ({"JAX_PLATFORMS": "cpu"}, "cuda"),
        ({"JAX_PLATFORMS": "cpu,tpu"}, "cuda"),
    ],
)
def test_reasons_to_leave_a_process_alone(environ, word):
    assert word in reason_to_step_aside(environ)


@pytest.mark.parametrize(
    "environ",
    [{}, {"TF_FORCE_UNIFIED_MEMORY": "0"}, {"JAX_PLATFORMS": "cuda"}, {"JAX_PLATFORMS": "cpu, gpu"}],
)
def test_nothing_that_speaks_against_it(environ):
    assert reason_to_step_aside(environ) is None


def test_options_cannot_be_changed_afterwards():
    with pytest.raises(AttributeError):
        read_options({}).limit = Limit(bytes=1)


HUGE = (
    "9" * 30,
    "9" * 5000,
    10**30,
    10**5000,
    1 << 63,
    "99999999999TiB",
    float("inf"),
    float("nan"),
    "1e400",
    -1,
    "-1",
)


@pytest.mark.parametrize(
    "value", HUGE, ids=lambda value: f"{type(value).__name__} {str(value)[:20] if value != 10**5000 else ''}"
)
@pytest.mark.parametrize("option", ["limit", "idle_trim", "wait", "record_events"])
def test_numbers_out_of_all_bounds_are_one_line(option, value):
    with pytest.raises(ConfigError) as error:
        read_options({}, enabled=True, **{option: value})
    assert option in str(error.value)
    assert len(str(error.value)) < 1000
    assert str(error.value).isprintable()


# --- paths


@pytest.mark.parametrize("option", ["stats_file", "record"])
def test_a_file_that_gets_something_at_the_end_is_resolved_at_the_start(option, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert getattr(read_options({}, **{option: "a.x"}), option) == str(tmp_path / "a.x")
    assert getattr(read_options({}, **{option: "~/a-%p.x"}), option) == str(tmp_path / "a-%p.x")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_resolved_at_the_start(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "oom").mkdir()
    assert read_options({}, oom_dir="oom").oom_dir == str(tmp_path / "oom")


@pytest.mark.parametrize("option", ["stats_file", "record", "oom_dir"])
@pytest.mark.parametrize("path", ["{}/nowhere/at/all", "/proc/self/x", "{}/file/x", "{}/nul\0", "/dev/null"])
def test_a_place_that_cannot_be_written_is_an_error_at_the_start(option, path, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError) as error:
        read_options({}, **{option: path.format(tmp_path)})
    assert option in str(error.value)
    assert str(error.value).isprintable()
