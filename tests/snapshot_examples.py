"""Small task-graph clusters for tests of snapshots, the world and the rules."""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import UNLIMITED
from mlsched.heuristics.taskgraph import tiresias
from mlsched.heuristics.taskgraph._order import Facts, SnapshotJob
from mlsched.instances.taskgraph import Instance, Snapshot
from mlsched.simulation.clock import Rule, run
from mlsched.simulation.taskgraph import Options, TaskgraphWorld, Workload
from mlsched.simulation.wake import Wake


def horizon(jobs, *, nodes=((2,), (2,)), resources=("gpu",), edges=(), **changes) -> Instance:
    """jobs: (arrival, iterations, [(duration, demand...), ...]); edges: (from, to, lag, volume, delay)."""
    tasks = [(j, task) for j, job in enumerate(jobs) for task in job[2]]
    most = [job[1] for job in jobs]
    fields = {
        "resources": resources,
        "node_capacity": nodes,
        "arrival": [job[0] for job in jobs],
        "deadline": [UNLIMITED] * len(jobs),
        "urgency": [0] * len(jobs),
        "required": [500_000] * len(jobs),
        "min_iterations": most,
        "max_iterations": most,
        "accuracy": [[min(10**6, 200_000 * i) for i in range(max(most) + 1)]] * len(jobs),
        "task_job": [j for j, _ in tasks],
        "duration": [t[0] for _, t in tasks],
        "demand": [t[1:] for _, t in tasks],
        "eligible": [[1] * len(nodes)] * len(tasks),
        "parameters": [1] * len(tasks),
        "edge_from": [e[0] for e in edges],
        "edge_to": [e[1] for e in edges],
        "edge_lag": [e[2] for e in edges],
        "edge_volume": [e[3] for e in edges],
        "edge_delay": [e[4] for e in edges],
        "tick_ms": 1000,
    }
    return Instance(**{**fields, **changes})


def scripted(rounds) -> Rule:
    """A rule that answers at time t with `rounds[t]`, keywords of `Snapshot.round`, and elsewhere does nothing."""
    return Rule("scripted", lambda snapshot, memory, rng: (snapshot.round(**rounds.get(snapshot.now, {})), memory))


def then_greedy(rounds, until: int) -> Rule:
    """As scripted up to a time, greedy after it."""
    script, eager = scripted(rounds), greedy()
    return Rule(
        "then greedy", lambda seen, memory, rng: (script if seen.now <= until else eager).call(seen, memory, rng)
    )


def play(inst: Instance, rule: Rule, *, true=None, scheduling_events="events", **readings):
    """The workload, the world after a run, and the snapshots that were asked, by their time (the last at each)."""
    load = Workload(horizon=inst, true_duration=inst.duration if true is None else true)
    world = TaskgraphWorld.of(load, Options(**readings))
    trip = run(world, rule, scheduling_events=Wake.parse(scheduling_events), seed=0, record=1.0)
    return load, world, {d.time: d.instance for d in trip.recorded}


def rows(world: TaskgraphWorld) -> list[tuple[int, ...]]:
    """(iteration, task, node, start, end, outcome) in order of time."""
    return sorted((tuple(row[1:]) for row in world.log.rows), key=lambda r: (r[3], r[1], r[4]))


def snapshot_at(inst: Instance, time: int, rounds, **kwargs) -> Snapshot:
    """The snapshot that is asked at a time of a run that follows the script up to then."""
    return play(inst, then_greedy(rounds, time), **kwargs)[2][time]


def ready(seen: Snapshot):
    """tasks x nodes: whether the task could start there now, were there room."""
    return np.array([seen.may_start_on(task) & seen.startable[task] for task in range(len(seen.task_job))])


def greedy() -> Rule:
    """Starts whatever is ready and fits, tasks and nodes in order."""

    def call(seen, memory, rng):
        free, starts = seen.free.copy(), []
        for task in range(len(seen.task_job)):
            for node in range(len(free)):
                if ready(seen)[task, node] and (not seen.duration[task] or (free[node] >= seen.demand[task]).all()):
                    starts.append((task, node))
                    free[node] -= seen.demand[task] * (seen.duration[task] > 0)
                    break
        return seen.round(starts), memory

    return Rule("greedy", call)


def standings(snapshot, memory, thresholds, knob):
    """Where Tiresias sees each job after promotions, a column each; and what it remembers of these."""
    kept = tiresias.answer(
        snapshot, memory=memory, rng=np.random.default_rng(0), first=thresholds[0], second=thresholds[1], knob=knob
    )[1]
    queues, facts = tiresias.Queues(thresholds, knob, kept), Facts(snapshot, snapshot.max_iterations)
    rows = [queues.standing(SnapshotJob(facts, at)) for at in range(len(snapshot.arrival))]
    return tiresias.Standing(*map(np.array, zip(*rows, strict=True))), kept
