"""What is free, and the largest hole, under JAX's default allocator, whose statistics say 0 of it.

Where it fails, it logs every chunk of its memory, if TF_CPP_MIN_LOG_LEVEL is 0: exact, and of the moment of failure
(`dumped`). Where it does not fail, the gaps between live arrays are taken by their addresses (`largest_gap`). That is
never less than the largest hole: what the allocator pads arrays with, and what programs hold, counts as free there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

Span = tuple[int, int]  # address, bytes
FAILURE = re.compile(r"ran out of memory trying to allocate \S+ \(rounded to (\d+)\)")
CHUNK = re.compile(r"(Free |InUse) at [0-9a-f]+ of size (\d+) next")


def is_valid(total_free: int | None, request: int, largest_hole: int | None) -> bool | None:
    """Whether the bytes were there and one piece of them was not; None where the allocator has no such notion."""
    if total_free is None or largest_hole is None:
        return None
    return total_free >= request > largest_hole


def critical(request: int, total_free: int | None, largest_hole: int | None) -> dict[str, Any]:
    """A request as a result line has it."""
    valid = is_valid(total_free, request, largest_hole)
    return {"request": request, "total_free": total_free, "largest_hole": largest_hole, "valid": valid}


def largest_gap(spans: Iterable[Span], base: int, limit: int) -> int:
    """The largest gap between live spans of the region of `limit` bytes that begins at `base`, its ends included."""
    ordered = sorted(span for span in spans if base <= span[0] < base + limit)
    starts = [address for address, _ in ordered] + [base + limit]
    ends = [base] + [address + size for address, size in ordered]
    return max(max(0, start - end) for start, end in zip(starts, ends, strict=True))


def dumped(log: str) -> dict[str, Any] | None:
    """The last failure that the default allocator has logged, or None."""
    failures = list(FAILURE.finditer(log))
    if not failures:
        return None
    report = log[failures[-1].end() :]
    chunks = [(kind, int(size)) for kind, size in CHUNK.findall(report)]
    free = [size for kind, size in chunks if kind == "Free "]
    if not chunks:
        return None
    return critical(int(failures[-1][1]), sum(free), max(free, default=0)) | {"chunks": len(chunks)}
