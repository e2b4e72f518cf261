"""Capacities in the interval model: cumulative or no-overlap over places and all nodes."""

from __future__ import annotations

import numpy as np

from mlsched.core.aliases import Expression
from mlsched.formulations.taskgraph._choices import Choices, Literal, Run
from mlsched.formulations.taskgraph._gpus import Held, share
from mlsched.formulations.taskgraph._places import is_job_shop
from mlsched.formulations.taskgraph._pools import overall


def add_capacities(choices: Choices, start: dict[Run, Expression], end: dict[Run, Expression]) -> Held:
    """Add rules 5 and 6: capacities of all places, implied capacities of all nodes together, and individual GPUs.

    A run's start and end are expressions. A resource that cannot be short on a place is left out.
    """
    layout, cp = choices.layout, choices.cp
    lasting = [(j, i, k) for j, i, k in layout.runs() if layout.duration[k]]

    def interval(run: Run, present: Expression) -> Expression:
        # A fixed-size interval would define the run's end a second time.
        ends = start[run], layout.duration[run[0]], end[run]
        if isinstance(present, int):
            return cp.new_interval_var(*ends, "")
        return cp.new_optional_interval_var(*ends, present, "")

    usage = Held(choices)
    here: list[list[tuple[Run, Literal, Expression]]] = [[] for _ in choices.places]
    for j, i, k in lasting:
        for p, literal in choices.where[k, i].items():
            present = choices.both(literal, choices.running(j, i))
            here[p].append(((k, i), present, interval((k, i), present)))
    for p, (place, runs) in enumerate(zip(choices.places, here, strict=True)):
        if place.whole:
            share(cp, [each for _, _, each in runs], [1] * len(runs), len(place.nodes))
            continue
        if layout.gpus_apart:
            usage.add(p, [(run, present) for run, present, _ in runs], interval)
        tasks = np.array([k for (k, _), _, _ in runs], dtype=np.int64)
        demand = layout.instance.demand[tasks]
        # A task's runs follow one another, so at most its demand is in use.
        most = layout.instance.demand[np.unique(tasks)].sum(axis=0).tolist()
        for r, room in enumerate(layout.capacity[place.nodes[0]]):
            if most[r] > room:
                use = np.flatnonzero(demand[:, r])
                share(cp, [runs[n][2] for n in use.tolist()], demand[use, r].tolist(), room)
    # In a job shop the machines' own rows imply it, and CP-SAT is a fifth slower with it.
    if len(choices.places) > 1 and not is_job_shop(layout):
        everywhere = [(k, interval((k, i), choices.running(j, i))) for j, i, k in lasting]
        for pool in overall(layout):
            if sum(pool.demand.values()) > pool.capacity:
                together = [(each, pool.demand[k]) for k, each in everywhere if k in pool.demand]
                cp.add_cumulative([each for each, _ in together], [d for _, d in together], pool.capacity)
    return usage
