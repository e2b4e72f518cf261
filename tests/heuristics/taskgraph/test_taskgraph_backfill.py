"""EASY and conservative backfilling: examples by hand, and that neither delays whom it promises not to."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from draws import draws
from gang_examples import gang_workloads
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from jobs_examples import jobs_of

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched.heuristics.taskgraph import conservative_backfill, easy_backfill
from mlsched.heuristics.taskgraph._reserve import Profile

pytestmark = pytest.mark.filterwarnings("ignore:the offered load")
RNG = np.random.default_rng(0)


def starts(load, rule):
    run = api.simulate(load, rule)
    assert run.violations() == []
    return run.jobs["start"].tolist()


#: One node of 4 GPUs. A holds three until 10; B wants all four; C and D one each, for 9 and 7 ticks.
SHORT = jobs_of([[(10, 3)], [(5, 4)], [(9, 1)], [(7, 1)]], [(0, 0, 1), (1, 1, 1), (2, 2, 1), (3, 3, 1)], nodes=[(4,)])


def test_what_ends_by_the_reservation_may_pass_and_what_does_not_may_not():
    """B is to start at 10: C would hold its GPU until 11, D until 10. Under FIFO with passing, B waits for both."""
    assert starts(SHORT, "easy-backfill") == [0, 10, 15, 3]
    assert starts(SHORT, "conservative-backfill") == [0, 10, 15, 3]
    assert starts(SHORT, "best-effort-fifo") == [0, 17, 2, 10]


#: One node of 4 GPUs. A holds two until 10; B wants three for 10 ticks, C all four for 5, D one for 30.
LONG = jobs_of([[(10, 2)], [(10, 3)], [(5, 4)], [(30, 1)]], [(0, 0, 1), (1, 1, 1), (2, 2, 1), (3, 3, 1)], nodes=[(4,)])


def test_easy_promises_the_first_job_alone_conservative_every_job():
    """Beside B one GPU is left from 10 on: EASY gives it to D at 3, until 33, and C waits for it. Conservatively, C is
    to start at 20, and D has the first 30 ticks beside that from 25 on.
    """
    assert starts(LONG, "easy-backfill") == [0, 10, 33, 3]
    assert starts(LONG, "conservative-backfill") == [0, 10, 20, 25]


def test_room_counts_node_by_node():
    """Two nodes of 2 GPUs. A holds node 0 until 10, B a GPU of node 1 until 20. C wants two GPUs of one node.

    That is node 0, at 10. D, one GPU for 50 ticks, takes what is left of node 1. E, a gang of two, has node 0 at 12.
    """
    load = jobs_of(
        [[(10, 2)], [(20, 1)], [(2, 2)], [(50, 1)], [(1, 1), (1, 1)]],
        [(0, 0, 1), (0, 1, 1), (1, 2, 1), (2, 3, 1), (3, 4, 1)],
        nodes=[(2,), (2,)],
    )
    for rule in ("easy-backfill", "conservative-backfill"):
        assert starts(load, rule) == [0, 0, 10, 2, 12]


def test_when_a_job_ends_early_the_schedule_is_compressed():
    """A is said to take 20 ticks and takes 10."""
    load = LONG.replace(duration=[10, 10, 5, 30], estimate=[20, 10, 5, 30])
    asked = api.simulate(load, "conservative-backfill", record=1.0)
    promised = {d.time: {name: slot[0] for name, slot in (d.memory or {}).items()} for d in asked.recorded}
    assert promised[10] == {"1": 20, "2": 30, "3": 35}, "before the round at 10"
    assert starts(load, "conservative-backfill") == [0, 10, 20, 25]


def test_what_outlasts_its_estimate_delays_and_nothing_gets_lost():
    """A is said to take 5 ticks: B is promised 5, then 6, ..., until A ends at 10; C and D stay behind it."""
    load = SHORT.replace(estimate=[5, 5, 9, 7])
    for rule in ("easy-backfill", "conservative-backfill"):
        assert starts(load, rule) == [0, 10, 15, 15]


def test_the_users_own_estimate_counts_where_there_is_one():
    """C's user says 8 ticks, and it takes 9: it may pass, and B waits until 11. Or A's says 30: so it may.

    Then, conservatively, D is promised 11 at its arrival, though nothing is free. When A ends at 10, B, promised 30,
    takes what there is beside that, 18; D goes first, and B when that ends.
    """
    early, late = (SHORT.replace(time_limit=limits) for limits in ([10, 5, 8, 8], [30, 5, 9, 7]))
    for rule in ("easy-backfill", "conservative-backfill"):
        assert starts(early, rule) == [0, 11, 2, 16]
    assert starts(late, "easy-backfill") == [0, 11, 2, 16]
    assert starts(late, "conservative-backfill") == [0, 17, 2, 10]


#: Two nodes of 2 GPUs, tasks of one. A holds two until 10, B one until 4; C, a gang of three, waits; D takes 20 ticks.
EQUAL = jobs_of(
    [[(10, 1), (10, 1)], [(4, 1)], [(5, 1)] * 3, [(20, 1)]],
    [(0, 0, 1), (0, 1, 1), (1, 2, 1), (2, 3, 1)],
    nodes=[(2,), (2,)],
)


def test_room_is_counted_wherever_it_is_where_all_tasks_ask_for_the_same():
    """At 10 all four GPUs are free, and C needs any three of them: D takes the one that is free at 2 until 22."""
    assert starts(EQUAL, "easy-backfill") == starts(EQUAL, "easy-backfill:reserve=count") == [0, 0, 10, 2]
    assert starts(EQUAL, "conservative-backfill:reserve=count") == [0, 0, 10, 2]


def test_node_by_node_the_reservation_is_of_certain_gpus():
    """C is to have node 1, and a GPU of node 0: which is one of those free at 2, and D would hold it too long."""
    load = EQUAL.replace(node_capacity=[[2], [2]])
    found = {rule: starts(load, f"{rule}:reserve=nodes") for rule in ("easy-backfill", "conservative-backfill")}
    assert all(plan[2] == 10 for plan in found.values())


def test_nothing_is_counted_where_tasks_differ():
    with pytest.raises(InvalidInput, match="reserve = count: tasks ask for different amounts here"):
        api.simulate(SHORT, "easy-backfill:reserve=count")


def counted(load):
    """EASY as textbooks have it, for gangs of equal tasks: starts, by counting free GPUs alone."""
    span = [slice(*load.span(j)) for j in range(len(load.arrival))]
    need = [len(load.demand[s]) for s in span]
    took = [int(-(-int(load.duration[s].max()) * int(load.scale[j]) // 10**6)) for j, s in enumerate(span)]
    total, start, end = int(load.node_capacity.sum()), {}, {}
    times = sorted(set(load.arrival.tolist()))
    while times:
        now = times.pop(0)
        queue = [j for j in range(len(need)) if load.arrival[j] <= now and j not in start]
        free = total - sum(need[j] for j in start if end[j] > now)

        def begin(j, now=now):
            start[j], end[j] = now, now + took[j]
            times.append(end[j])
            times.sort()

        while queue and need[queue[0]] <= free:
            free -= need[queue[0]]
            begin(queue.pop(0))
        if not queue:
            continue
        head, room = queue.pop(0), free
        for shadow in sorted(end[j] for j in start if end[j] > now):
            room = total - sum(need[j] for j in start if end[j] > shadow)
            if room >= need[head]:
                break
        extra = room - need[head]
        for j in queue:
            if need[j] <= free and (now + took[j] <= shadow or need[j] <= extra):
                extra -= need[j] * (now + took[j] > shadow)
                free -= need[j]
                begin(j)
    return [start[j] for j in range(len(need))]


def of_single_gpus(load):
    """The same jobs with tasks of one GPU each, less those that then do not fit the cluster."""
    fits = [b - a <= load.node_capacity.sum() for a, b in load.tasks]
    kept = np.array([fits[template] for template in load.template.tolist()], dtype=bool)
    assume(kept.any())
    return load.replace(demand=np.ones_like(load.demand), **load.only(np.flatnonzero(kept)))


@settings(max_examples=draws(18, 1000))
@given(load=gang_workloads(true=True, equal=True))
def test_by_count_easy_is_the_textbooks(load):
    """Tasks of one GPU, jobs of one iteration."""
    load = of_single_gpus(load)
    once = np.ones_like(load.min_iterations)
    load = load.replace(min_iterations=once, max_iterations=once, estimate=load.duration)
    assert starts(load, "easy-backfill") == counted(load)


def test_depth_limits_who_is_looked_at():
    assert starts(SHORT, "conservative-backfill:depth=2") == [0, 10, 15, 15]


def first_fit(free, tasks):
    """Whether the tasks fit on the nodes in any way."""
    return any(
        all(sum(t for t, n in zip(tasks, nodes, strict=True) if n == node) <= room for node, room in enumerate(free))
        for nodes in itertools.product(range(len(free)), repeat=len(tasks))
    )


def earliest(load, run, seen, running, job):
    """When a job fits if of those that run none starts anew: by the true ends, and any choice of nodes."""
    places = {int(j): nodes for j, nodes in running.items()}
    for time in sorted({seen.now, *(int(run.jobs["completion"][j]) for j in places)}):
        free = load.node_capacity[:, 0].copy()
        for j, nodes in places.items():
            if run.jobs["completion"][j] > time:
                np.subtract.at(free, nodes, load.demand[slice(*load.span(j)), 0])
        if first_fit(free.tolist(), load.demand[slice(*load.span(job)), 0].tolist()):
            return time
    raise AssertionError("a job that never fits")


def placed(seen, plan):
    """Job -> nodes of its tasks: of those that run before the round, and of those that it starts."""
    before, after = {}, {}
    for job in range(len(seen.arrival)):
        tasks = np.flatnonzero(seen.task_job == job)
        if (seen.state[tasks] == 1).all():
            before[seen.job_id[job]] = seen.node[tasks]
        nodes = [
            n for t, n in sorted(zip(plan.start_task.tolist(), plan.start_node.tolist(), strict=True)) if t in tasks
        ]
        if nodes:
            after[seen.job_id[job]] = nodes
    return before, after


@settings(max_examples=draws(12, 1000))
@given(load=gang_workloads(true=True, equal=True))
def test_easy_never_delays_the_first_job_that_waits(load):
    """It starts no later than if nothing behind it were started any more."""
    run = api.simulate(load, "easy-backfill:reserve=nodes", record=1.0)
    assert run.violations() == []
    for decision in run.recorded:
        seen = decision.instance
        running, begun = placed(seen, decision.plan)
        waiting = [j for j in seen.job_id.tolist() if j not in running and j not in begun]
        if not waiting:
            continue
        ahead = {j: nodes for j, nodes in begun.items() if j < waiting[0]}
        assert run.jobs["start"][waiting[0]] <= earliest(load, run, seen, running | ahead, waiting[0])


@settings(max_examples=draws(12, 1000))
@given(load=gang_workloads(true=True), reserve=st.sampled_from(["nodes", "count"]))
def test_promises_are_kept(load, reserve):
    """EASY's to the first that waits, conservative's to all: none is put off, and every job starts by its first."""
    load = of_single_gpus(load) if reserve == "count" else load
    for rule, module in (("easy-backfill", easy_backfill), ("conservative-backfill", conservative_backfill)):
        run = api.simulate(load, f"{rule}:reserve={reserve}", record=1.0)
        assert run.violations() == []
        promised: dict[str, int] = {}
        for decision in run.recorded:
            _, memory = module.answer(decision.instance, memory=decision.memory, rng=RNG, reserve=reserve)
            for name, (start, *_) in memory.items():
                assert start <= promised.get(name, start), rule
                promised[name] = start
        for name, start in promised.items():
            assert run.jobs["start"][int(name)] <= start, rule


@settings(max_examples=draws(9, 500))
@given(load=gang_workloads(true=True))
def test_conservative_promises_every_job_that_waits(load):
    run = api.simulate(load, "conservative-backfill:depth=inf", record=1.0)
    for decision in run.recorded:
        seen = decision.instance
        running, begun = placed(seen, decision.plan)
        _, memory = conservative_backfill.answer(seen, memory=decision.memory, rng=RNG, depth=2**31)
        assert {int(name) for name in memory} == set(seen.job_id.tolist()) - set(running) - set(begun)


@settings(max_examples=draws(5, 1000), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(load=gang_workloads(), reserve=st.sampled_from(["nodes", "auto"]))
def test_promises_that_are_taken_together_are_those_taken_one_by_one(load, reserve, monkeypatch):
    rule = f"conservative-backfill:reserve={reserve}"
    together = api.simulate(load, rule)
    with monkeypatch.context() as patch:
        patch.setattr(Profile, "take_all", lambda *_: False)
        one_by_one = api.simulate(load, rule)
    assert together.log.rows == one_by_one.log.rows
    assert together.log.places == one_by_one.log.places
