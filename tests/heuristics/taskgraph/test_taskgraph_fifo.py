"""FIFO: jobs in order of arrival, strict and with passing."""

from __future__ import annotations

from snapshot_examples import horizon

from mlsched import api

#: One node of three GPUs: job 0 needs two, job 1 needs two, job 2 needs one.
INST = horizon([(0, 1, [(4, 2)]), (1, 1, [(4, 2)]), (2, 1, [(4, 1)])], nodes=[(3,)])


def starts(inst, rule):
    plan = api.solve(inst, rule).plan
    return dict(zip(plan.task.tolist(), plan.start.tolist(), strict=True))


def test_what_finds_no_room_holds_up_all_behind_it():
    assert starts(INST, "fifo") == starts(INST, "fifo:strict=true") == {0: 0, 1: 4, 2: 4}


def test_unless_later_jobs_may_pass():
    assert starts(INST, "fifo:strict=false") == starts(INST, "best-effort-fifo") == {0: 0, 1: 4, 2: 2}


def test_arrival_decides_not_the_number_of_the_job():
    inst = horizon([(0, 1, [(4, 1)]), (2, 1, [(4, 1)]), (1, 1, [(4, 1)])], nodes=[(1,)])
    assert starts(inst, "fifo") == {0: 0, 1: 8, 2: 4}


def test_of_a_job_the_task_with_the_longest_way_to_the_end_comes_first():
    inst = horizon([(0, 1, [(3, 1), (1, 1), (9, 1)])], edges=[(1, 2, 0, 0, 0)], nodes=[(1,)])
    assert starts(inst, "fifo") == {1: 0, 2: 1, 0: 10}
