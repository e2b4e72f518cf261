"""Tiresias: queues by attained service, first start inside them, promotion, and giving way."""

from __future__ import annotations

import numpy as np
import pytest
from snapshot_examples import horizon, play, rows, scripted

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched.heuristics.taskgraph.tiresias import answer, queues
from mlsched.simulation.clock import Rule

RNG = np.random.default_rng(0)
#: One node of one GPU: job 0 runs from 0 to 9, job 1 comes at 3; both have four iterations.
ONE = horizon([(0, 4, [(9, 1)]), (3, 4, [(2, 1)]), (8, 1, [(5, 1)])], nodes=[(1,)])
UNITS = {"gpu": 1, "tick": 1.0}


def tiresias(**settings) -> Rule:
    return Rule("tiresias", lambda seen, memory, rng: answer(seen, memory=memory, rng=rng, **UNITS, **settings))


@pytest.mark.parametrize(("service", "queue"), [(0, 0), (3249, 0), (3250, 1), (7199, 1), (7200, 2), (10**6, 2)])
def test_queues_by_gpu_seconds(service, queue):
    snapshot = play(horizon([(0, 1, [(1, 1)])]), tiresias())[2][0].replace(service=[[service]])
    assert queues(snapshot, {}, (3250.0, 7200.0), 0.0, 1.0)[0].tolist() == [queue]
    # In the generator's units: hundredths of GPUs, ticks of a minute.
    hundredfold = snapshot.replace(service=[[100 * service // 60]])
    assert queues(hundredfold, {}, (3250.0, 7200.0), 0.0, 60 / 100)[0].tolist() in ([queue], [max(0, queue - 1)])


def test_the_gpu_is_what_counts_wherever_it_stands():
    snapshot = play(horizon([(0, 1, [(1, 5, 1)])], nodes=[(9, 9)], resources=("cpu", "gpu")), tiresias())[2][0]
    for service, queue in (([[9999, 0]], 0), ([[0, 9999]], 2)):
        assert queues(snapshot.replace(service=service), {}, (3250.0, 7200.0), 0.0, 1.0)[0].tolist() == [queue]


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


def test_a_job_that_has_waited_long_enough_comes_back_to_the_top_and_starts_counting_anew():
    snapshot = play(
        ONE,
        scripted(
            {t: {"start": [(0, 0)]} for t in (0, 9, 18, 27)}
            | {t: {"start": [(0 if t > 36 else 1, 0)]} for t in range(36, 60)}
        ),
    )[2][27]
    # Job 0 has executed 27 ticks and just ended an iteration; make it wait since 19.
    waiting = snapshot.replace(idle_since=[19, 3, 8], executed=[19, 0, 0], service=[[19], [0], [0]])
    for knob, queue, memory in ((0.0, 2, {}), (0.5, 2, {}), (0.4, 0, {"0": [19, 19]})):
        assert queues(waiting, {}, (5.0, 12.0), knob, 1.0) == (pytest.approx([queue, 0, 0]), memory)
    # Promoted at 19 GPU-ticks: with 7 more it is in the middle queue, and only what it executed since counts.
    later = waiting.replace(service=[[26], [0], [0]], executed=[26, 0, 0], idle_since=[25, 3, 8])
    queue, memory = queues(later, {"0": [19, 19]}, (5.0, 12.0), 0.4, 1.0)
    assert (queue.tolist(), memory) == ([1, 0, 0], {"0": [19, 19]})


def test_memory_of_finished_jobs_is_dropped():
    snapshot = play(ONE, tiresias())[2][0]
    assert queues(snapshot, {"0": [1, 1], "7": [5, 5]}, (5.0, 12.0), 8.0, 1.0)[1] == {"0": [1, 1]}


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
    for text, message in (("first=9000", "second = 7200"), ("tick=0", "tick = 0"), ("gpu=0", "gpu = 0")):
        with pytest.raises(InvalidInput, match=message):
            api.solve(inst, f"tiresias:{text}")
