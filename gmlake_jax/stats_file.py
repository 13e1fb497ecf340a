"""Memory statistics as a JSON file: written when a program ends (option `stats_file`), read by `gmlake stats`."""

from __future__ import annotations

import atexit
import json
import os
from pathlib import Path
from typing import Any

from gmlake_jax._version import __version__
from gmlake_jax.errors import CommandError
from gmlake_jax.library import open_library
from gmlake_jax.stats import derive

_FORMAT = "gmlake-stats-1"


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


def _write(path: Path) -> None:
    path.write_text(json.dumps(_collect(), indent=1) + "\n")


def write_at_exit(path: str) -> None:
    """Writes `path` when this process ends; `%p` in it stands for the process id, for programs of several processes."""
    pid = os.getpid()

    def write() -> None:
        if os.getpid() == pid:  # not in a forked child
            _write(Path(path.replace("%p", str(pid))))

    atexit.register(write)


def read(path: str) -> dict[str, Any]:
    """The content of such a file; CommandError where it is none."""
    try:
        content = json.loads(Path(path).read_text())
    except FileNotFoundError:
        raise CommandError(f"{path}: no such file; a program run with GMLAKE_STATS_FILE={path} writes it") from None
    except (OSError, ValueError) as error:
        raise CommandError(f"{path}: cannot be read ({error})") from None
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise CommandError(f"{path}: not a statistics file of gmlake_jax; GMLAKE_STATS_FILE writes one")
    return content


def read_device(path: str, device: int) -> dict[str, Any]:
    """The statistics of one device, by its CUDA ordinal, in such a file."""
    content = read(path)
    devices: list[dict[str, Any]] = content["devices"]
    if not devices:
        raise CommandError(f"{path}: the program had no device under gmlake_jax ({content['state']})")
    ordinals: list[int] = content.get("ordinals", list(range(len(devices))))
    if device not in ordinals:
        raise CommandError(f"{path}: no device {device}; the program had {', '.join(map(str, ordinals))}")
    return devices[ordinals.index(device)]
