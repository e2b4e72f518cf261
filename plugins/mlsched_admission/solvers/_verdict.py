"""What a verdict on a decision, and an answer to "what would it take", consist of."""

from __future__ import annotations

import dataclasses
from typing import Literal

from mlsched.core.brief import count_of, short_repr
from mlsched_admission.instances import Plan

#: In the order in which they are looked for. "unknown": a limit ended the search before anything was proved.
Kind = Literal["ineligible", "does not start", "needless", "dominated", "on the front", "unknown"]


@dataclasses.dataclass(frozen=True)
class Point:
    """A plan and what it costs: objective -> base value (the jobs that wait are not in it)."""

    values: dict[str, int]
    plan: Plan


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What is wrong with a scheduler's decision, or that nothing is, with its witness and proof.

    kind: the first that applies. "ineligible": a unit is evicted that may not be, each in `ineligible` with its
    sentence. "does not start": with these units gone, the jobs still do not all start. "needless": they start with
    fewer of these units gone; `needless` are those that can be spared together. "dominated": `witness` is a plan that
    starts more (or more important) jobs, or evicts nobody of as high a priority, or is no worse in any objective and
    better in one. "on the front": no plan is.

    sentence: the verdict for people, with names where the instance has some. values: what the decision costs, as in
    `Point`. jobs: those that it is meant to start. witness: the plan that shows the verdict (the spared units' plan,
    the dominating one, the decision's own with places for its pods), None where none exists. front: all plans that no
    other is better than, among those that start the most important jobs and evict no higher priority than they must;
    complete: that is proved. asked: the jobs of the question, without all others; first: what is compared after the
    jobs that wait and before the front. proof: how the verdict is proved, a sentence. evidence: "confirmed" where
    engines of two kinds proved it, "unconfirmed" where one did, None where it rests on no solver's word.
    front_proof, front_evidence: these of the front.
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
    """A smallest change with which the jobs start and nobody is evicted: nothing in it can be left out or made less.

    nodes: index of a node -> how many more like it, empty, are needed. moves: units that are moved. quota: (queue,
    flavor) -> by how much its nominal quota must rise; limits: limit -> likewise. fewer_pods: how many pods of the jobs
    must be left out. wait: seconds until the units in `ended` have ended by themselves. sentence: all this for people.
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
    """What it would take to start the jobs.

    starts_now: they start with no change and no eviction. changes: the front of smallest changes, those of fewer kinds
    first; complete: that there are no others is proved. cannot: why they do not start by allowed evictions either, a
    sentence; None where they do. proof: how that is proved.
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
