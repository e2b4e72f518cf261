"""A policy that is level with chance is said to be so beside every claim that it confirms."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from mlsched_papers.claim import Claim, Verdict


def beside_chance(claims: Sequence[Claim]) -> list[Claim]:
    """The claims, each with the claims of `chance` that do not hold, where some piece of its own lies within its bound.

    Raises KeyError where a claim names one that is not among them.
    """
    by_name = {claim.name: claim for claim in claims}
    found = []
    for claim in claims:
        level = [by_name[name] for name in claim.chance if by_name[name].verdict != "holds"]
        confirmed = any(e.side() == "inside" for e in claim.measurements if e.interpretation not in claim.excluded)
        words = "; ".join(f"not shown to be above chance: '{c.text}' {_said(c.verdict)}" for c in level)
        found.append(dataclasses.replace(claim, level=words if confirmed else ""))
    return found


def _said(verdict: Verdict) -> str:
    return verdict if verdict in ("holds", "does not hold", "depends on the interpretation") else f"is {verdict}"
