"""Both engines, task by task and by iterations, complete every job at the same time where they describe the same.

They do where placements are held for a job's life, nodes are not shared and wakes are at events. Two kinds of random
workloads are such: graphs with several iterations of which every task has a node to itself; and jobs of one task and
one iteration that queue for shared nodes. Left out of the first are graphs whose third iteration takes another time
than the second (`pace`), and jobs that take no time at all; of the second, runs in which a rule pauses a job: that
gives up its place, and may cost a tick by iterations, where progress is rounded down.
"""

from __future__ import annotations

import numpy as np
from draws import THOROUGH, draws
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mlsched import api
from mlsched.core.registry import registry
from mlsched.instances.taskgraph import Instance
from mlsched.instances.taskgraph.roomy import PAST
from mlsched.instances.taskgraph.strategies import instances
from mlsched.simulation.taskgraph import Workload
from mlsched.simulation.taskgraph.iterations import from_tasks
from mlsched.simulation.taskgraph.strategies import workloads

#: Trained policies see how far jobs are, which the engines tell at different times, and may wait. List rules choose
#: nodes by the simulator, unless they are told how; MLF-C cannot tell the rule that it hands jobs to.
RULES = sorted(
    f"{a.name}:nodes=least-work" if "nodes" in a.parameters else a.name
    for a in registry().available("taskgraph")
    if a.called == "online" and a.kind != "trained" and a.name != "mlf-c"
)


def asked(rules: list[str]) -> st.SearchStrategy[list[str]]:
    """The rules that run a workload: one of them, in the thorough profile all."""
    return st.just(rules) if THOROUGH else st.sampled_from(rules).map(lambda rule: [rule])


def by_arrival(workload: Workload) -> Workload:
    """The workload with its arrivals in order, so that jobs have the same numbers in both engines."""
    horizon = workload.horizon
    return Workload(horizon=horizon.replace(arrival=np.sort(horizon.arrival)), true_duration=workload.true_duration)


def completions(workload: Workload, rule: str, *, gang: bool) -> tuple[list[int], list[int]]:
    """When the jobs are done, in each engine; both runs pass their replay. gang: their tasks start in one round.

    Nothing, twice, where a job was paused in either.
    """
    runs = [api.simulate(load, rule) for load in (workload, from_tasks(workload, gang=gang))]
    assert [run.violations() for run in runs] == [[], []]
    if any(run.jobs["pauses"].any() for run in runs):
        return [], []
    first, second = (run.jobs["completion"].tolist() for run in runs)
    return first, second


def steady(workload: Workload) -> bool:
    """Whether, with every task on a node of its own, all iterations from the second on take the same time.

    Worked out for four iterations, each begun when the one before is complete.
    """
    horizon, took = workload.horizon, workload.true_duration.tolist()
    edges = list(
        zip(
            *(c.tolist() for c in (horizon.edge_from, horizon.edge_to, horizon.edge_lag, horizon.edge_delay)),
            strict=True,
        )
    )
    for job in range(len(horizon.arrival)):
        tasks = np.flatnonzero(horizon.task_job == job).tolist()
        before: dict[int, int] | None = None
        lengths = []
        for _ in range(4):
            ends = {task: took[task] for task in tasks}
            for _ in tasks:
                for u, v, lag, delay in edges:
                    if v in ends and (not lag or before is not None):
                        source = ends[u] if not lag or before is None else before[u]
                        ends[v] = max(ends[v], source + delay * (u != v) + took[v])
            lengths.append(max(ends.values()))
            before = {task: end - lengths[-1] for task, end in ends.items()}
        if not lengths[0] or lengths[1:] != [lengths[1]] * 3:
            return False
    return True


@settings(max_examples=draws(15, 500))
@given(load=workloads(jobs=3, tasks=6, runs=14), rules=asked(RULES))
def test_graphs_with_a_node_for_every_task(load, rules):
    count = len(load.horizon.task_job)
    assume(count and steady(load))
    most = load.horizon.demand.max(axis=0)
    horizon = load.horizon.replace(eligible=np.eye(count, dtype=np.int64), node_capacity=np.tile(most, (count, 1)))
    workload = by_arrival(Workload(horizon=horizon, true_duration=load.true_duration))
    for rule in rules:
        first, second = completions(workload, rule, gang=True)
        assert first == second, rule


@settings(max_examples=draws(15, 500))
@given(drawn=instances(jobs=6, nodes=3, tasks=6, runs=6), rules=asked(RULES), off=st.integers(0, 2))
def test_jobs_of_one_run_that_queue(drawn, rules, off):
    count = len(drawn.task_job)
    assume(count)
    fits = (drawn.demand[:, None, :] <= drawn.node_capacity).all(axis=2) & (drawn.eligible == 1)
    assume(fits.any(axis=1).all())
    jobs = drawn.task_job
    none = {name: [] for name in ("edge_from", "edge_to", "edge_lag", "edge_volume", "edge_delay")}
    horizon = drawn.replace(
        **dict.fromkeys(PAST, ()),
        **none,
        now=0,
        arrival=np.sort(drawn.arrival[jobs]),
        deadline=drawn.deadline[jobs],
        urgency=drawn.urgency[jobs],
        required=drawn.required[jobs],
        accuracy=drawn.accuracy[jobs],
        min_iterations=[1] * count,
        max_iterations=[1] * count,
        task_job=np.arange(count),
        duration=np.maximum(drawn.duration, 1),
    )
    workload = Workload(horizon=horizon, true_duration=horizon.duration + off)
    for rule in rules:
        first, second = completions(workload, rule, gang=False)
        assert first == second, rule


def test_of_jobs_that_mlf_h_wants_alike_a_parameter_server_is_first_in_both():
    none = {name: [] for name in ("edge_from", "edge_to", "edge_lag", "edge_volume", "edge_delay")}
    two = {name: [0, 0] for name in ("arrival", "deadline", "urgency", "required", "parameters")}
    one = {"min_iterations": [1, 1], "max_iterations": [1, 1], "duration": [1, 1], "accuracy": [[0, 0], [0, 0]]}
    horizon = Instance(
        **none,
        **two,
        **one,
        resources=("gpu",),
        node_capacity=[[2], [1]],
        task_job=[0, 1],
        demand=[[1], [2]],
        eligible=[[1, 0], [1, 0]],
        role=[0, 1],
        replica=[0, 0],
        movement="none",
        accuracy_at="deadline",
        tick_ms=60_000,
    )
    workload = Workload(horizon=horizon, true_duration=horizon.duration)
    assert completions(workload, "mlf-h", gang=False) == ([2, 1], [2, 1])
