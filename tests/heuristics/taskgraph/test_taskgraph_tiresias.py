"""Tiresias: queues by attained service, first start inside them, promotion, and giving way."""

from __future__ import annotations

import numpy as np
import pytest
from snapshot_examples import horizon, play, rows, standings

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched.heuristics.taskgraph.tiresias import answer
from mlsched.simulation.clock import Rule

RNG = np.random.default_rng(0)
#: One node of one GPU: job 0 runs from 0 to 9, job 1 comes at 3; all but job 2 have four iterations; ticks of a second.
ONE = horizon([(0, 4, [(9, 1)]), (3, 4, [(2, 1)]), (8, 1, [(5, 1)])], nodes=[(1,)])
THRESHOLDS = (3250.0, 7200.0)


def tiresias(**settings) -> Rule:
    return Rule("tiresias", lambda seen, memory, rng: answer(seen, memory=memory, rng=rng, **settings))


def asked(inst, time=0):
    return play(inst, tiresias())[2][time]


@pytest.mark.parametrize(("seconds", "queue"), [(0, 0), (3249, 0), (3250, 1), (7199, 1), (7200, 2), (10**6, 2)])
@pytest.mark.parametrize(("name", "units"), [("gpu", 1), ("gpu_percent", 100), ("gpu_milli", 1000)])
@pytest.mark.parametrize("tick_ms", [1000, 500, 250])
def test_queues_by_gpu_seconds_in_whatever_units(seconds, queue, name, units, tick_ms):
    snapshot = asked(horizon([(0, 1, [(1, 1, 1)])], nodes=[(1, 1)], resources=("cpu_milli", name), tick_ms=tick_ms))
    # Much of the other resource, which does not count.
    served = snapshot.replace(service=[[10**9, seconds * units * 1000 // tick_ms]])
    standing, _ = standings(served, {}, THRESHOLDS, 0.0)
    assert standing.queue.tolist() == [queue]
    assert standing.attained.tolist() == [seconds]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"resources": ("cpu_milli",)}, "tiresias: counts GPU-seconds, and resources = cpu_milli: exactly one"),
        ({"resources": ("R1",)}, "must be named gpu or gpu_percent or gpu_milli"),
        ({"tick_ms": 0}, r"tick_ms = 0 \(not stated\): give the instance"),
    ],
)
def test_what_says_nothing_of_gpu_seconds_is_refused(changes, said):
    inst = horizon([(0, 1, [(1, 1)])], nodes=[(1,)], **changes)
    with pytest.raises(InvalidInput, match=said) as caught:
        api.solve(inst, "tiresias")
    assert "\n" not in str(caught.value)
    both = horizon([(0, 1, [(1, 1, 1)])], nodes=[(1, 1)], resources=("gpu", "gpu_milli"))
    with pytest.raises(InvalidInput, match="exactly one"):
        api.solve(both, "tiresias")


def test_attained_service_of_ten_jobs_by_hand():
    """One node of twenty GPUs, so that nobody waits; ticks of 30 s.

    Job k comes at 2 k and holds k % 3 + 1 GPUs for two iterations of 3 ticks: at 18 the first seven are over.
    """
    jobs = [(2 * k, 2, [(3, 500 * k, 1000 * (k % 3 + 1))]) for k in range(10)]
    nodes = [(10**6, 20_000)]
    inst = horizon(jobs, nodes=nodes, resources=("cpu_milli", "gpu_milli"), tick_ms=30_000)
    snapshot = asked(inst, 18)
    assert snapshot.job_id.tolist() == [7, 8, 9]
    standing, _ = standings(snapshot, {}, (100.0, 300.0), 0.0)
    # Job 7 (2 GPUs) since 14, job 8 (3 GPUs) since 16, job 9 (1 GPU) comes now: ticks x GPUs x 30 s.
    assert standing.attained.tolist() == [4 * 2 * 30, 2 * 3 * 30, 0]
    assert standing.queue.tolist() == [1, 1, 0]
    seen = play(inst, tiresias())[2]
    attained = {
        (time, int(job)): service
        for time, question in seen.items()
        for job, service in zip(question.job_id, standings(question, {}, (100.0, 300.0), 0.0)[0].attained, strict=True)
    }
    for job in range(10):
        gpus, begun = job % 3 + 1, 2 * job
        assert attained[begun, job] == 0
        assert attained[begun + 3, job] == 90 * gpus, "after its first iteration"


