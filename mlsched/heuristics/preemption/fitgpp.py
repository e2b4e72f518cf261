"""FitGpp: suspend the one BE job of least score that makes room on its own (Yabuuchi et al. 2019, Eqs. 1-4).

For each TE job in queue order: the first node with room needs no victim. Otherwise, the candidates are the BE jobs
below the preemption limit whose node would have room without them (Eq. 4). The candidate of least Eq. 3 score is
suspended; ties go to the lowest index. Without a candidate, random jobs below the limit are suspended, on any node,
until some node has room (Section 3.2). If even that cannot succeed, the TE job waits. fallback="again" is the literal
reading of "preempts a random BE job": one random victim, then Eq. 4 again with its released resources.

Points that the paper leaves open:

- Eq. 2's N is the free amount plus the amount that earlier victims of the node still drain, minus the reservations of
  waiting TE jobs. The paper has "unallocated resources" without reservations.
- A random victim is never a job at the limit P.
- If all possible victims do not suffice, all jobs continue.
- Ties go to the lowest index.
- Capacities of Eq. 1 are of the job's own node; the paper's nodes are alike.
- Eq. 3's second term is 0 if all grace periods are 0. Scores are rounded to millionths.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from mlsched.core.aliases import Data
from mlsched.core.fields import IntArray
from mlsched.core.params import Range
from mlsched.core.registry import solver
from mlsched.heuristics.preemption._room import Room
from mlsched.instances.preemption import Instance, Plan

if TYPE_CHECKING:
    from collections.abc import Mapping


def own_limit(params: Mapping[str, Any]) -> Data:
    """Return the simulator option: on the clock, a rule's own P is the limit of the world."""
    return {"preemption_limit": params["P"]} if params["P"] else {}


class Way(enum.Enum):
    """Source of a TE job's room: free room, Eq. 4's single victim, random victims, or none (the job waits)."""

    ROOM = "room"
    ONE_VICTIM = "Eq. 4"
    FALLBACK = "fallback"
    WAITS = "waits"


@solver(
    "fitgpp",
    problem="preemption",
    objectives=("total_score",),
    warm_start=True,
    world=own_limit,
    paper="FitGpp, Eqs. 1-4",
)
def answer(
    instance: Instance,
    *,
    rng: np.random.Generator,
    s: Annotated[float, Range(0, 10**6)] = 4.0,
    P: int = 0,
    fallback: Literal["random", "again"] = "random",
) -> Plan:
    """Suspend the single victim of least score that makes room; otherwise random victims."""
    return answer_with_ways(instance, rng=rng, s=s, P=P, fallback=fallback)[0]


def answer_with_ways(
    instance: Instance, *, rng: np.random.Generator, s: float = 4.0, P: int = 0, fallback: str = "random"
) -> tuple[Plan, list[Way]]:
    """Return the plan, and the source of each TE job's room, in queue order."""
    room, ways = Room(instance, P), list[Way]()
    scores = instance.score if instance.grace_weight == round(1000 * s) else instance.scores(s)
    for demand in instance.te_demand:
        node, way = room.first_fit(demand), Way.ROOM
        if node < 0 and (victim := best_single(room, demand, scores)) >= 0:
            node, way = room.suspend(victim), Way.ONE_VICTIM
        elif node < 0 and room.can_fit(demand):
            node, way = _fall_back(room, demand, scores, rng, again=fallback == "again"), Way.FALLBACK
        elif node < 0:
            way = Way.WAITS
        room.place(demand, node)
        ways.append(way)
    return room.plan(), ways


def _fall_back(room: Room, demand: IntArray, scores: IntArray, rng: np.random.Generator, *, again: bool) -> int:
    """Suspend random jobs until some node has room for `demand`; return that node. Enough jobs may be preempted."""
    while True:
        order = rng.permutation(np.flatnonzero(room.preemptible))
        if not again:
            return room.suspend_until_fit(demand, order)
        node = room.suspend(int(order[0]))
        if (room.free[node] >= demand).all():
            return node
        victim = best_single(room, demand, scores)
        if victim >= 0:
            return room.suspend(victim)


def best_single(room: Room, demand: IntArray, scores: IntArray) -> int:
    """Return the job of least score that makes room on its own (Eq. 4), or -1."""
    instance = room.instance
    enough = (instance.job_demand + room.free[instance.job_node] >= demand).all(axis=1) & room.preemptible
    able = np.flatnonzero(enough)
    return int(able[np.argmin(scores[able])]) if able.size else -1
