"""SRPT: the least estimated work left comes first, by work or by time, and with preempt at once."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from draws import draws
from gang_examples import gang_workloads
from hypothesis import given, settings
from hypothesis import strategies as st
from jobs_examples import jobs_of, rows
from snapshot_examples import horizon

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched.heuristics.taskgraph import srpt
from mlsched.heuristics.taskgraph.measures import remaining_ticks, share_units, sum_per_job
from mlsched.simulation.taskgraph.iterations import IterationWorld, Options

pytestmark = pytest.mark.filterwarnings("ignore:the offered load")


def starts(inst, rule):
    plan = api.solve(inst, rule).plan
    return {(t, i): s for t, i, s in zip(plan.task.tolist(), plan.iteration.tolist(), plan.start.tolist(), strict=True)}


def test_the_shortest_job_goes_first():
    inst = horizon([(0, 1, [(5, 1)]), (0, 1, [(2, 1)]), (0, 1, [(3, 1)])], nodes=[(1,)])
    assert starts(inst, "srpt") == {(1, 0): 0, (2, 0): 2, (0, 0): 5}


def test_what_counts_is_what_is_left():
    """Job 0 has one iteration of 4 left when job 1 comes with 5 ticks of work; two when it comes with 7."""
    for work, order in ((5, [(0, 1), (1, 0)]), (3, [(1, 0), (0, 1)])):
        inst = horizon([(0, 2, [(4, 1)]), (1, 1, [(work, 1)])], nodes=[(1,)])
        later = {key: start for key, start in starts(inst, "srpt").items() if start}
        assert sorted(later, key=later.get) == order


@pytest.mark.parametrize(("size", "first"), [("work", 1), ("time", 0), ("area", 1)])
def test_work_counts_what_is_held_time_only_the_longest_chain(size, first):
    """Job 0: 3 ticks on 4 of 4 GPUs; job 1: 5 ticks on one. Work 12 against 5, time 3 against 5."""
    inst = horizon([(0, 1, [(3, 4)]), (0, 1, [(5, 1)])], nodes=[(4,)])
    found = starts(inst, f"srpt:size={size}")
    assert min(found, key=found.get) == (first, 0)


@pytest.mark.parametrize(("size", "first"), [("work", 0), ("time", 1), ("area", 1)])
def test_area_counts_what_tasks_hold_while_they_wait_for_each_other(size, first):
    """Job 0: two tasks of 3 ticks and one GPU, one after the other; job 1: 4 ticks on two GPUs.

    Work 6 against 8, time 6 against 4, area 6 x 2 against 4 x 2.
    """
    jobs = [(0, 1, [(3, 1), (3, 1)]), (0, 1, [(4, 2)])]
    inst = horizon(jobs, nodes=[(2,)]).replace(
        edge_from=[0], edge_to=[1], edge_lag=[0], edge_volume=[0], edge_delay=[0]
    )
    found = starts(inst, f"srpt:size={size}")
    assert min(found, key=found.get)[0] == 2 * first


def test_estimates_decide_not_the_truth():
    from mlsched.simulation.taskgraph import Workload

    inst = horizon([(0, 1, [(5, 1)]), (0, 1, [(4, 1)])], nodes=[(1,)])
    load = Workload(horizon=inst, true_duration=[1, 9])
    assert api.simulate(load, "srpt").jobs["start"].tolist() == [9, 0]
    assert api.simulate(load, "srpt", options={"information": "oracle"}).jobs["start"].tolist() == [0, 1]


#: One GPU; jobs of whole ticks: 0 takes 9 from 0 on, 1 takes 4 from 2 on, 2 takes 1 from 3 on.
THREE = jobs_of([[(1, 1)]], [(0, 0, 9), (2, 0, 4), (3, 0, 1)], nodes=[(1,)])


def segments(run):
    return [(row["job"], row["start"], row["end"]) for row in rows(run.log)]


def test_with_preempt_the_job_with_less_left_takes_over_at_once():
    """At 2 job 0 has 7 left and job 1 needs 4; at 3 job 1 has 3 left and job 2 needs 1."""
    run = api.simulate(THREE, "srpt:preempt=true", record=1.0)
    assert segments(run) == [(0, 0, 2), (1, 2, 3), (2, 3, 4), (1, 4, 7), (0, 7, 14)]
    assert run.violations() == []
    assert segments(api.simulate(THREE, "srpt")) == [(0, 0, 9), (2, 9, 10), (1, 10, 14)]


def test_nobody_gives_way_to_a_job_with_as_much_left():
    load = jobs_of([[(1, 1)]], [(0, 0, 9), (4, 0, 5)], nodes=[(1,)])
    assert segments(api.simulate(load, "srpt:preempt=true")) == [(0, 0, 9), (1, 9, 14)]


def test_time_counts_what_has_been_done_of_an_iteration():
    """One iteration of 9 ticks, of which 7 are done when 4 ticks of another job arrive."""
    load = jobs_of([[(9, 1)], [(4, 1)]], [(0, 0, 1), (7, 1, 1)], nodes=[(1,)])
    assert segments(api.simulate(load, "srtf:size=time,preempt=true")) == [(0, 0, 9), (1, 9, 13)]


def test_a_gang_gives_way_whole_and_by_work_later_than_by_time():
    """Job 0: two GPUs for 6 ticks, job 1 comes at 1 with one GPU for 7: work 10 against 7, time 5 against 7."""
    load = jobs_of([[(1, 1), (1, 1)], [(1, 1)]], [(0, 0, 6), (1, 1, 7)], nodes=[(1,), (1,)])
    assert segments(api.simulate(load, "srpt:preempt=true")) == [(0, 0, 1), (1, 1, 8), (0, 8, 13)]
    assert segments(api.simulate(load, "srpt:preempt=true,size=time")) == [(0, 0, 6), (1, 6, 13)]


def test_preempt_needs_a_world_in_which_runs_may_pause():
    for options in ({"pausing": "none"}, {"pausing": "restart"}):
        with pytest.raises(
            InvalidInput, match="srpt: preempt = true: runs may not pause and resume later here"
        ) as caught:
            api.simulate(THREE, "srpt:preempt=true", options=options)
        assert "\n" not in str(caught.value)


@settings(max_examples=draws(8, 200))
@given(load=gang_workloads(), preempt=st.booleans())
def test_srtf_is_another_name_for_it(load, preempt):
    first, second = (api.simulate(load, f"{name}:preempt={str(preempt).lower()}") for name in ("srpt", "srtf"))
    assert first.log.rows == second.log.rows


def least_total(jobs):
    """The least sum of completion times of (arrival, length) on one machine that may interrupt at every tick."""

    @functools.cache
    def rest(time, left):
        waiting = [j for j, ticks in enumerate(left) if ticks and jobs[j][0] <= time]
        if not any(left):
            return 0
        if not waiting:
            return rest(time + 1, left)
        best = None
        for j in waiting:
            after = tuple(ticks - (k == j) for k, ticks in enumerate(left))
            value = (time + 1) * (not after[j]) + rest(time + 1, after)
            best = value if best is None else min(best, value)
        return best

    return rest(0, tuple(length for _, length in jobs))


@settings(max_examples=draws(9, 300))
@given(
    jobs=st.lists(st.tuples(st.integers(0, 6), st.integers(1, 4)), min_size=1, max_size=4),
    size=st.sampled_from(["work", "time", "area"]),
)
def test_on_one_machine_it_is_optimal_where_it_may_preempt(jobs, size):
    jobs.sort()
    load = jobs_of([[(1, 1)]], [(arrival, 0, length) for arrival, length in jobs], nodes=[(1,)])
    run = api.simulate(load, f"srpt:preempt=true,size={size}")
    assert sum(run.jobs["completion"].tolist()) == least_total(tuple(jobs))


def running_and_waiting(costs, left, **given):
    """What `srpt` pauses and starts on one GPU: job 0 runs, of 20 ticks, and job 1 takes `left` and may have begun."""
    price = [cost * 10**6 for cost in costs]
    load = jobs_of([[(20, 1)], [(left, 1)]], [(0, 0, 1), (5, 1, 1)], nodes=[(1,)], pause_cost=price)
    world = IterationWorld(load, Options(pausing="keep", movement="anytime"))
    world.advance(0)
    world.apply(world.ask().round(start=[(0, 0)]))
    world.advance(5)
    seen = world.ask()
    plan = srpt.answer(seen.replace(**given), rng=np.random.default_rng(0), preempt=True, size="time")
    assert seen.violations(plan) == []
    return plan.pause_task.tolist(), plan.start_task.tolist()


def test_what_runs_gives_way_only_where_the_price_of_its_pause_is_gained():
    """15 ticks are left of job 0 at 5. To pause it costs 4 ticks: job 1 must take less than 11."""
    assert running_and_waiting([0, 0], 14) == ([0], [1])
    assert running_and_waiting([4, 4], 14) == ([], [])
    assert running_and_waiting([4, 4], 11) == ([], [])
    assert running_and_waiting([4, 4], 10) == ([0], [1])


def test_what_would_go_on_after_a_pause_pays_as_well():
    assert running_and_waiting([4, 4], 10, first_start=[0, 2]) == ([], [])
    assert running_and_waiting([4, 4], 6, first_start=[0, 2]) == ([0], [1])


def test_equal_work_is_equal_to_the_last_bit():
    """3 GPUs for 7 ticks, 7 for 3 and 1 for 21, of 49: as shares of a cluster they differ in their last bits."""
    load = jobs_of([[(7, 3)], [(3, 7)], [(21, 1)]], [(0, job, 1) for job in range(3)], nodes=[(49,)])
    world = IterationWorld(load, Options())
    world.advance(0)
    seen = world.ask()
    assert sum_per_job(seen, remaining_ticks(seen, seen.max_iterations) * share_units(seen)).tolist() == [21, 21, 21]


def test_shares_of_several_resources_are_counted_in_common_units():
    jobs = [(0, job, 1) for job in range(2)]
    load = jobs_of([[(7, 3, 1)], [(3, 1, 5)]], jobs, nodes=[(6, 10)], resources=("gpu", "cpu"))
    world = IterationWorld(load, Options())
    world.advance(0)
    assert share_units(world.ask()).tolist() == [15, 15]
