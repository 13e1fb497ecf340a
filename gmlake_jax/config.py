"""What the user asked for, read once into one frozen dataclass.

This is the only file that reads GMLAKE_* variables, and the XLA_* variables that mean the same thing. Every field of
`Options` has a variable of its name in capitals behind `GMLAKE_` (`enabled` is plain `GMLAKE`) and can be given to
`gmlake_jax.enable()` under its own name. Precedence: argument of enable(), GMLAKE_*, XLA_*, default. A value that
cannot be followed is a ConfigError of one line. docs/options.md states default, effect and cost of each option.
"""

import dataclasses
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gmlake_jax.errors import ConfigError
from gmlake_jax.output import resolved, try_folder
from gmlake_jax.sizes import format_bytes, parse_bytes
from gmlake_jax.untrusted import brief

_LONGEST_S = 1_000_000
_MOST_EVENTS = 1 << 30  # of 56 bytes
_TRUE = ("1", "true", "on", "yes")
_FALSE = ("0", "false", "off", "no", "")

# Variables that begin with GMLAKE_ and are no options of a program: the build's, the emulated device's, tests'.
_OTHER_PREFIXES = ("GMLAKE_BUILD_", "GMLAKE_EMULATOR_", "GMLAKE_TEST_")


@dataclass(frozen=True)
class Limit:
    """How much memory a device may hold: bytes, or a fraction of the device. Exactly one of the two is set."""

    bytes: int | None = None
    fraction: float | None = None

    def __str__(self) -> str:
        return format_bytes(self.bytes) if self.bytes is not None else f"{100 * (self.fraction or 0):g}% of the device"


def _parse_bool(value: Any) -> bool:
    text = str(value).strip().lower()
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ValueError(f"expected one of {', '.join(_TRUE)}, {', '.join(filter(None, _FALSE))}")


def _parse_share(text: str) -> Limit:
    share = float(text) / 100
    if not 0 < share <= 1:
        raise ValueError("a share of the device lies above 0% and is at most 100%")
    return Limit(fraction=share)


def _parse_size(text: str) -> Limit:
    size = parse_bytes(text)
    if size < parse_bytes("2MiB"):
        raise ValueError("the driver hands out memory in pieces of 2 MiB, so a limit below that serves nothing")
    return Limit(bytes=size)


def parse_limit(value: Any) -> Limit:
    if isinstance(value, Limit):
        return value
    text = str(value).strip()
    if re.fullmatch(r"\d+(\.\d+)?\s*%", text, re.ASCII):
        return _parse_share(text.rstrip("% "))
    if re.fullmatch(r"\d+(\.\d+)?\s*([kmgt]i?b|b)?", text, re.IGNORECASE | re.ASCII):
        return _parse_size(text)
    raise ValueError("expected bytes (21474836480), a size (20GiB) or a share of the device (80%)")


def _parse_seconds(value: Any) -> float:
    text = str(value).strip()
    if not re.fullmatch(r"\d+(\.\d+)?", text, re.ASCII) or float(text) > _LONGEST_S:
        raise ValueError(f"expected seconds, from 0 to {_LONGEST_S:,}")
    return float(text)


def _parse_path(value: Any) -> str:
    path = resolved(str(value))
    if not os.path.isfile(path):
        raise ValueError("there is no such file")
    return path


def _parse_new_file(value: Any) -> str:
    """Tried now, because the file is written when the program ends, and its data would be lost."""
    path = resolved(str(value))
    _try(path.replace("%p", str(os.getpid())))
    return path


def _parse_folder(value: Any) -> str:
    path = resolved(str(value))
    _try(os.path.join(path, "report"))
    return path


def _try(path: str) -> None:
    if "\0" in path:
        raise ValueError("a path has no null character")
    if not os.path.isdir(os.path.dirname(path)):
        raise ValueError("there is no such folder")
    try:
        try_folder(path)
    except OSError as error:
        raise ValueError(f"no file can be written there: {error.strerror}") from None


