"""Harmony-plus: a learned rule for the next placement step, on slowdowns that were learned from history.

Ours, after Harmony (Bao, Peng, Wu, INFOCOM 2019). As in the paper, interference is known only from the measured speeds
of past placements: a model of slowdowns by type is fitted to them (`plus_speeds`). Unlike in the paper, the network is
the same function for every job and every server (`plus_net`), so it accepts any number of jobs, servers and resources.
It places parts of jobs and may choose any waiting job next. It learns from exact answers to small instances of the
fitted model, then from its own best answers (`mlsched train harmony-plus`).
"""

from __future__ import annotations

import functools
from typing import Annotated

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.core.params import Range
from mlsched.core.registry import solver
from mlsched.instances.placement import Instance, Plan
from mlsched.learned.net import Reals
from mlsched.learned.placement.plus_net import PlusNet, View
from mlsched.learned.placement.plus_speeds import Speeds
from mlsched.learned.placement.plus_state import Question, States
from mlsched.learned.weights import Weights, of

#: Stands for a candidate: take none of them.
NONE = -1


@solver("harmony-plus", problem="placement", paper="ours, after Harmony Sections III and IV")
def answer(
    instance: Instance, *, rng: np.random.Generator, weights: str = "", samples: Annotated[int, Range(1, 10**4)] = 8
) -> Plan:
    """Place one part of a job after the other by a learned score; the best of several placements.

    Args:
        instance: The placement decision. Its interference is not read.
        rng: Source of randomness of the drawn placements.
        weights: File that `mlsched train harmony-plus` wrote; "" for the weights that come with mlsched.
        samples: Number of placements. The first always takes the highest score, the others draw by their scores. The
            answer has the highest total speed in the fitted model.
    """
    net, speeds = _network_and_speeds(of("harmony-plus", "placement", weights))
    states = States(Question(instance, speeds), samples)
    complete_placements(states, net, rng)
    return states.plan(int(states.total_speeds().argmax()))


@functools.lru_cache(maxsize=64)
def _network_and_speeds(weights: Weights) -> tuple[PlusNet, Speeds]:
    return PlusNet(weights.tensors), Speeds(weights.tensors, weights.card["data"]["models"])


def complete_placements(states: States, net: PlusNet, rng: np.random.Generator) -> list[View]:
    """Take steps until every state is done, and return the views in order; the first state takes the best score."""
    views = []
    while not states.done.all():
        view, at = states.view_and_candidates()
        choice = choose_candidates(view, *net(view), rng)
        choice[states.done] = NONE
        states.remove_begun_jobs(np.flatnonzero((choice < 0) & ~states.done))
        moves = np.flatnonzero(choice >= 0)
        states.place_parts(moves, *(axis[choice[moves]] for axis in at[1:]))
        views.append(view)
    return views


def choose_candidates(view: View, scores: Reals, stop: Reals, rng: np.random.Generator) -> IntArray:
    """Choose each state's candidate, or NONE if it stops or has no candidate."""
    ends = np.searchsorted(view.state, np.arange(len(stop) + 1))
    if len(stop) > 1:  # the Gumbel-max way of drawing from a softmax, but for the first state
        scores, stop = scores.astype(np.float64), stop.astype(np.float64)
        scores[ends[1] :] += rng.gumbel(size=len(scores) - ends[1])
        stop[1:] += rng.gumbel(size=len(stop) - 1)
    choice = np.full(len(stop), NONE)
    for b, (first, last) in enumerate(zip(ends[:-1], ends[1:], strict=True)):
        if first < last:
            best = first + int(scores[first:last].argmax())
            choice[b] = NONE if view.may_stop[b] and stop[b] > scores[best] else best
    return choice
