"""Any rule of the problem `rounds` on nodes: it is asked every round who runs on which type, and the nodes follow.

The rule sees the jobs that there are as a question of rounds (`instances/rounds`): sia (Jayaram Subramanya et al., SOSP
2023), shockwave (Zheng et al., NSDI 2023; a plan is made for each round, and its first round runs), worst-served,
lp-rounding and others of `mlsched list solvers rounds`. Each job has one number of GPUs and a configuration for each
type. A step is a millisecond of work on the type of which durations are stated. Between two rounds what runs goes on;
GPUs that come free start waiting jobs in order of arrival, or idle (`freed`). How plans become starts, pauses and moves
on nodes: `_rounds.py`.
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
    round: Seconds = 360.0,  # noqa: A002  # what the world of rounds calls it
    freed: Literal["start", "idle"] = "start",
    stop: str = "most",
    nodes: str = "auto",
) -> tuple[Round, dict[str, int]]:
    """Ask a rule of rounds each round which jobs run on which type of node.

    rule: its name, with one parameter at most (`shockwave:rounds=5`); one that remembers nothing. round: seconds that a
    round lasts. freed: what becomes of GPUs that come free within a round. stop, nodes: as for fifo. Needs a resource
    that counts GPUs and the length of a tick (`instances/taskgraph/units.py`).
    """
    placer = Placer(snapshot, stop, nodes, rates=True)
    jobs = typed(placer, "round-by-round")
    begins = round_begins(snapshot, memory)
    until = round_ends(snapshot, round) if memory is None or begins else memory["until"]
    kinds = _kinds(jobs, rule, rng, round) if begins and len(jobs.job) else jobs.kind
    fill = np.arange(len(jobs.job)) if begins or freed == "start" else None
    return placer.round(carry_out(placer, jobs, kinds, fill, anew=begins), until), {"until": until}


def _kinds(jobs: Typed, name: str, rng: np.random.Generator, seconds: float) -> IntArray:
    """The type of each job in the round that begins, -1: it waits."""
    known = {a.name: a for a in registry().available("rounds") if a.rule is not None and not a.stateful}
    if name not in known:
        raise InvalidInput(
            f"round-by-round: rule: {name}, expected a rule of rounds that remembers nothing"
            f"{did_you_mean(name, known)}: {', '.join(known)}"
        )
    found = known[name]
    assert found.rule is not None
    instance, kind = _question(jobs, seconds)
    params = resolve(name, found.parameters, {})
    plan, _ = found.rule(instance.shown(found.information), memory=None, rng=rng, limits=Limits(), **params)
    return np.where(plan.config >= 0, kind[plan.config], -1)


def _question(jobs: Typed, seconds: float) -> tuple[Instance, IntArray]:
    """The round that begins now, and the type of each configuration."""
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
