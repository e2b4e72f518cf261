"""Note on claims about policies that are level with chance."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from mlsched_papers.claim import Claim, Verdict


def beside_chance(claims: Sequence[Claim]) -> list[Claim]:
    """Note on each claim that its policy is not shown to be better than chance, if that is so.

    A claim names other claims of superiority over chance (`chance`). It gets the note if one of them fails, and if a
    counted measurement of its own is within its bound.

    Raises:
        KeyError: A claim names an unknown claim.
    """
    by_name = {claim.name: claim for claim in claims}
    result = []
    for claim in claims:
        failures = [by_name[name] for name in claim.chance if by_name[name].verdict != "holds"]
        confirmed = any(
            piece.side() == "inside" for piece in claim.measurements if piece.interpretation not in claim.excluded
        )
        words = "; ".join(f"not shown to be above chance: '{c.text}' {_with_notes(c.verdict)}" for c in failures)
        result.append(dataclasses.replace(claim, level=words if confirmed else ""))
    return result


def _with_notes(verdict: Verdict) -> str:
    return verdict if verdict in ("holds", "does not hold", "depends on the interpretation") else f"is {verdict}"