def test_a_job_sinks_and_gives_way_between_its_iterations():
    """Thresholds of 5 and 12 GPU-ticks: at 9 job 0 is in queue 1, jobs 1 and 2 in queue 0, none of them started."""
    _, world, _ = play(ONE, tiresias(first=5.0, second=12.0, knob=0.0))
    order = [(task, start) for _, task, _, start, _, _ in rows(world)]
    # Job 1 sinks with its third iteration (6 GPU-ticks); job 2 has not started; of queue 1 job 0 started first.
    assert order == [(0, 0), (1, 9), (1, 11), (1, 13), (2, 15), (0, 20), (1, 29), (0, 31), (0, 40)]


def test_where_runs_may_pause_it_gives_way_at_once():
    _, world, _ = play(ONE, tiresias(first=2.0, second=1000.0, knob=0.0), pausing="keep")
    paused = [row for row in rows(world) if row[5] == 0]
    assert paused[0] == (0, 0, 0, 0, 3, 0), "job 0 has had 3 GPU-ticks when job 1 comes"
    # Work is kept: the run of 9 ticks ends when all of them are done.
    assert sum(end - start for i, task, _, start, end, _ in rows(world) if task == 0 and i == 0) == 9


def test_where_runs_may_pause_a_job_sinks_when_it_passes_a_threshold_not_at_the_next_event():
    inst = horizon([(0, 1, [(20, 1)]), (1, 1, [(20, 1)])], nodes=[(1,)])
    _, world, _ = play(inst, tiresias(first=6.0, second=1000.0, knob=0.0), pausing="keep")
    # Job 0 sinks at 6 GPU-seconds and job 1, still on top, has the GPU until it sinks; then the first start counts.
    assert [(task, start, end) for _, task, _, start, end, _ in rows(world)] == [
        (0, 0, 6),
        (1, 6, 12),
        (0, 12, 26),
        (1, 26, 40),
    ]


def test_where_runs_may_pause_a_job_is_promoted_when_it_has_waited_long_enough():
    inst = horizon([(0, 1, [(20, 1)]), (1, 1, [(50, 1)])], nodes=[(1,)])
    _, world, _ = play(inst, tiresias(first=6.0, second=12.0, knob=2.0), pausing="keep")
    # Both sink to the middle at 6 and 12; job 0 goes on and sinks to the bottom at 18, where job 1 passes it; job 1 has
    # executed 6 and waited 6, sinks to the bottom at 24, and of the bottom job 0 started first: it ends at 32.
    assert [(task, start, end) for _, task, _, start, end, _ in rows(world)][:5] == [
        (0, 0, 6),
        (1, 6, 12),
        (0, 12, 18),
        (1, 18, 24),
        (0, 24, 32),
    ]
    starving = horizon([(0, 1, [(100, 1)]), (1, 1, [(40, 1)]), (4, 1, [(60, 1)])], nodes=[(1,)])
    _, world, _ = play(starving, tiresias(first=4.0, second=1e9, knob=2.0), pausing="keep")
    # 0 and 1 sink at 4 and 8, job 2 at 12; job 0 started first and goes on. Job 1 (executed 4, waiting since 8) is
    # promoted at 16, job 2 (4, since 12) at 20: on top at 20 are job 1, which sinks just then, and job 2.
    assert [(task, start, end) for _, task, _, start, end, _ in rows(world)][:6] == [
        (0, 0, 4),
        (1, 4, 8),
        (2, 8, 12),
        (0, 12, 16),
        (1, 16, 20),
        (2, 20, 24),
    ]


