"""Colours that all pictures share. They can be told apart by people who do not see all colours, and on paper."""

from __future__ import annotations

from collections.abc import Iterable

# Paul Tol's "bright" and "muted" schemes, in an order whose neighbours differ in brightness too.
GROUPS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#882255", "#44aa99", "#999933", "#cc6677")
OTHERS = "#b4b4b4"

LIVE, RESERVED, LIMIT, REFUSED = "#4477aa", "#222222", "#cc3311", "#cc3311"
SCATTERED, LARGEST, DOUBT = "#ee7733", "#bbcc33", "#cc3311"

# Where a block lies: from the first to the last home address.
_PLACES = (
    "#3b3b98",
    "#3f6fb5",
    "#2f97b7",
    "#2a9d8f",
    "#5bab4f",
    "#a8b820",
    "#e3b505",
    "#ee8f2d",
    "#e0563a",
    "#b3264a",
    "#7a1f6b",
)


def _rgb(color: str) -> tuple[int, int, int]:
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def _mix(first: str, second: str, share: float) -> str:
    mixed = (round(a + (b - a) * share) for a, b in zip(_rgb(first), _rgb(second), strict=True))
    return "#" + "".join(f"{value:02x}" for value in mixed)


def place_color(share: float) -> str:
    """The colour of a place, 0 being the first home address and 1 the last."""
    position = min(max(share, 0.0), 1.0) * (len(_PLACES) - 1)
    index = min(int(position), len(_PLACES) - 2)
    return _mix(_PLACES[index], _PLACES[index + 1], position - index)


def pale(color: str) -> str:
    """The same colour for what is not in use."""
    return _mix(color, "#ffffff", 0.78)


def group_colors(labels: Iterable[str]) -> dict[str, str]:
    """A colour for each label, the same whenever the labels are the same; "others" is grey."""
    named = [label for label in labels if label != "others"]
    return {label: GROUPS[index % len(GROUPS)] for index, label in enumerate(named)} | {"others": OTHERS}
