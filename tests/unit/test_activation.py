"""When the allocator goes under the stock plugin, when it steps aside, and that JAX runs on in either case."""

import logging
import sys
import types

import pytest

import gmlake_jax
from gmlake_jax import _plugin, config, process, stock
from gmlake_jax.errors import ConfigError, PluginError


@pytest.fixture
def plugins(tmp_path, monkeypatch):
    """Installs stand-ins for JAX's CUDA plugins: `plugins("cuda13")`. Importing one would fail the test."""
    package = types.ModuleType("jax_plugins")
    package.__path__ = [str(tmp_path)]
    monkeypatch.setitem(sys.modules, "jax_plugins", package)

    def install(*flavours):
        for flavour in flavours:
            folder = tmp_path / f"xla_{flavour}"
            folder.mkdir()
            (folder / "__init__.py").write_text("raise AssertionError('the stock plugin was imported')")
            (folder / "xla_cuda_plugin.so").touch()
        return tmp_path

    return install


@pytest.mark.parametrize("flavour", ["cuda12", "cuda13"])
def test_finds_the_stock_plugin_without_importing_it(plugins, flavour):
    folder = plugins(flavour)
    assert stock.find_stock_plugin() == folder / f"xla_{flavour}" / "xla_cuda_plugin.so"


def test_without_a_stock_plugin_says_how_to_get_one(plugins):
    plugins()
    with pytest.raises(PluginError, match="pip install"):
        stock.find_stock_plugin()


def test_without_any_jax_plugin_package_says_the_same(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax_plugins", None)
    with pytest.raises(PluginError, match="pip install"):
        stock.find_stock_plugin()


def test_two_stock_plugins_are_one_too_many(plugins):
    plugins("cuda12", "cuda13")
    with pytest.raises(PluginError, match="uninstall one"):
        stock.find_stock_plugin()


def test_the_entry_point_does_nothing_when_the_variable_is_unset(library, plugins):
    plugins("cuda13")
    _plugin.initialize()
    assert not library.installed
    assert "GMLAKE" in gmlake_jax.state()


def test_the_entry_point_installs_once_however_often_it_is_called(library, plugins, monkeypatch):
    folder = plugins("cuda13")
    monkeypatch.setenv("GMLAKE", "1")
    monkeypatch.setenv("GMLAKE_LIMIT", "50%")
    _plugin.initialize()
    _plugin.initialize()
    [(path, options)] = library.installed
    assert path == str(folder / "xla_cuda13" / "xla_cuda_plugin.so")
    assert options == {
        "fraction": "0.5",
        "preallocate": "False",
        "idle_trim": "0.0",
        "wait": "0.0",
        "verbose": "False",
        "record_events": "1000000",
    }


def test_switched_off_is_not_an_error(library, plugins, monkeypatch, caplog):
    plugins("cuda13")
    monkeypatch.setenv("GMLAKE", "0")
    _plugin.initialize()
    assert not library.installed
    assert not caplog.records


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("GMLAKE", "maybe", "GMLAKE=maybe"),
        ("GMLAKE_LIMIT", "20XB", "GMLAKE_LIMIT=20XB"),
        ("XLA_PYTHON_CLIENT_ALLOCATOR", "vmm", "XLA_PYTHON_CLIENT_ALLOCATOR=vmm"),
        ("TF_FORCE_UNIFIED_MEMORY", "1", "TF_FORCE_UNIFIED_MEMORY"),
        ("JAX_PLATFORMS", "cpu", "JAX_PLATFORMS=cpu"),
    ],
)
def test_the_entry_point_steps_aside_with_one_line(library, plugins, monkeypatch, caplog, variable, value, says):
    plugins("cuda13")
    monkeypatch.setenv("GMLAKE", "1")
    monkeypatch.setenv(variable, value)
    _plugin.initialize()
    [record] = caplog.records
    assert says in record.getMessage()
    assert "\n" not in record.getMessage()
    assert says in gmlake_jax.state()
    assert not gmlake_jax.is_active()
    assert not library.installed


