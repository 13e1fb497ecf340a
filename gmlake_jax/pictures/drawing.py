"""What all matplotlib pictures have in common: loading the library, axes in humane units, the file."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gmlake_jax.errors import CommandError
from gmlake_jax.history import About, HistoryError

GIB = float(1 << 30)
_STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "svg.hashsalt": "gmlake",
    "svg.fonttype": "none",
}


def new_figure(width: float, height: float) -> Any:
    """An empty figure that no window belongs to. CommandError where matplotlib is missing."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise CommandError("pictures need matplotlib; pip install matplotlib") from None
    settings: Any = matplotlib.rcParams
    settings.update(_STYLE)
    return Figure(figsize=(width, height), layout="constrained", facecolor="white")


def add_legend(axes: Any, **where: Any) -> None:
    """A legend, where there is anything to explain; matplotlib warns where there is nothing."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(**where)


def to_bytes(figure: Any, suffix: str) -> bytes:
    """The figure as PNG or SVG; the same figure is the same bytes."""
    buffer = io.BytesIO()
    metadata = {"Date": None, "Creator": "gmlake_jax"} if suffix == ".svg" else {"Software": "gmlake_jax"}
    figure.savefig(buffer, format=suffix.lstrip("."), dpi=140, metadata=metadata)
    return buffer.getvalue()


def heading(about: About, what: str) -> str:
    """What is shown, of whom."""
    return "  ·  ".join(part for part in (what, about.program, device_text(about)) if part)


def device_text(about: About) -> str:
    return f"{about.device_name}, device {about.device}" if about.device_name else ""


class Scale:
    """A unit for bytes that suits the largest of them."""

    def __init__(self, most: float):
        power = min(int(np.log2(max(most, 1)) // 10), 4)
        self.unit = ("B", "KiB", "MiB", "GiB", "TiB")[power]
        self.factor = float(1 << (10 * power))

    def __call__(self, values: Any) -> NDArray[np.float64]:
        return np.asarray(values, np.float64) / self.factor


class Clock:
    """A unit for times that suits the longest of them."""

    def __init__(self, most_ns: float):
        steps = (("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9))
        self.unit, self.factor = next((step for step in reversed(steps) if most_ns >= 2 * step[1]), steps[0])

    def __call__(self, values: Any) -> NDArray[np.float64]:
        return np.asarray(values, np.float64) / self.factor


def need_blocks(known: bool, what: str) -> None:
    """HistoryError where a picture of physical memory is asked of a source that knows none."""
    if not known:
        raise HistoryError(
            f"knows allocations alone, and nothing of physical memory, so it has no {what}; "
            "--policy gmlake or --policy bfc replays it first"
        )