@pytest.mark.parametrize(("pausing", "wake"), [("none", 0), ("keep", 4)])
def test_it_asks_to_be_woken_where_runs_may_pause_and_nowhere_else(pausing, wake):
    """Nothing may start: the job that waits is to stop. It has run for 2 of its 3 ticks, and waited for 1."""
    snapshot = asked(horizon([(0, 4, [(9, 1)]), (3, 4, [(2, 1)])], nodes=[(1,), (1,)]), 3)
    snapshot = snapshot.replace(
        state=[0, 1],
        node=[-1, 1],
        home=[0, -1],
        usage=[[0], [1]],
        in_use=[[0], [1]],
        min_iterations=[1, 4],
        finished=[2, 0],
        service=[[9], [0]],
        executed=[2, 0],
        pausing=pausing,
    )
    round_, _ = answer(snapshot, memory=None, rng=RNG, first=6.0, second=1000.0, knob=1.0, stop="least")
    assert round_.wake_at == wake


def test_a_job_that_has_waited_long_enough_comes_back_to_the_top_and_starts_counting_anew():
    snapshot = asked(ONE, 9)
    # Job 0 started at 0, has executed 19 ticks, and of 27 has waited 8: before 19 or after does not matter.
    at = {"now": 27, "arrival": [0, 3, 8], "first_start": [0, -1, -1]}
    waiting = snapshot.replace(**at, idle_since=[25, 3, 8], executed=[19, 0, 0], service=[[19], [0], [0]])
    promoted = {"job": [0], "service": [19], "executed": [19], "waited": [8]}
    for knob, queue, memory in ((0.0, 2, {}), (0.5, 2, {}), (0.4, 0, promoted)):
        standing, kept = standings(waiting, {}, (5.0, 12.0), knob)
        assert (standing.queue.tolist(), kept) == ([queue, 0, 0], memory)
    # A job that runs is not promoted.
    runs = waiting.replace(idle_since=[27, 3, 8])
    assert standings(runs, {}, (5.0, 12.0), 0.4)[0].queue.tolist() == [2, 0, 0]
    # Promoted at 19 GPU-seconds: with 7 more it is in the middle queue, and only what has happened since counts.
    later = waiting.replace(
        now=35, service=[[26], [0], [0]], executed=[26, 0, 0], first_start=[0, -1, -1], idle_since=[34, 3, 8]
    )
    standing, kept = standings(later, promoted, (5.0, 12.0), 0.4)
    assert (standing.queue.tolist(), kept) == ([1, 0, 0], promoted)
    assert (standing.attained[0], standing.executed[0], standing.waited[0]) == (7, 7, 1)


def test_memory_of_finished_jobs_is_dropped():
    snapshot = asked(ONE)
    memory = {"job": [0, 7], "service": [1, 5], "executed": [1, 5], "waited": [1, 5]}
    assert standings(snapshot, memory, (5.0, 12.0), 8.0)[1] == {name: column[:1] for name, column in memory.items()}


def test_without_promotion_the_big_job_starves_with_it_it_does_not():
    jobs = [(0, 6, [(4, 1)])] + [(t, 1, [(4, 1)]) for t in range(1, 80, 4)]
    inst = horizon(jobs, nodes=[(1,)])
    ends = {}
    for knob in (0.0, 1.0):
        _, world, _ = play(inst, tiresias(first=3.0, second=1000.0, knob=knob))
        ends[knob] = max(row[4] for row in rows(world) if row[1] == 0)
    assert ends[1.0] < ends[0.0]


def test_settings_are_checked():
    inst = horizon([(0, 1, [(1, 1)])])
    for text, message in (("first=9000", "second: 7200"), ("knob=-1", "knob: -1")):
        with pytest.raises(InvalidInput, match=message):
            api.solve(inst, f"tiresias:{text}")


