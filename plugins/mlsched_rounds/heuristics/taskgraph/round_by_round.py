"""Any heuristic of the problem `rounds` on nodes: it chooses each round's jobs and types, and the nodes follow.

The heuristic sees the present jobs as an instance of rounds (`instances/rounds`). Examples are sia (Jayaram Subramanya
et al., SOSP 2023), shockwave (Zheng et al., NSDI 2023; a new plan for each round, whose first round runs), worst-served
and lp-rounding; see `mlsched list solvers rounds`. Each job has one GPU count and a configuration for each type. A step
is a millisecond of work on the type of the stated durations. Between two rounds running jobs continue. GPUs that become
free start waiting jobs in order of arrival, or idle (`freed`). `_rounds.py` turns plans into starts, pauses and moves
on nodes.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from mlsched.core.errors import InvalidInput, did_you_mean
from mlsched.core.fields import IntArray
from mlsched.core.formulation import Limits
from mlsched.core.params import resolve
from mlsched.core.registry import registry, solver
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched_rounds.heuristics.taskgraph._rounds import Seconds, Typed, carry_out, round_begins, round_ends, typed
from mlsched_rounds.instances import Instance
from mlsched_rounds.instances.goodput import Configurations
from mlsched_rounds.instances.tables import State, from_rates

#: Steps of a second of work.
STEPS = 1000


@solver(
    "round-by-round",
    problem="taskgraph",
    called="online",
    information="profiled",
    stateful=True,
    world=lambda params: {"pausing": "keep"},
    paper="Sia, Section 3; Shockwave, Section 6",
)
def answer(
    snapshot: Snapshot,
    *,
    memory: dict[str, int] | None,
    rng: np.random.Generator,
    rule: str = "sia",
    round: Seconds = 360.0,  # noqa: A002  # the option's name in the simulator of rounds
    freed: Literal["start", "idle"] = "start",
    stop: str = "most",
    nodes: str = "auto",
) -> tuple[Round, dict[str, int]]:
    """Choose each round's jobs and node types by a heuristic of rounds.

    Needs a resource that counts GPUs and the length of a tick (`instances/taskgraph/units.py`).

    Args:
        snapshot: Current state of the cluster.
        memory: Memory of the last decision.
        rng: Source of random numbers.
        rule: Name of a heuristic without memory, with one parameter at most (`shockwave:rounds=5`).
        round: Length of a round in seconds.
        freed: Use of GPUs that become free within a round.
        stop, nodes: As for fifo.
    """
    placer = Placer(snapshot, stop, nodes, rates=True)
    jobs = typed(placer, "round-by-round")
    begins = round_begins(snapshot, memory)
    until = round_ends(snapshot, round) if memory is None or begins else memory["until"]
    kinds = _kinds(jobs, rule, rng, round) if begins and len(jobs.job) else jobs.kind
    fill = np.arange(len(jobs.job)) if begins or freed == "start" else None
    return placer.round(carry_out(placer, jobs, kinds, fill, anew=begins), until), {"until": until}


def _kinds(jobs: Typed, name: str, rng: np.random.Generator, seconds: float) -> IntArray:
    """Return the type of each job in the round that begins; -1: it waits."""
    lookup = {a.name: a for a in registry().available("rounds") if a.rule is not None and not a.stateful}
    if name not in lookup:
        raise InvalidInput(
            f"round-by-round: rule: {name}, expected a rule of rounds that remembers nothing"
            f"{did_you_mean(name, lookup)}: {', '.join(lookup)}"
        )
    result = lookup[name]
    assert result.rule is not None
    instance, kind = _question(jobs, seconds)
    params = resolve(name, result.parameters, {})
    plan, _ = result.rule(instance.shown(result.information), memory=None, rng=rng, limits=Limits(), **params)
    return np.where(plan.config >= 0, kind[plan.config], -1)


def _question(jobs: Typed, seconds: float) -> tuple[Instance, IntArray]:
    """Return the round that begins now, and the type of each configuration."""
    sizes, types = np.unique(jobs.gpus), len(jobs.capacity)
    kind, size = np.repeat(np.arange(types), len(sizes)), np.tile(sizes, types)
    instance = from_rates(
        STEPS * jobs.rate[:, kind] * (jobs.gpus[:, None] == size),
        Configurations(kind, size, jobs.capacity),
        State(
            remaining=np.maximum(np.rint(STEPS * jobs.remaining), 1),
            done=np.rint(STEPS * jobs.done),
            age=jobs.age,
            current=np.where(jobs.kind >= 0, jobs.kind * len(sizes) + np.searchsorted(sizes, jobs.gpus), -1),
            restarts=np.zeros(len(jobs.job), dtype=np.int64),
            restart_seconds=jobs.pause,
        ),
        length=seconds,
        pause=min(seconds, float(jobs.pause.max(initial=0.0))),
    )
    return instance, kind
