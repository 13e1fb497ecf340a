"""A trace gone through by an allocation policy, remembered as a recording: what it would have looked like there."""

from __future__ import annotations

from gmlake_jax.formats.leases import columns_of
from gmlake_jax.history.recording import Recording
from gmlake_jax.history.schema import EVENT, NONE, About, HistoryError, table
from gmlake_jax.traces import Columns, TraceError, check_trace

# What the policies call themselves in pictures.
TITLES = {"gmlake": "gmlake_jax", "bfc": "BFC, JAX's default", "gmlake-uniform-2mib": "GMLake's own policy"}


def replayed(columns: Columns, name: str, policy: str, limit: int | None = None) -> Recording:
    """One pass of `policy` over the trace; under a limit, what does not fit is refused. Needs no GPU."""
    from gmlake_jax import _gmlake

    try:
        rows = _gmlake.record_replay(check_trace(name, columns), policy=policy, limit_bytes=limit)
    except (TraceError, RuntimeError) as error:
        raise HistoryError(f"cannot be replayed: {error}") from None
    about = About(allocator=TITLES[policy], program=name, limit_bytes=NONE if limit is None else limit)
    return Recording(about=about, events=table(EVENT, rows))


def replayed_again(recording: Recording, policy: str, limit: int | None = None) -> Recording:
    """What `recording` asked for, under another policy; annotations are lost."""
    columns = columns_of(recording)
    if not (columns.op == 0).any():
        raise HistoryError("nothing was allocated in it, so there is nothing to replay")
    return replayed(columns, recording.about.program, policy, limit)
