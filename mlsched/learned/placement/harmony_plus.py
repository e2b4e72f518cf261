"""Harmony-plus: a learned rule of what to place next, on slowdowns that were learned from history.

Ours, after Harmony (Bao, Peng, Wu, INFOCOM 2019). As there, nothing is known of interference but the speeds that
placements of the past were measured to have: a model of slowdowns by type is fitted to them (`plus_speeds`). Other
than there, the network is the same function for every job and every server (`plus_net`), so that it answers any number
of jobs, servers and resources; it places parts of jobs and may choose any waiting job next; and it learns from exact
answers to small questions, asked of the fitted model, and then from its own best ones (`mlsched train harmony-plus`).
"""

from __future__ import annotations

import functools
from typing import Annotated, Any

import numpy as np

from mlsched.core.params import Range
from mlsched.core.registry import solver
from mlsched.instances.placement import Instance, Plan
from mlsched.learned.placement.plus_net import PlusNet, View
from mlsched.learned.placement.plus_speeds import Speeds
from mlsched.learned.placement.plus_state import Question, States
from mlsched.learned.weights import Weights, of

#: Instead of a candidate: none is taken.
NONE = -1


@solver("harmony-plus", problem="placement", paper="ours, after Harmony Sections III and IV")
def answer(
    instance: Instance, *, rng: np.random.Generator, weights: str = "", samples: Annotated[int, Range(1, 10**4)] = 8
) -> Plan:
    """One part of a job after the other by a learned score; the best of several placements by learned speeds.

    weights: a file that `mlsched train harmony-plus` wrote; "": the weights that come with mlsched. samples: so many
    placements are made, the first always by the highest score, the others drawn by their scores; the one with the
    highest total speed by the fitted model is the answer. The instance's interference is not looked at.
    """
    net, speeds = _made(of("harmony-plus", "placement", weights))
    states = States(Question(instance, speeds), samples)
    fill(states, net, rng)
    return states.plan(int(states.values().argmax()))


@functools.lru_cache(maxsize=64)
def _made(weights: Weights) -> tuple[PlusNet, Speeds]:
    return PlusNet(weights.tensors), Speeds(weights.tensors, weights.card["data"]["models"])


def fill(states: States, net: PlusNet, rng: np.random.Generator) -> list[View]:
    """Take steps until every state is done: the first the best by score, the others drawn. What was seen, in order."""
    seen = []
    while not states.done.all():
        view, at = states.look()
        taken = choose(view, *net(view), rng)
        taken[states.done] = NONE
        states.give_up(np.flatnonzero((taken < 0) & ~states.done))
        moves = np.flatnonzero(taken >= 0)
        states.put(moves, *(axis[taken[moves]] for axis in at[1:]))
        seen.append(view)
    return seen


def choose(view: View, scores: Any, stop: Any, rng: np.random.Generator) -> Any:
    """The candidate that each state takes, or NONE: it stops, or has none."""
    ends = np.searchsorted(view.state, np.arange(len(stop) + 1))
    if len(stop) > 1:  # the Gumbel-max way of drawing from a softmax, but for the first state
        scores, stop = scores.astype(np.float64), stop.astype(np.float64)
        scores[ends[1] :] += rng.gumbel(size=len(scores) - ends[1])
        stop[1:] += rng.gumbel(size=len(stop) - 1)
    taken = np.full(len(stop), NONE)
    for b, (first, last) in enumerate(zip(ends[:-1], ends[1:], strict=True)):
        if first < last:
            best = first + int(scores[first:last].argmax())
            taken[b] = NONE if view.may_stop[b] and stop[b] > scores[best] else best
    return taken