def _parse_count(value: Any) -> int:
    text = str(value).replace("_", "")
    if not re.fullmatch(r"\d{1,12}", text, re.ASCII) or not 1 <= int(text) <= _MOST_EVENTS:
        raise ValueError(f"expected a whole number from 1 to {_MOST_EVENTS:,}")
    return int(text)


def _option(default: Any, parse: Callable[[Any], Any], effect: str, *, native: bool = True) -> Any:
    """`native`: the library in C++ follows the option, not this package."""
    return field(default=default, metadata={"parse": parse, "effect": effect, "native": native})


@dataclass(frozen=True)
class Options:
    """Everything that can be asked of the allocator when it starts. Immutable; made by the functions below."""

    enabled: bool = _option(False, _parse_bool, "use the allocator", native=False)
    limit: Limit | None = _option(None, parse_limit, "physical memory that each device may hold")
    preallocate: bool = _option(False, _parse_bool, "take all memory up to the limit at the start")
    idle_trim: float = _option(0.0, _parse_seconds, "seconds without requests after which idle memory is given back")
    wait: float = _option(0.0, _parse_seconds, "seconds that a request waits for a device which others have filled")
    verbose: bool = _option(False, _parse_bool, "one line on stderr when a device becomes active")
    driver: str | None = _option(None, _parse_path, "libcuda.so.1 to load in place of the system's")
    stock_plugin: str | None = _option(
        None, _parse_path, "xla_cuda_plugin.so to work on, not the installed one", native=False
    )
    stats_file: str | None = _option(
        None, _parse_new_file, "JSON file that gets the statistics when the program ends", native=False
    )
    top: bool = _option(True, _parse_bool, "show the memory statistics to gmlake top", native=False)
    record: str | None = _option(None, _parse_new_file, "file that gets a recording of the whole program")
    record_events: int = _option(1_000_000, _parse_count, "how many events that recording keeps")
    oom_dir: str | None = _option(None, _parse_folder, "folder that gets a report and a snapshot when memory runs out")


_FIELDS = {option.name: option for option in dataclasses.fields(Options)}


def native_values(options: Options) -> dict[str, str]:
    """The options that cc/pjrt/devices/options.cc reads, as it reads them. What is not set is left out."""
    values = {name: getattr(options, name) for name, option in _FIELDS.items() if option.metadata["native"]}
    limit = options.limit or Limit()
    values |= {"limit": limit.bytes, "fraction": limit.fraction}
    return {name: str(value) for name, value in values.items() if value is not None}


def variable_of(name: str) -> str:
    """The environment variable of an option."""
    return "GMLAKE" if name == "enabled" else f"GMLAKE_{name.upper()}"


_NAME_OF_VARIABLE = {variable_of(name): name for name in _FIELDS}


def _parse(name: str, value: Any, shown_as: str) -> Any:
    try:
        return _FIELDS[name].metadata["parse"](value)
    except ValueError as error:
        raise ConfigError(f"{shown_as}={brief(value)}: {brief(error)}; correct it or unset it") from None


def _reject_unknown(variables: Mapping[str, str]) -> None:
    for variable in variables:
        if variable not in _NAME_OF_VARIABLE and not variable.startswith(_OTHER_PREFIXES):
            known = ", ".join(sorted(_NAME_OF_VARIABLE))
            raise ConfigError(
                f"{brief(variable)} is not a variable of gmlake_jax; unset it, or correct it to one of {known}"
            )


def _from_gmlake_variables(environ: Mapping[str, str]) -> dict[str, Any]:
    ours = {variable: text for variable, text in environ.items() if variable.split("_")[0] == "GMLAKE"}
    _reject_unknown(ours)
    return {
        name: _parse(name, ours[variable], variable)
        for variable, name in _NAME_OF_VARIABLE.items()
        if ours.get(variable, "") != ""
    }


_FRACTION = re.compile(r"(\d*\.?\d+)(?:(\+)|-(\d*\.?\d+))?", re.ASCII)


