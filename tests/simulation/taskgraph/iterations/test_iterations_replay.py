"""The replay check of segments: a sound log passes, and each injected fault is named by its kind.

Two nodes of 2 GPUs. Job 0 is a gang of two tasks that take 4 ticks in each of 3 iterations; its second task moves at a
cost of 2 ticks. It runs on both nodes until 6 (one iteration and a half), pauses until 10, goes on on node 0 with half
of the second iteration, which fetches for 2 ticks, works until 14, and ends with its third at 18. Job 1, one task of
3 ticks, runs on node 1 from 1 to 4.
"""

from __future__ import annotations

import pytest
from jobs_examples import jobs_of

from mlsched.simulation.taskgraph.iterations import Options, Segments, replay_gangs
from mlsched.simulation.taskgraph.iterations.replay import violations
from mlsched.simulation.wake import Wake

JOBS = jobs_of(
    [[(4, 1), (4, 1)], [(3, 1)]],
    [(0, 0, 3), (1, 1, 1)],
    edges=[(1, 1, 1, 5, 2)],
    min_iterations=[1, 1],
    eligible=[[1, 1], [0, 1]],
    task_class=[0, 0, 1],
)
M = 10**6
A = ((0, 0, 6, 0, 0, 4 * M, 4 * M, 0, 0, 0), (0, 1))
B = ((0, 10, 18, 1, 500_000, 4 * M, 4 * M, 2, 0, 1), (0, 0))
C = ((1, 1, 4, 0, 0, 3 * M, 3 * M, 0, 0, 1), (1,))
EVENTS, TICKS = Wake(True, 0), Wake(False, 2)


@pytest.fixture(autouse=True)
def segment_by_segment(monkeypatch):
    """Leave runs of gangs, too, to the check that is tested here."""
    monkeypatch.setattr(replay_gangs, "is_sound", lambda *arguments: None)


def check(remove=(), add=(), wake=EVENTS, stops=(), wakes=(), pausing="keep", movement="anytime", jobs=JOBS):
    kept = [segment for segment in (A, B, C) if segment not in remove] + list(add)
    log = Segments([row for row, _ in kept], [nodes for _, nodes in kept], list(stops), list(wakes))
    return violations(jobs, Options(pausing=pausing, movement=movement), wake, log)


def changed(segment, nodes=None, **fields):
    row = tuple(fields.get(name, value) for name, value in zip(Segments.names, segment[0], strict=True))
    return row, segment[1] if nodes is None else nodes


def test_a_sound_log_passes():
    assert check() == []


def test_a_pause_that_loses_work_goes_back_to_the_last_finished_iteration():
    again = changed(B, part=0, delay=0, end=18)
    assert check([B], [again], pausing="restart") == []
    assert "work" in kinds(check(pausing="restart"))


def test_a_job_may_end_where_it_paused_if_told_so():
    assert check([A, B], [changed(A, end=4)], stops=[(0, 1, 5)]) == []
    assert "work" in kinds(check([B], stops=[(0, 1, 5)])), "it went on after the iteration"
    assert check([B], stops=[(0, 1, 6)], pausing="restart") == [], "what it did after the iteration is lost"
    assert "work" in kinds(check([B], stops=[(0, 1, 5)], pausing="restart")), "told before it paused, it went on"
    assert "work" in kinds(check([B], stops=[(0, 1, 6)], pausing="keep")), "and nothing is lost"


def kinds(sentences):
    return {sentence.partition(":")[0] for sentence in sentences}


FAULTS = {
    "a row of no job": ("log", [], [changed(C, job=2)]),
    "a row of no node": ("log", [C], [changed(C, nodes=(7,))]),
    "a row of the node after the last": ("log", [C], [changed(C, nodes=(2,))]),
    "a row of a node before none": ("log", [A], [changed(A, nodes=(0, -2))]),
    "it grows by nothing": ("log", [A], [changed(A, end=3, outcome=3), changed(A, start=3, part=750_000)]),
    "a row that ends before it starts": ("log", [C], [changed(C, start=5)]),
    "an outcome that was not": ("log", [A], [changed(A, outcome=2)]),
    "a start before the arrival": ("early start", [C], [changed(C, start=0, end=3)]),
    "two segments at once": ("two places", [B], [changed(B, start=5, end=13)]),
    "a job that is never run": ("lost job", [C], []),
    "a job that does not go on": ("lost job", [B], []),
    "a part of a gang": ("gang", [A], [changed(A, nodes=(0, -1), first=0, cycle=0)]),
    "progress from nowhere": ("work", [B], [changed(B, part=750_000, end=17)]),
    "progress lost": ("work", [B], [changed(B, part=0, delay=0)]),
    "an end too early": ("work", [B], [changed(B, end=17)]),
    "an end too late": ("work", [B], [changed(B, end=19)]),
    "a segment beyond the last iteration": ("work", [C], [changed(C, end=9, outcome=0)]),
    "a wrong pace": ("pace", [C], [changed(C, first=2 * M, cycle=2 * M)]),
    "a free move": ("pace", [B], [changed(B, delay=0, end=16)]),
    "a node that is not eligible": ("place", [C], [changed(C, nodes=(0,))]),
    "too much on a node": ("capacity", [B], [changed(B, start=3, end=11)]),
}


@pytest.mark.parametrize("fault", list(FAULTS))
def test_a_fault_is_named(fault):
    kind, remove, add = FAULTS[fault]
    crowded = JOBS.replace(node_capacity=[[2], [1]]) if fault == "too much on a node" else JOBS
    if fault == "too much on a node":
        remove, add = [], []  # both jobs are on node 1 from 1 to 4
    assert kind in kinds(check(remove, add, jobs=crowded)), check(remove, add, jobs=crowded)


