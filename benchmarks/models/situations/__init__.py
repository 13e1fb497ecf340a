"""Situations in which allocators broke in real reports, one module each.

Each module has `play(stage)`, which may return figures of its own; its head says what it plays and where the report is.
Nothing here imports JAX, because the parent process lists names alone.
"""

from __future__ import annotations

import importlib
from typing import Any

NAMES = (
    "resume",
    "eager_initialisation",
    "kept_scalars",
    "scattered_residents",
    "jittering_neighbour",
    "rollout_training",
    "growing_caches",
    "layer_streaming",
    "several_models",
)
WHOLE_DEVICE = ("jittering_neighbour",)  # played without a limit


def find(name: str) -> Any:
    """The module of a situation."""
    if name not in NAMES:
        raise SystemExit(f"{name}: no such situation; there are {', '.join(NAMES)}")
    return importlib.import_module(f"benchmarks.models.situations.{name}")
