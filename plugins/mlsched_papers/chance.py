"""Note on claims about policies that are level with chance."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from mlsched_papers.claim import Claim, Verdict


def beside_chance(claims: Sequence[Claim]) -> list[Claim]:
    """Attach to each claim its failed claims of `chance`, if some piece of its own is within its bound.

    Raises KeyError if a claim names an unknown one.
    """
    by_name = {claim.name: claim for claim in claims}
    result = []
    for claim in claims:
        level = [by_name[name] for name in claim.chance if by_name[name].verdict != "holds"]
        confirmed = any(e.side() == "inside" for e in claim.measurements if e.interpretation not in claim.excluded)
        words = "; ".join(f"not shown to be above chance: '{c.text}' {_with_notes(c.verdict)}" for c in level)
        result.append(dataclasses.replace(claim, level=words if confirmed else ""))
    return result


def _with_notes(verdict: Verdict) -> str:
    return verdict if verdict in ("holds", "does not hold", "depends on the interpretation") else f"is {verdict}"