def test_a_refusal_of_the_native_library_is_a_line_too(library, plugins, monkeypatch, caplog):
    plugins("cuda13")
    library.refusal = "the stock plugin has no slot for dlsym"
    monkeypatch.setenv("GMLAKE", "1")
    _plugin.initialize()
    [record] = caplog.records
    assert "no slot for dlsym" in record.getMessage()
    assert record.levelno == logging.WARNING


def test_a_missing_stock_plugin_is_a_line_too(library, plugins, monkeypatch, caplog):
    plugins()
    monkeypatch.setenv("GMLAKE", "1")
    _plugin.initialize()
    assert "no CUDA plugin" in caplog.text


def test_the_line_reaches_a_terminal_without_any_logging_setup(run_python):
    result = run_python("from gmlake_jax import _plugin; _plugin.initialize()", GMLAKE="maybe")
    assert result.stderr.count("\n") == 1
    assert "GMLAKE=maybe" in result.stderr
    assert result.returncode == 0


def test_enable_installs_with_its_arguments(library, plugins):
    plugins("cuda13")
    gmlake_jax.enable(limit="1GiB")
    [(_, options)] = library.installed
    assert options["limit"] == str(1 << 30)


def test_enable_twice_with_the_same_options_is_fine(library, plugins):
    plugins("cuda13")
    gmlake_jax.enable(limit="1GiB")
    gmlake_jax.enable(limit=1 << 30)
    assert len(library.installed) == 1


def test_enable_after_the_entry_point_is_fine(library, plugins, monkeypatch):
    plugins("cuda13")
    monkeypatch.setenv("GMLAKE", "1")
    _plugin.initialize()
    gmlake_jax.enable()
    assert len(library.installed) == 1


def test_enable_with_other_options_is_an_error(library, plugins):
    plugins("cuda13")
    gmlake_jax.enable(limit="1GiB")
    with pytest.raises(ConfigError, match="already enabled"):
        gmlake_jax.enable(limit="2GiB")


def test_enable_after_a_device_was_used_is_an_error(library, plugins, monkeypatch):
    plugins("cuda13")
    bridge = types.SimpleNamespace(backends_are_initialized=lambda: True)
    monkeypatch.setitem(sys.modules, "jax._src.xla_bridge", bridge)
    with pytest.raises(ConfigError, match="too late"):
        gmlake_jax.enable()
    assert not library.installed


def test_a_jax_that_cannot_be_asked_does_not_stop_enable(library, plugins, monkeypatch):
    plugins("cuda13")
    monkeypatch.setitem(sys.modules, "jax._src.xla_bridge", types.SimpleNamespace())
    gmlake_jax.enable()
    assert library.installed


@pytest.mark.parametrize("name", ["TF_FORCE_UNIFIED_MEMORY", "XLA_PYTHON_CLIENT_ALLOCATOR"])
def test_enable_raises_where_the_entry_point_only_logs(library, plugins, monkeypatch, name):
    plugins("cuda13")
    monkeypatch.setenv(name, "vmm")
    with pytest.raises(ConfigError, match=name):
        gmlake_jax.enable()


def test_enable_without_a_stock_plugin_raises(library, plugins):
    plugins()
    with pytest.raises(PluginError, match="no CUDA plugin"):
        gmlake_jax.enable()


def test_a_failed_enable_can_be_tried_again(library, plugins):
    plugins("cuda13")
    library.refusal = "busy"
    with pytest.raises(PluginError):
        gmlake_jax.enable()
    library.refusal = None
    gmlake_jax.enable()
    assert len(library.installed) == 1


def test_active_means_that_a_device_is_served(library, plugins):
    plugins("cuda13")
    assert not gmlake_jax.is_active()
    gmlake_jax.enable()
    assert not gmlake_jax.is_active()
    library.devices = 1
    assert gmlake_jax.is_active()
    assert gmlake_jax.state() == "active on 1 device(s)"


def test_the_chosen_stock_plugin_wins_over_the_installed_one(library, plugins, tmp_path):
    plugins("cuda13")
    other = tmp_path / "other.so"
    other.touch()
    gmlake_jax.enable(stock_plugin=str(other))
    assert library.installed[0][0] == str(other)


def test_the_options_in_force_can_be_read_back(library, plugins):
    plugins("cuda13")
    assert process.installed_options() is None
    gmlake_jax.enable(limit="1GiB")
    assert process.installed_options().limit == config.Limit(bytes=1 << 30)


