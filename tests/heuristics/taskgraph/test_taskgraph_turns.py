"""Rules that let jobs take turns, or compete anew in every iteration: fair shares of time, Gandiva, Graphene."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from gang_examples import gang_workloads
from hypothesis import given, settings
from hypothesis import strategies as st
from jobs_examples import jobs_of, rows

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched.heuristics.taskgraph.fair import received
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.heuristics.taskgraph.preemption import serve
from mlsched.simulation.taskgraph.iterations import IterationWorld, Options
from mlsched.simulation.taskgraph.iterations.log import PAUSE
from mlsched.simulation.taskgraph.strategies import wakes

RULES = ("fair:queueing=iteration,quantum=3", "gandiva:turn=3", "graphene:queueing=iteration")
TURNS = RULES[:2]


def segments(run):
    return [(row["job"], row["start"], row["end"]) for row in rows(run.log)]


#: One GPU, and two jobs of single GPUs: 12 ticks from 0 on, 6 from 1 on. A tick is a second.
TWO = jobs_of([[(1, 1)]], [(0, 0, 12), (1, 0, 6)], nodes=[(1,)], tick_ms=1000)


def test_fair_shares_time_in_turns_of_a_quantum():
    """Job 0 has its turn of 3 first, as it runs; then job 1, which has had nothing, and at 6 less than job 0:

    3 ticks of 5 (.6), against 3 of 6 (.5), so that job 0 goes on. At 9 it has had 6 of 9, and job 1 comes back.
    """
    run = api.simulate(TWO, "fair:queueing=iteration,quantum=3", record=1.0)
    assert run.violations() == []
    assert segments(run) == [(0, 0, 3), (1, 3, 6), (0, 6, 9), (1, 9, 12), (0, 12, 18)]
    assert segments(api.simulate(TWO, "fair")) == [(0, 0, 12), (1, 12, 18)]


def test_gandiva_takes_turns_round_robin():
    """Of three jobs of 4 ticks each, in turns of 2, everyone has a turn before anyone has two."""
    load = jobs_of([[(1, 1)]], [(0, 0, 4), (0, 0, 4), (0, 0, 4)], nodes=[(1,)], tick_ms=1000)
    run = api.simulate(load, "gandiva:turn=2")
    assert run.violations() == []
    assert [job for job, _, _ in segments(run)] == [0, 1, 2, 0, 1, 2]
    assert [job for job, _, _ in segments(api.simulate(load, "gandiva"))] == [0, 1, 2]


def test_a_turn_is_longer_where_a_pause_costs_more():
    """2 seconds a pause are 5 % of 40: nobody gives way before; half of a turn may be lost: after 4."""
    load = TWO.replace(pause_cost=np.full(2, 2 * 10**6))
    assert segments(api.simulate(load, "gandiva:turn=2"))[0] == (0, 0, 12)
    assert segments(api.simulate(load, "gandiva:turn=2,lost=0.5"))[0] == (0, 0, 4)


def test_what_was_received_is_a_share_of_the_stay():
    """At 4 job 0 has had the GPU for 4 of 4 ticks, job 1 nothing since 1; of one owner, the sum."""
    world = IterationWorld(TWO, Options(pausing="keep"))
    world.advance(0)
    world.apply(world.ask().round(start=[(0, 0)]))
    world.advance(4)
    seen = world.ask()
    assert received(seen, np.arange(2)).tolist() == [1.0, 0.0]
    assert received(seen, np.zeros(2, dtype=np.int64)).tolist() == [1.0, 1.0]


def test_graphene_lets_a_short_job_take_over_where_iterations_queue_anew():
    load = jobs_of([[(1, 1)]], [(0, 0, 50), (5, 0, 2)], nodes=[(1,)])
    held, anew = (api.simulate(load, f"graphene:srpt=5,queueing={how}") for how in ("held", "iteration"))
    assert segments(held) == [(0, 0, 50), (1, 50, 52)]
    assert segments(anew) == [(0, 0, 5), (1, 5, 7), (0, 7, 52)]


@pytest.mark.filterwarnings("ignore:the offered load")
@settings(max_examples=draws(12, 300))
@given(load=gang_workloads(), rule=st.sampled_from(RULES), wake=wakes(), cost=st.sampled_from([0, 1, 4]))
def test_every_run_is_sound_and_a_decision_replays(load, rule, wake, cost):
    load = load.replace(pause_cost=np.full(len(load.arrival), cost * 10**6))
    run = api.simulate(load, rule, scheduling_events=wake, record=1.0)
    assert run.violations() == []
    assert all(run.replay(d) == d.plan for d in run.recorded)


@settings(max_examples=draws(9, 200))
@given(load=gang_workloads(), rule=st.sampled_from(TURNS), wake=wakes())
def test_nobody_is_preempted_before_the_turn_is_over(load, rule, wake):
    """A turn is of three seconds, a tick being one."""
    run = api.simulate(load.replace(tick_ms=1000), rule, scheduling_events=wake)
    executed = dict.fromkeys(range(len(load.arrival)), 0)
    for row in rows(run.log):
        executed[row["job"]] += row["end"] - row["start"]
        if row["outcome"] == PAUSE:
            assert executed[row["job"]] % 3 == 0


@pytest.mark.parametrize("rule", RULES)
def test_they_need_a_world_in_which_runs_may_pause(rule):
    with pytest.raises(InvalidInput, match="runs may not pause and resume later here"):
        api.simulate(TWO, rule, options={"pausing": "none"})


def test_the_engine_is_the_one_of_all_preemptive_rules():
    """What comes first in the order takes the place of what comes last, and nothing else pauses."""
    world = IterationWorld(TWO, Options(pausing="keep"))
    world.advance(0)
    world.apply(world.ask().round(start=[(0, 0)]))
    world.advance(1)
    placer = Placer(world.ask(), "most", "auto")
    assert serve(placer, np.array([1, 0])) == [0]
