"""Pieces fill the device, three of four are given back, one array needs all that is free (fractalyze/zorch#468)."""

from __future__ import annotations

from benchmarks.models.situations.stage import Stage

PIECES, EVERY = 48, 4
PIECE = 0.25


def play(stage: Stage) -> None:
    """Pieces, holes, one slab; three times."""
    pieces = [stage.make(PIECE, float(i)) for i in range(PIECES)]
    residents = pieces[::EVERY]
    del pieces
    for _ in range(3):
        slab = stage.slab(PIECE * (PIECES - len(residents)))
        del slab
