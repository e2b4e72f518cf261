"""MLF-H where what runs queues as well: who gives way, who keeps its place, and the parts that can be left out."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from jobs_examples import jobs_of
from jobs_examples import rows as segments_of
from mlf_examples import snapshot

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched.heuristics.taskgraph.mlf_h import Settings, ordered
from mlsched.instances.taskgraph.states import RUNNING
from mlsched.simulation.taskgraph.iterations.strategies import workloads
from mlsched.simulation.taskgraph.strategies import wakes

ITERATION = {"queueing": "iteration", "alpha": 1.0}
WORLD = {"simulator": "iterations", "movement": "anytime", "pausing": "keep"}


def ask(seen, **params):
    plan = api.solve(seen, "mlf-h", **params).plan
    assert seen.violations(plan) == []
    return plan


def starts(plan):
    return list(zip(plan.start_task.tolist(), plan.start_node.tolist(), strict=True))


def gang(urgency, *tasks):
    """By `alpha=1`, its priority is its urgency over 10, over the number of its equal parts."""
    return {"urgency": urgency, "gang": 1}, list(tasks)


def test_the_higher_priority_takes_the_place_and_only_that():
    """Jobs of one GPU: 1 and 3 run on the two nodes, 6 and 2 wait. 6 goes before 3 before 2 before 1."""
    jobs = [gang(1, ((1,), {"node": 0})), gang(3, ((1,), {"node": 1})), gang(6, ((1,), {})), gang(2, ((1,), {}))]
    seen = snapshot(9, jobs, nodes=[(1,), (1,)], **WORLD)
    assert ask(seen).pause_task.tolist() == []
    plan = ask(seen, **ITERATION)
    assert (starts(plan), plan.pause_task.tolist()) == ([(2, 0)], [0])


def test_a_job_gives_way_whole_and_what_then_fits_starts():
    """A job of two GPUs gives way to one of one; the second GPU goes to the job behind both."""
    jobs = [gang(3, ((1,), {"node": 0}), ((1,), {"node": 1})), gang(6, ((1,), {})), gang(1, ((1,), {}))]
    seen = snapshot(9, jobs, nodes=[(1,), (1,)], **WORLD)
    plan = ask(seen, **ITERATION)
    assert sorted(plan.pause_task.tolist()) == [0, 1]
    assert sorted(task for task, _ in starts(plan)) == [2, 3]


@pytest.mark.parametrize(("queueing", "preempted"), [("iteration", True), ("last-task", False)])
def test_the_place_of_a_job_is_that_of_its_first_task_or_of_its_last(queueing, preempted):
    """One job of two tasks has most of the model in one of them: it begins before, and ends after, the other job."""
    many = {"urgency": 9, "gang": 1}, [((1,), {"parameters": 9}), ((1,), {"parameters": 1})]
    runs = {"urgency": 5, "gang": 1}, [((1,), {"node": 0})]
    seen = snapshot(9, [many, runs], nodes=[(1,), (1,)], **WORLD)
    plan = ask(seen, queueing=queueing, alpha=1.0)
    assert sorted(task for task, _ in starts(plan)) == [0, 1][: 2 * preempted]
    assert plan.pause_task.tolist() == [2][:preempted]


def test_who_gives_way_for_a_job_that_then_finds_no_host_goes_on():
    """Node 1 uses 8 of its 10 CPUs for a job that stays; a task of 2 would overload it (9), one of 1 would not.

    The urgent task asks for two CPUs and the GPU of the job that would give way: the capacity has them, no host does.
    """
    stays = {"urgency": 9}, [((1, 8), {"node": 0})]
    yields = gang(1, ((1, 1), {"node": 0}))
    jobs = [stays, yields, gang(8, ((1, 2), {}))]
    seen = snapshot(9, jobs, nodes=[(2, 10)], resources=("gpu", "cpu"), **WORLD)
    plan = ask(seen, **ITERATION)
    assert (starts(plan), plan.pause_task.tolist()) == ([], [])
    free = ask(seen, threshold=False, **ITERATION)
    assert (starts(free), free.pause_task.tolist()) == ([(2, 0)], [1])


def test_it_needs_a_world_in_which_runs_may_pause():
    seen = snapshot(9, [gang(1, ((1,), {"node": 0})), gang(6, ((1,), {}))], nodes=[(1,)], simulator="iterations")
    with pytest.raises(InvalidInput, match=r"queueing = iteration: runs may not pause .* or queueing=held"):
        ask(seen, **ITERATION)


def test_in_a_run_the_short_job_goes_before_the_long_one_that_runs():
    """By Eq. 4 alone, with as little time left as counts most: 9 ticks run, 2 arrive at 3, and take over at once."""
    load = jobs_of([[(1, 1)]], [(0, 0, 9), (3, 0, 2)], nodes=[(1,)])
    rule = "mlf-h:alpha=0,gamma_w=0,queueing={}"
    runs = {how: api.simulate(load, rule.format(how)) for how in ("held", "iteration")}
    found = {how: [(r["job"], r["start"], r["end"]) for r in segments_of(run.log)] for how, run in runs.items()}
    assert found["held"] == [(0, 0, 9), (1, 9, 11)]
    assert found["iteration"] == [(0, 0, 3), (1, 3, 5), (0, 5, 11)]


@settings(max_examples=draws(12, 300))
@given(
    work=workloads(jobs=5, gpus=True),
    whole=st.integers(0, 1),
    wake=wakes(),
    hosts=st.sampled_from(["ideal", "least-work", "best-fit"]),
    threshold=st.booleans(),
    migration=st.booleans(),
    overdue=st.sampled_from(["tick", "printed", "none"]),
    order=st.sampled_from(["priority", "arrival", "remaining"]),
    usage=st.sampled_from(["demand", "drawn"]),
    queueing=st.sampled_from(["iteration", "last-task"]),
)
def test_every_run_is_sound_and_nobody_waits_behind_a_job_of_lower_priority_for_nothing(
    work, whole, wake, hosts, threshold, migration, overdue, order, usage, queueing
):
    """The replay accepts every run; where something pauses, something of a higher priority starts in its place."""
    work = work.replace(gang=np.full(len(work.gang), whole))
    given = {"hosts": hosts, "threshold": threshold, "migration": migration, "overdue": overdue, "order": order}
    text = ",".join(f"{name}={str(value).lower()}" for name, value in given.items())
    readings = {"pausing": "keep", "movement": "anytime", "usage": usage}
    run = api.simulate(work, f"mlf-h:queueing={queueing},{text}", options=readings, scheduling_events=wake, record=1.0)
    assert run.violations() == []
    for decision in run.recorded:
        seen, plan = decision.instance, decision.plan
        assert run.replay(decision) == plan
        if len(plan.pause_task):
            key = ordered(seen, seen.max_iterations, Settings(**given))
            assert key[plan.start_task].max() >= key[plan.pause_task].min()
            jobs = seen.task_job[plan.pause_task]
            here = np.isin(seen.task_job, jobs) & (seen.state == RUNNING)
            assert sorted(plan.pause_task.tolist()) == np.flatnonzero(here).tolist()
