"""Memory statistics as a JSON file: written when a program ends (option `stats_file`), read by `gmlake stats`."""

from __future__ import annotations

import atexit
import json
import os
from typing import Any

from gmlake_jax._version import __version__
from gmlake_jax.errors import CommandError, GmlakeError
from gmlake_jax.library import open_library
from gmlake_jax.output import say, write_file
from gmlake_jax.stats import derive
from gmlake_jax.stats_schema import check_stats
from gmlake_jax.untrusted import MIB, brief, parse_json, read_regular

_FORMAT = "gmlake-stats-1"
_MOST_BYTES = 16 * MIB


def _collect() -> dict[str, Any]:
    library = open_library()
    ordinals = library.ordinals()
    devices = [derive(library.stats(ordinal)) for ordinal in ordinals]
    return {
        "format": _FORMAT,
        "version": __version__,
        "state": library.state(),
        "ordinals": ordinals,
        "devices": devices,
    }


def _write(path: str) -> None:
    """The program ends with what it ended with, so a failure is one line here and no more."""
    try:
        write_file(path, json.dumps(_collect(), indent=1) + "\n", force=True)
    except (GmlakeError, RuntimeError) as error:
        say(f"[gmlake_jax] the memory statistics are lost: {error}")


def write_at_exit(path: str) -> None:
    """Writes `path` when this process ends; `%p` in it stands for the process id, for programs of several processes."""
    pid = os.getpid()

    def write() -> None:
        if os.getpid() == pid:  # not in a forked child
            _write(path.replace("%p", str(pid)))

    atexit.register(write)


def read(path: str) -> dict[str, Any]:
    """The content of such a file; CommandError where it is none."""
    try:
        content = parse_json(read_regular(path, _MOST_BYTES))
        if not isinstance(content, dict) or content.get("format") != _FORMAT:
            raise _foreign(path)
        check_stats(content)
    except FileNotFoundError:
        raise CommandError(f"{path}: no such file; a program run with GMLAKE_STATS_FILE={path} writes it") from None
    except OSError as error:
        raise CommandError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise _foreign(path) from None
    except ValueError as error:
        raise CommandError(f"{path}: cannot be read: {brief(error)}") from None
    return content


def _foreign(path: str) -> CommandError:
    return CommandError(
        f"{path}: not a statistics file of gmlake_jax; GMLAKE_STATS_FILE writes one (`gmlake report` reads .npz files)"
    )


def read_device(path: str, device: int) -> dict[str, Any]:
    """The statistics of one device, by its CUDA ordinal, in such a file."""
    content = read(path)
    devices: list[dict[str, Any]] = content["devices"]
    if not devices:
        raise CommandError(f"{path}: the program had no device under gmlake_jax ({brief(content.get('state'))})")
    ordinals: list[int] = content.get("ordinals", list(range(len(devices))))
    if device not in ordinals:
        raise CommandError(f"{path}: no device {device}; the program had {', '.join(map(str, ordinals))}")
    return devices[ordinals.index(device)]