def test_pauses_and_moves_that_are_not_allowed_are_named():
    assert "pause" in kinds(check(pausing="none"))
    assert "place" in kinds(check(movement="none"))
    assert "place" in kinds(check(movement="between_iterations"))
    moved = [changed(A, outcome=2), changed(B, start=6, end=14)]
    assert check([A, B], moved) == []
    assert "move" in kinds(check([A, B], moved, movement="none"))


def test_what_the_last_iteration_sent_must_have_arrived():
    """Paused at 4, when its first iteration ends, the second task needs 2 ticks to be on node 0: not before 6."""
    early = [changed(A, end=4), changed(B, start=5, part=0, delay=0, end=13)]
    assert "order" in kinds(check([A, B], early))
    for movement in ("anytime", "between_iterations"):
        assert check([A, B], [early[0], changed(early[1], start=6, end=14)], movement=movement) == []


def test_who_comes_back_to_the_same_nodes_waits_for_what_was_sent_as_well():
    """What its first task sent from node 0 when the iteration ended, at 4, is on node 1 at 6."""
    jobs = JOBS.replace(edge_from=[0], edge_to=[1])
    paused = changed(A, end=4, cycle=6 * M)
    for start, early in ((5, True), (6, False)):
        back = changed(A, start=start, end=start + 10, finished=1, cycle=6 * M, outcome=1)
        assert ("order" in kinds(check([A, B], [paused, back], jobs=jobs))) == early


def test_stops_out_of_range_are_named():
    assert "stop" in kinds(check(stops=[(0, 4, 0), (0, 3, 1)]))
    assert "log" in kinds(check(stops=[(9, 1, 0)]))


def test_changes_between_ticks_are_named():
    assert kinds(check(wake=TICKS)) == {"wake"}
    assert check(wake=TICKS, wakes=[1]) == []
    # Jobs end when they are done, at 4 and at 18.
    assert check(wake=Wake(False, 5), wakes=[1, 6]) == []


def test_the_first_node_is_full_too_and_what_leaves_leaves_once():
    crowded = JOBS.replace(node_capacity=[[1], [2]])
    assert check(jobs=crowded) == ["capacity: node 0 at 10: 2 gpu in use, its capacity is 1"]


def test_a_task_that_is_not_there_or_takes_no_time_holds_nothing():
    loose = JOBS.replace(gang=[0, 0], node_capacity=[[2], [1]])
    held = changed(A, start=0, end=4, nodes=(0, -1), first=0, cycle=0, outcome=3)
    assert check([A, B], [held, changed(A, start=4, end=16, outcome=1)], jobs=loose) == []
    at_once = JOBS.replace(duration=[4, 4, 0], estimate=[4, 4, 0], node_capacity=[[2], [1]])
    assert check([C], [changed(C, end=2, first=1, cycle=1)], jobs=at_once) == []


def test_what_is_sent_inside_an_iteration_takes_its_time_in_every_job():
    """Both jobs are chains of two tasks on two nodes: 4 + 2 + 4 and 3 + 5 + 1 ticks."""
    two = jobs_of(
        [[(4, 1), (4, 1)], [(3, 1), (1, 1)]],
        [(0, 0, 1), (0, 1, 1)],
        edges=[(0, 1, 0, 5, 2), (2, 3, 0, 5, 5)],
        min_iterations=[1, 1],
    )
    log = Segments(
        [(0, 0, 10, 0, 0, 10 * M, 10 * M, 0, 0, 1), (1, 0, 9, 0, 0, 9 * M, 9 * M, 0, 0, 1)], [(0, 1), (0, 1)]
    )
    assert violations(two, Options(), EVENTS, log) == []


def test_who_goes_on_after_a_pause_pays_its_price():
    """1.5 ticks after the delay; the job ends a tick or two later, in whole ticks."""
    dear = JOBS.replace(pause_cost=[1_500_000, 0])
    paid = changed(B, cost=1_500_000, end=20)
    assert check([B], [paid], jobs=dear) == []
    assert "pace" in kinds(check(jobs=dear)), "nothing is paid"
    assert "work" in kinds(check([B], [changed(paid, end=19)], jobs=dear)), "paid, but not waited for"
    assert "pace" in kinds(check([B], [paid])), "paid where nothing costs"
    moved = [changed(A, outcome=2), changed(paid, start=6, end=16)]
    assert check([A, B], moved, jobs=dear) == [], "who moves pays, too"


def test_a_logs_jobs_move_where_they_may_pause():
    anytime = JOBS.replace(movement="anytime")
    assert check(jobs=anytime, movement="given") == []
    assert kinds(check(jobs=JOBS, movement="given")) == {"place"}
    assert "pause" in kinds(check(jobs=anytime, movement="given", pausing="none"))


def test_a_task_that_is_not_there_stays_nowhere():
    """After its pause only its first task is placed, for three ticks; then both are where they were."""
    loose = JOBS.replace(gang=[0, 0])
    part = changed(B, start=10, end=13, nodes=(0, -1), first=0, cycle=0, delay=0, outcome=3)
    both = changed(B, start=13, end=19, nodes=(0, 1), delay=0)
    for movement in ("none", "between_iterations", "anytime"):
        assert check([B], [part, both], jobs=loose, movement=movement) == []


def test_a_job_that_is_not_wholly_placed_makes_no_progress():
    loose = JOBS.replace(gang=[0, 0])
    held = changed(A, start=0, end=3, nodes=(0, -1), first=0, cycle=0, outcome=3)
    whole = changed(A, start=3, end=15, outcome=1)
    assert check([A, B], [held, whole], jobs=loose) == []
    assert "pace" in kinds(check([A, B], [changed(held, first=4 * M), whole], jobs=loose))