def parse_mem_fraction(text: str) -> Limit:
    """XLA's grammar: `0.75` is the share, `0.75+` may grow to the whole device, `0.75-0.85` may grow to the second."""
    match = _FRACTION.fullmatch(text.strip())
    if match is None:
        raise ValueError("expected a fraction such as 0.75, 0.75+ or 0.75-0.85")
    lower = float(match[1])
    upper = 1.0 if match[2] else float(match[3] or lower)
    if not 0 < lower <= upper <= 1:
        raise ValueError("a fraction lies above 0, is at most 1, and its second number is not below its first")
    return Limit(fraction=upper)


def _xla_limit(environ: Mapping[str, str]) -> Limit | None:
    names = ("XLA_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION")
    given = [(name, environ[name]) for name in names if environ.get(name)]
    if len(given) == 2:
        raise ConfigError(f"{names[0]} and {names[1]} are both set and mean the same; unset {names[1]}, the old name")
    if not given:
        return None
    name, text = given[0]
    try:
        return parse_mem_fraction(text)
    except ValueError as error:
        raise ConfigError(f"{name}={brief(text)}: {brief(error)}; correct it or unset it") from None


def _from_xla_variables(environ: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if (limit := _xla_limit(environ)) is not None:
        values["limit"] = limit
    if preallocate := environ.get("XLA_PYTHON_CLIENT_PREALLOCATE"):
        # XLA takes everything but these three for true.
        values["preallocate"] = preallocate not in ("false", "False", "0")
    return values


def _reject_other_allocator(environ: Mapping[str, str]) -> None:
    allocator = environ.get("XLA_PYTHON_CLIENT_ALLOCATOR", "")
    if allocator.lower() not in ("", "default"):
        raise ConfigError(
            f"XLA_PYTHON_CLIENT_ALLOCATOR={brief(allocator)} asks for another allocator; unset one of the two"
        )


def _from_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    for name in arguments:
        if name not in _FIELDS:
            raise ConfigError(f"enable() has no option {brief(name)}; its options are {', '.join(_FIELDS)}")
    return {name: _parse(name, value, name) for name, value in arguments.items() if value is not None}


def read_options(environ: Mapping[str, str] = os.environ, **arguments: Any) -> Options:
    """The options that `environ` asks for, overridden by `arguments`. ConfigError where they cannot be followed."""
    ours = _from_gmlake_variables(environ) | _from_arguments(arguments)
    if not ours.get("enabled", False):
        return Options(**ours)
    _reject_other_allocator(environ)
    return Options(**(_from_xla_variables(environ) | ours))


def is_asked_for(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the environment switches the allocator on, whatever else it says."""
    return environ.get("GMLAKE", "").strip().lower() in _TRUE


def reason_to_step_aside(environ: Mapping[str, str] = os.environ, platforms: str | None = None) -> str | None:
    """Why the allocator should leave this process alone although it was asked for; None where it should not.

    `platforms`: what jax.config names, where it does, which JAX follows and not the environment.
    """
    unified = environ.get("TF_FORCE_UNIFIED_MEMORY", "")
    if unified.lower() not in ("", "0", "false"):
        return f"TF_FORCE_UNIFIED_MEMORY={unified} asks for unified memory, which gmlake_jax does not serve; unset it"
    name = "JAX_PLATFORMS" if platforms is None or platforms == environ.get("JAX_PLATFORMS") else "jax_platforms"
    named = environ.get("JAX_PLATFORMS", "") if platforms is None else platforms
    if named and not {"cuda", "gpu"} & {each.strip() for each in named.split(",")}:
        return f"{name}={brief(named)} leaves out cuda, so there is no device to serve"
    return None


def with_paths_resolved(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables that name a path, each with the path as seen from the present folder, for a program that may go to
    another one before they are read. ConfigError as for `read_options`."""
    options = read_options(environ)
    values = {variable: getattr(options, name) for variable, name in _NAME_OF_VARIABLE.items()}
    return {variable: values[variable] for variable in environ if isinstance(values.get(variable), str)}
