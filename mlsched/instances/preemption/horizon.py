"""The preemption problem over time and its plan: all decisions about victims in a run, with jobs known.

FitGpp, LRTP and RAND differ in the victims they suspend for each TE job. The rest of the system is the same under all
of them: one queue with TE jobs first, victims on top of the other BE jobs, first fit, without overtaking (FitGpp paper,
Sections 2 and 3). That queue is part of the problem, and its decisions are the plan: find the best victims and nodes
over the complete run. A decision's score (Eq. 3) is a proxy for this. The judge's docstring has the rules.
"""

from __future__ import annotations

import dataclasses
from types import ModuleType
from typing import ClassVar

import numpy as np

from mlsched.core import contract
from mlsched.core.contract import Objective, Question
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import EXACT, IntArray, array, integer, labels, refuse_falling, refuse_first, text
from mlsched.instances.preemption import horizon_judge
from mlsched.instances.preemption.demand import fits_somewhere

#: P may be at most this: a run's length, and with it every value, has to be bounded.
MOST_PREEMPTIONS = 1000


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Decisions(contract.Plan):
    """The victims of a run: one entry for each request of a TE job, in the order of requests.

    Victim v is job `victim[v]`, signalled by decision `by[v]`. Jobs are numbered as in the horizon.
    """

    kind: ClassVar[str] = "preemption.decisions"

    te: IntArray = array("decisions", doc="the TE job that asks")
    node: IntArray = array("decisions", low=-1, doc="node that it is promised, -1 when it keeps waiting")
    by: IntArray = array("victims", doc="decision that suspends each victim, non-decreasing")
    victim: IntArray = array("victims", doc="BE job that is suspended")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Horizon(contract.Instance):
    """Jobs of both kinds over time on one cluster, everything known; times in s. Jobs are in order of submission."""

    kind: ClassVar[str] = "preemption.horizon"
    problem: ClassVar[str] = "preemption"
    called: ClassVar[Question] = "offline"
    plan_type: ClassVar[type[contract.Plan]] = Decisions
    judge: ClassVar[ModuleType] = horizon_judge
    objectives: ClassVar[tuple[Objective, ...]] = horizon_judge.OBJECTIVES

    resources: tuple[str, ...] = labels("resources", doc="names of the resources")
    node_capacity: IntArray = array("nodes", "resources", doc="capacity of each node")
    submit: IntArray = array("jobs", doc="submission, s, never falling")
    te: IntArray = array("jobs", high=1, doc="1 for a trial-and-error job, 0 for a best-effort job")
    execution: IntArray = array("jobs", low=1, doc="execution time without interruption, s")
    demand: IntArray = array("jobs", "resources", doc="demand while running")
    grace: IntArray = array("jobs", doc="grace period, s")
    tick: int = integer(low=1, default=60, doc="the scheduler acts at multiples of so many seconds")
    preemption_limit: int = integer(high=MOST_PREEMPTIONS, default=1, doc="P: a BE job is suspended at most this often")
    during_grace: str = text(
        choices=("work", "paused"), default="work", doc="whether a victim's work counts until it releases"
    )
    snapshot: int = integer(
        low=1, default=180, doc="a victim without grace period rewinds to multiples of so much work"
    )
    eager: int = integer(high=1, default=1, doc="1: a TE job waits only where no victims could make room for it")
    grace_weight: int = integer(high=10**9, default=4000, doc="s of Eq. 3 in thousandths, in the decisions rules see")

    def check(self) -> None:
        refuse_falling("submit", self.submit)
        fits = fits_somewhere(self.demand, self.node_capacity)
        refuse_first(~fits, "submit", self.submit, "belongs to a job that fits no node: leave it out")
        longest = (self.preemption_limit + 1) * (self.execution + self.grace + self.tick)
        end = max(self.submit.tolist(), default=0) + sum(longest.tolist())
        if (most := 10**6 * (end + 1) * max(1, len(self.submit))) > EXACT:
            raise InvalidInput(f"execution: slowdowns may add up to {most} millionths; use fewer or shorter jobs")

    def table(self, plan: Decisions) -> dict[str, object]:
        """Return one row per decision: the TE job, its node, and its victims."""
        victims_of = [np.flatnonzero(plan.by == k) for k in range(len(plan.te))]
        victims = [", ".join(map(str, plan.victim[rows].tolist())) for rows in victims_of]
        return {"TE job": plan.te, "node": plan.node, "victims": np.array(victims, dtype=object)}
