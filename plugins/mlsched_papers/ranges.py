"""Pieces of evidence in one line: from the lowest to the highest, never only the nearest to its bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlsched_papers.claim import Bound, Measurement


def ranges(pieces: Sequence[Measurement], *, interpretations: bool = False) -> str:
    """Describe the lowest to the highest mean of pieces, by unit and bound; of a single piece, its sentence.

    Uninformative and unmeasured pieces are never an end. With `interpretations`, each end names its interpretation.
    """
    groups: dict[tuple[str, Bound], list[Measurement]] = {}
    for piece in pieces:
        if piece.side() not in (None, "nothing") or (piece.measured is not None and piece.repeats):
            groups.setdefault((piece.unit, piece.bound), []).append(piece)
    silent = sum(piece.side() == "nothing" for piece in pieces)
    result = [_range(group, interpretations) for group in groups.values()]
    result += [f"{silent} of {len(pieces)} pieces say nothing"] if silent else []
    return "; ".join(result) or "not measured"


def _range(pieces: Sequence[Measurement], interpretations: bool) -> str:
    """Return the two ends of pieces in the same unit with the same bound, or the only piece."""
    low, high = (end(pieces, key=_mean) for end in (min, max))
    ends = [
        f"{piece.value} ({piece.what}{', ' + piece.interpretation if interpretations else ''})" for piece in (low, high)
    ]
    between = ends[0] if low is high else f"{ends[0]} to {ends[1]}"
    return f"{between}, needed: {low.bound}"


def _mean(piece: Measurement) -> float:
    return math.nan if piece.measured is None else piece.measured.mean
