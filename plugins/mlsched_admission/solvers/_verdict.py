"""A verdict on a decision, and the changes that would start the jobs."""

from __future__ import annotations

import dataclasses
from typing import Literal

from mlsched.core.brief import count_of, short_repr
from mlsched_admission.instances import Plan

#: Kinds in the order of the search. "unknown": a limit ended the search before a proof.
Kind = Literal["ineligible", "does not start", "needless", "dominated", "on the front", "unknown"]


@dataclasses.dataclass(frozen=True)
class Point:
    """A plan and its costs: objective -> base value (without the waiting jobs)."""

    values: dict[str, int]
    plan: Plan


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The error of a scheduler's decision, if any, with its witness and proof.

    Kinds, of which the first that applies is given:
    - "ineligible": a protected unit is evicted, each in `ineligible` with its sentence.
    - "does not start": after these evictions, the jobs still do not all start.
    - "needless": they start with fewer evictions; `needless` are the units that can be spared together.
    - "dominated": `witness` is a plan that starts more (or more important) jobs, or evicts only lower priorities, or is
      at least as good in all objectives and better in one.
    - "on the front": such a plan does not exist.

    Attributes:
        sentence: The verdict for people, with names if the instance has some.
        values: Costs of the decision, as in `Point`.
        jobs: Jobs that it should start.
        witness: Plan that shows the verdict (the spared units' plan, the dominating one, the decision's own with places
            for its pods), or None.
        front: All undominated plans among those that start the most important jobs and evict the lowest possible
            priorities.
        complete: The front is proved complete.
        asked: Jobs of the problem, without all others.
        first: Objective between the waiting jobs and the front.
        proof: Proof of the verdict, a sentence.
        evidence: "confirmed" if engines of two kinds proved it, "unconfirmed" if one did, None without a solver's
            proof.
        front_proof, front_evidence: The same for the front.
    """

    kind: Kind
    sentence: str
    jobs: tuple[int, ...]
    evict: tuple[int, ...]
    values: dict[str, int]
    objectives: tuple[str, ...]
    ineligible: tuple[tuple[int, str], ...] = ()
    starts: bool | None = None
    needless: tuple[int, ...] = ()
    witness: Point | None = None
    front: tuple[Point, ...] = ()
    complete: bool = False
    proof: str = ""
    evidence: str | None = None
    asked: tuple[int, ...] = ()
    first: tuple[str, ...] = ()
    front_proof: str = ""
    front_evidence: str | None = None

    def __repr__(self) -> str:
        return short_repr(self, self.sentence or self.kind, count_of(len(self.front), "optimal plan"))


@dataclasses.dataclass(frozen=True)
class Change:
    """A smallest change with which the jobs start without evictions: every part of it is needed in full.

    Attributes:
        nodes: Index of a node -> number of empty copies needed.
        moves: Moved units.
        quota: (queue, flavor) -> rise of its nominal quota.
        limits: Limit -> its rise.
        fewer_pods: Number of the jobs' pods that must be left out.
        wait: Seconds until the units in `ended` have ended by themselves.
        sentence: All this for people.
    """

    sentence: str
    nodes: dict[int, int] = dataclasses.field(default_factory=dict)
    moves: tuple[int, ...] = ()
    quota: dict[tuple[int, int], int] = dataclasses.field(default_factory=dict)
    limits: dict[int, int] = dataclasses.field(default_factory=dict)
    fewer_pods: int = 0
    wait: int = 0
    ended: tuple[int, ...] = ()


@dataclasses.dataclass(frozen=True)
class Needs:
    """The changes that would start the jobs.

    Attributes:
        starts_now: They start without changes and evictions.
        changes: Front of smallest changes, those of fewer kinds first.
        complete: The front is proved complete.
        cannot: Reason why they do not start by allowed evictions either, a sentence; None if they do.
        proof: Proof of `cannot`.
    """

    jobs: tuple[int, ...]
    starts_now: bool
    changes: tuple[Change, ...] = ()
    complete: bool = False
    cannot: str | None = None
    proof: str = ""

    def __repr__(self) -> str:
        changes = [change.sentence for change in self.changes]
        return short_repr(self, *["starts now"] if self.starts_now else changes, None if changes else self.cannot)