# --- every message is true


def test_what_enable_was_given_counts_and_the_entry_point_says_nothing(library, plugins, monkeypatch, caplog):
    plugins("cuda13")
    monkeypatch.setenv("GMLAKE", "1")
    gmlake_jax.enable(limit="1GiB")
    _plugin.initialize()
    library.devices = 1
    assert not caplog.records
    assert len(library.installed) == 1
    assert gmlake_jax.state() == "active on 1 device(s)"


def test_a_mistake_in_the_environment_after_enable_changes_nothing(library, plugins, monkeypatch, caplog):
    plugins("cuda13")
    gmlake_jax.enable(limit="1GiB")
    monkeypatch.setenv("GMLAKE", "perhaps")
    _plugin.initialize()
    assert not caplog.records
    assert gmlake_jax.state() == "active on 0 device(s)"


def test_other_options_are_named(library, plugins):
    plugins("cuda13")
    gmlake_jax.enable(limit="1GiB")
    with pytest.raises(ConfigError, match=r"limit is 1.0 GiB, not 50% of the device"):
        gmlake_jax.enable(limit="50%")


@pytest.fixture
def devices_exist(monkeypatch):
    bridge = types.SimpleNamespace(backends_are_initialized=lambda: True)
    monkeypatch.setitem(sys.modules, "jax._src.xla_bridge", bridge)


def test_the_state_says_that_the_variable_was_set_too_late(library, plugins, monkeypatch, devices_exist):
    assert "GMLAKE is not set" in gmlake_jax.state()
    monkeypatch.setenv("GMLAKE", "1")
    assert "too late" in gmlake_jax.state()
    monkeypatch.setenv("GMLAKE", "0")
    assert "GMLAKE is not set" in gmlake_jax.state()


def test_the_state_says_that_jax_has_no_gpu(library, plugins, monkeypatch, devices_exist):
    plugins("cuda13")
    monkeypatch.setattr(process, "devices_in_use", lambda: False)
    gmlake_jax.enable()
    library.state = lambda: "installed; JAX has not created its devices yet"
    assert "not created its devices yet" in gmlake_jax.state()
    monkeypatch.setattr(process, "devices_in_use", lambda: True)
    monkeypatch.setitem(sys.modules, "jax", types.SimpleNamespace(default_backend=lambda: "cpu"))
    assert "no CUDA device in this process; it runs on cpu" in gmlake_jax.state()


@pytest.mark.parametrize(
    ("environment", "config_says", "active"),
    [("cpu", "cuda,cpu", True), ("cuda", "cpu", False), (None, "cpu", False), ("cpu", "", True), ("cpu", None, False)],
)
def test_jax_config_counts_over_the_environment(library, plugins, monkeypatch, environment, config_says, active):
    plugins("cuda13")
    monkeypatch.setenv("GMLAKE", "1")
    if environment:
        monkeypatch.setenv("JAX_PLATFORMS", environment)
    config = types.SimpleNamespace(jax_platforms=config_says)
    monkeypatch.setitem(sys.modules, "jax", types.SimpleNamespace(config=config))
    _plugin.initialize()
    assert bool(library.installed) is active
    if not active:
        assert "platforms=cpu" in gmlake_jax.state().lower()


SUBINTERPRETER = """
import importlib, os
names = ("_interpreters", "_xxsubinterpreters")
found = [name for name in names if importlib.util.find_spec(name)]
interpreters = importlib.import_module(found[0])
os.environ["GMLAKE"] = "1"
run = interpreters.run_string
result = run(interpreters.create(), '''
import gmlake_jax
from gmlake_jax import _plugin
try:
    gmlake_jax.enable()
except gmlake_jax.GmlakeError as error:
    print(type(error).__name__, error)
_plugin.initialize()
print(gmlake_jax.state())
''')
assert result is None, result
"""


def test_a_subinterpreter_gets_one_line(run_python):
    ran = run_python("import importlib.util\n" + SUBINTERPRETER)
    assert ran.returncode == 0, ran.stderr[-2000:]
    raised, state = ran.stdout.splitlines()
    assert raised.startswith("PluginError")
    assert "subinterpreter" in raised
    assert "subinterpreter" in state
