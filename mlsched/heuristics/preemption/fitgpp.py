"""FitGpp: suspend the one BE job of least score that makes room on its own (Yabuuchi et al. 2019, Eqs. 1-4).

For each TE job in queue order: the first node with room needs no victim. Else, among the BE jobs below the preemption
limit whose node would have room without them (Eq. 4), the one of least Eq. 3 score; ties go to the lowest index. When
no single job suffices, random jobs below the limit are suspended, anywhere in the cluster, until some node has room
(Section 3.2); when that cannot succeed either, the TE job waits. fallback="again" is the literal reading of "preempts a
random BE job": one random victim, then Eq. 4 anew with what it releases.

Where this goes beyond the paper's words. Eq. 2's N is what is free and what earlier victims of the node still drain,
less what waiting TE jobs have reserved there: the paper has "unallocated resources" and no reservations. The paper does
not say whether a random job may be one at the limit P (here never), what happens when no set of victims suffices (here
nobody is suspended), or how ties are broken. Capacities of Eq. 1 are those of the job's own node, where the paper's
nodes are alike. Eq. 3's second term is 0 when all grace periods are 0. Scores are rounded to millionths.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.core.params import Range
from mlsched.core.registry import solver
from mlsched.heuristics.preemption._room import Room
from mlsched.instances.preemption import Instance, Plan

if TYPE_CHECKING:
    from collections.abc import Mapping


def own_limit(params: Mapping[str, Any]) -> dict[str, Any]:
    """On the clock, a rule's own P is the limit that the world keeps."""
    return {"preemption_limit": params["P"]} if params["P"] else {}


class Way(enum.Enum):
    """How a TE job is served: into room that is there, by Eq. 4's one victim, by random victims, or not now."""

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
    """One victim of least score that makes room by itself; random victims when none does."""
    return answer_with_ways(instance, rng=rng, s=s, P=P, fallback=fallback)[0]


def answer_with_ways(
    instance: Instance, *, rng: np.random.Generator, s: float = 4.0, P: int = 0, fallback: str = "random"
) -> tuple[Plan, list[Way]]:
    """The plan, and in which way each TE job was served, in queue order."""
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
    """Suspend random jobs until some node has room for `demand`; returns that node. Enough jobs may be preempted."""
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
    """Eq. 4: the job of least score that makes room on its own, -1 if there is none."""
    instance = room.instance
    enough = (instance.job_demand + room.free[instance.job_node] >= demand).all(axis=1) & room.preemptible
    able = np.flatnonzero(enough)
    return int(able[np.argmin(scores[able])]) if able.size else -1