def test_a_gang_gives_way_as_a_whole():
    inst = horizon([(0, 1, [(20, 1), (20, 1)]), (5, 1, [(4, 1)])], nodes=[(1,), (1,)])
    snapshot = play(inst, tiresias(first=6.0, second=1000.0, knob=0.0), pausing="keep")[2][5]
    assert snapshot.state.tolist() == [1, 1, 0]
    for gang, pauses in (([0, 0], [1]), ([1, 0], [0, 1])):
        plan, _ = answer(snapshot.replace(gang=gang), memory=None, rng=RNG, first=6.0, second=1000.0)
        assert sorted(plan.pause_task.tolist()) == pauses
        assert snapshot.replace(gang=gang).violations(plan) == []
        assert (plan.start_task.tolist(), plan.start_node.tolist()) == ([2], [pauses[0]])


def test_gangs_of_skewed_models_are_consolidated():
    """Nodes with 2, 3 and 1 free GPUs and a gang of three single ones: on node 1 alone if it is skewed, else spread."""
    inst = horizon([(0, 1, [(9, 1)] * 3)], nodes=[(2,), (3,), (1,)], parameters=[60, 20, 10])
    snapshot = asked(inst).replace(gang=[1])
    for skew, nodes in ((2.1, [0, 1, 2]), (2.0, [1, 1, 1]), (1.0, [1, 1, 1])):  # the largest holds twice the mean
        plan, _ = answer(snapshot, memory=None, rng=RNG, skew=skew)
        assert sorted(plan.start_node.tolist()) == nodes
    for parameters in ([0, 0, 0], [20, 20, 10]):
        plan, _ = answer(snapshot.replace(parameters=parameters), memory=None, rng=RNG, skew=2.0)
        assert sorted(plan.start_node.tolist()) == [0, 1, 2]


def test_a_consolidated_gang_takes_the_fewest_nodes_that_are_free_now():
    """Five GPUs of nodes with 4, 3 and 1: four of node 0, and the last where least is left."""
    inst = horizon([(0, 1, [(9, 1)] * 5)], nodes=[(3,), (4,), (1,)], parameters=[5, 0, 0, 0, 0])
    plan, _ = answer(asked(inst).replace(gang=[1]), memory=None, rng=RNG, skew=5.0)
    assert sorted(plan.start_node.tolist()) == [1, 1, 1, 1, 2]
    inst = horizon([(0, 1, [(9, 1)] * 9)], nodes=[(3,), (4,), (1,)], parameters=[5] + [0] * 8)
    plan, _ = answer(asked(inst).replace(gang=[1]), memory=None, rng=RNG, skew=5.0)
    assert plan.start_node.tolist() == []


def test_inside_a_queue_what_waits_may_give_way_to_what_runs():
    """Both jobs have sunk to the same queue; job 0 started first and waits, job 1 runs."""
    inst = horizon([(0, 1, [(40, 1)]), (1, 1, [(40, 1)])], nodes=[(1,)])
    snapshot = play(inst, tiresias(first=6.0, second=1000.0, knob=0.0), pausing="keep")[2]
    seen = next(seen for now, seen in sorted(snapshot.items()) if now > 1 and len(seen.arrival) == 2)
    seen = seen.replace(
        state=[2, 1],
        node=[0, 0],
        first_start=[0, 1],
        service=[[9], [9]],
        start=[0, seen.now - 1],
        progress=[1, 0],
        in_use=[[1]],
        usage=[[0], [1]],
    )
    for keep, found in ((False, ([1], [0])), (True, ([], []))):
        plan, _ = answer(seen, memory=None, rng=RNG, first=6.0, second=1000.0, knob=0.0, keep=keep)
        assert (plan.pause_task.tolist(), plan.start_task.tolist()) == found
