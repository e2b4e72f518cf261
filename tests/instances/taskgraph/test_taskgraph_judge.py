"""The judge: every rule broken and at its edge, and values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from taskgraph_examples import GOOD, OF_EDGES, OF_JOBS, changed, plan, running, small

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import UNLIMITED


def values(runs=GOOD, **changes):
    inst = small(**changes)
    assert inst.violations(plan(inst, *runs)) == []
    return inst.evaluate(plan(inst, *runs))


def test_values_by_hand():
    assert values() == {
        "total_jct": 10 + 4,
        "deadlines_met": 2,
        "traffic": 0,
        "accuracy_met": 2,
        "total_accuracy": 1_100_000,
        "makespan": 10,
    }


def test_traffic_counts_each_iteration_and_each_direction():
    apart = [(0, 0, 0, 0), (1, 0, 1, 3), (0, 1, 0, 6), (1, 1, 1, 9), (2, 0, 1, 1)]
    assert values(apart)["traffic"] == 5 + 7 + 5
    assert values(apart)["total_jct"] == 12 + 4


def test_deadlines_at_their_edge():
    assert [values(deadline=[d, 6])["deadlines_met"] for d in (9, 10)] == [1, 2]
    assert values(deadline=[9, 6])["accuracy_met"] == 1, "the second iteration ends at 10"
    assert values(deadline=[9, 6])["total_accuracy"] == 900_000
    assert values(deadline=[9, 6], accuracy_at="final")["total_accuracy"] == 1_100_000
    assert values(deadline=[4, 6])["total_accuracy"] == 600_000
    assert values(deadline=[UNLIMITED] * 2)["deadlines_met"] == 2


def test_a_job_that_runs_nothing_completes_at_its_arrival():
    assert values(GOOD[:4]) == {
        "total_jct": 10,
        "deadlines_met": 2,
        "traffic": 0,
        "accuracy_met": 1,
        "total_accuracy": 600_000,
        "makespan": 10,
    }


def test_a_job_may_stop_early():
    assert values([*GOOD[:2], GOOD[4]])["total_jct"] == 5 + 4


def test_an_iteration_ends_with_the_last_of_its_runs():
    """Without the edge back, task 0 runs ahead: its second run ends before the first iteration does."""
    runs = [(0, 0, 0, 0), (1, 0, 1, 3), (0, 1, 0, 2), (1, 1, 1, 6), (2, 0, 1, 1)]
    forward = {"edge_from": [0], "edge_to": [1], "edge_lag": [0], "edge_volume": [5], "edge_delay": [1]}
    assert values(runs, deadline=[5, 6], **forward)["total_accuracy"] == 100_000 + 500_000
    assert values(runs, deadline=[6, 6], **forward)["total_accuracy"] == 400_000 + 500_000


def test_no_jobs():
    empty = {name: [] for name in (*OF_JOBS, *OF_EDGES)}
    inst = small(**empty)
    assert inst.violations(plan(inst)) == []
    assert set(inst.evaluate(plan(inst)).values()) == {0}


BROKEN = [
    # Rule 1
    (GOOD[4:], {}, "job 0 runs 0 iterations: expected 1 to 2"),
    (GOOD[1:], {}, "task 0 lacks its run in iteration 0, which job 0 runs"),
    ([*GOOD, (2, 1, 1, 9)], {}, "job 1 runs 2 iterations: expected 0 to 1"),
    # Rule 2
    (changed((2, 0, 0, 10)), {}, "task 2, iteration 0: node 0 is not eligible"),
    (changed((2, 0, 1, 0)), {}, "task 2, iteration 0: starts at 0, job 1 arrives at 1"),
    # Rule 3
    (changed((1, 1, 1, 8)), {}, "task 1, iteration 1: runs on node 1, must stay on node 0"),
    # Rule 4
    (
        changed((1, 0, 0, 1)),
        {"node_capacity": [[9], [9]]},
        "task 1, iteration 0: starts at 1, what task 0 sends arrives at 2",
    ),
    (
        changed((0, 1, 0, 4)),
        {"node_capacity": [[9], [9]]},
        "task 0, iteration 1: starts at 4, what task 1 sends arrives at 5",
    ),
    (
        [(0, 0, 0, 0), (1, 0, 1, 2), (2, 0, 1, 1)],
        {},
        "task 1, iteration 0: starts at 2, what task 0 sends from another node arrives at 3",
    ),
    # Rule 5
    (
        [(0, 0, 1, 0), (1, 0, 1, 2), (2, 0, 1, 1)],
        {"node_capacity": [[1], [1]]},
        "node 1 at 1: 2 gpu in use, its capacity is 1",
    ),
]


@pytest.mark.parametrize(("runs", "changes", "sentence"), BROKEN)
def test_each_rule_broken(runs, changes, sentence):
    inst = small(**changes)
    assert inst.violations(plan(inst, *runs)) == [sentence]


def test_a_task_waits_for_its_own_run_before():
    none = {"edge_from": [], "edge_to": [], "edge_lag": [], "edge_volume": [], "edge_delay": []}
    inst = small(node_capacity=[[9], [9]], **none)
    assert inst.violations(plan(inst, *changed((0, 1, 0, 2)))) == []
    assert inst.violations(plan(inst, *changed((0, 1, 0, 1)))) == [
        "task 0, iteration 1: starts at 1, its run before ends at 2"
    ]


def test_each_rule_at_its_edge():
    """What breaks a rule by one is allowed one tick, or one unit, earlier."""
    for runs, changes in (
        ([(0, 0, 0, 0), (1, 0, 1, 3), (2, 0, 1, 1)], {}),  # the transfer arrives at 3
        ([(0, 0, 1, 0), (1, 0, 1, 2), (2, 0, 1, 5)], {"node_capacity": [[1], [1]]}),  # room from 5 on
        (changed((1, 1, 1, 8)), {"movement": "between_iterations"}),
    ):
        inst = small(**changes)
        assert inst.violations(plan(inst, *runs)) == []


def test_a_run_that_takes_no_time_holds_nothing():
    inst = small(duration=[2, 0, 4], demand=[[1], [9], [1]])
    assert inst.violations(plan(inst, *changed((1, 0, 0, 2)))) == []


def test_a_run_of_one_tick_holds_its_node():
    none = {"edge_from": [], "edge_to": [], "edge_lag": [], "edge_volume": [], "edge_delay": []}
    inst = small(duration=[1, 1, 4], **none)
    both = plan(inst, (0, 0, 0, 0), (1, 0, 0, 0), (2, 0, 1, 1))
    assert inst.violations(both) == ["node 0 at 0: 2 gpu in use, its capacity is 1"]


def test_what_takes_no_time_is_done_when_it_arrives():
    at_once = small(duration=[0, 0, 4])
    runs = [(task, i, 0, 0) for task in (0, 1) for i in (0, 1)]
    assert at_once.violations(plan(at_once, *runs)) == []
    assert at_once.evaluate(plan(at_once, *runs))["total_jct"] == 0


def test_makespan_counts_from_the_first_arrival():
    later = [(task, i, node, start + 2) for task, i, node, start in GOOD]
    assert values(later, arrival=[2, 3])["makespan"] == 10


def test_what_comes_later_is_why_a_start_is_too_early():
    inst = small(now=1)
    late = [(task, i, node, start + 1) for task, i, node, start in GOOD[:4]]
    assert inst.violations(plan(inst, *late, (2, 0, 1, 0))) == ["task 2, iteration 0: starts at 0, job 1 arrives at 1"]


def test_jobs_that_are_done_completed_when_their_own_last_run_ended():
    inst = small(now=12, finished=[2, 1], on_time=[2, 1], home=[0, 0, 1], last_end=[7, 10, 5])
    assert inst.evaluate(plan(inst)) == {
        "total_jct": 10 + 4,
        "deadlines_met": 2,
        "traffic": 0,
        "accuracy_met": 2,
        "total_accuracy": 1_100_000,
        "makespan": 10,
    }


def test_malformed_plans():
    inst = small()
    assert inst.violations(None) == ["the answer is a NoneType, expected a taskgraph.plan"]
    twice = plan(inst, *GOOD, GOOD[0])
    assert inst.violations(twice) == ["row 5: task 0 runs iteration 0 a second time"]
    other = plan(inst, *GOOD).replace(job=[1, 0, 0, 0, 1])
    assert inst.violations(other) == ["row 0: task 0 belongs to job 0, not to job 1"]
    assert inst.violations(plan(inst, *GOOD).replace(node=[7, 0, 0, 0, 1])) == [
        "row 0: node 7 does not exist: there are 2"
    ]
    assert inst.violations(plan(inst, *GOOD).replace(node=[2, 0, 0, 0, 1])) == [
        "row 0: node 2 does not exist: there are 2"
    ]
    assert inst.violations(plan(inst, *GOOD).replace(task=[3, 1, 0, 1, 2])) == [
        "row 0: task 3 does not exist: there are 3"
    ]
    assert "task 9 does not exist" in inst.violations(plan(inst, *GOOD).replace(task=[9, 1, 0, 1, 2]))[0]
    with pytest.raises(InvalidInput, match="cannot be evaluated: row 5"):
        inst.evaluate(twice)
    with pytest.raises(InvalidInput, match="cannot be evaluated: task 0 lacks its run in iteration 0"):
        inst.evaluate(plan(inst, *GOOD[1:]))


REST = ((0, 1, 0, 5), (1, 1, 0, 7), (2, 0, 1, 6))


def test_what_happened_happened():
    """A fixed run may have started before its task's last one ended, and before what it needs was there."""
    for last_end in ([6, 5, 0], [2, 6, 0]):
        inst = running(last_end=last_end)
        assert inst.violations(plan(inst, (0, 1, 0, 5), (1, 1, 0, 7), (2, 0, 1, 6))) == []


def test_a_residual_problem():
    inst = running()
    assert inst.violations(plan(inst, *REST)) == []
    assert inst.evaluate(plan(inst, *REST)) == {
        "total_jct": 10 + 9,
        "deadlines_met": 1,
        "traffic": 0,
        "accuracy_met": 1,
        "total_accuracy": 600_000,
        "makespan": 10,
    }


@pytest.mark.parametrize(
    ("runs", "sentences"),
    [
        (REST[1:], ["task 0 lacks its run in iteration 1, which job 0 runs"]),
        (
            ((0, 1, 0, 6), *REST[1:]),
            [
                "task 0, iteration 1: started at 5 on node 0; that cannot change",
                "task 1, iteration 1: starts at 7, what task 0 sends arrives at 8",
                "node 0 at 7: 2 gpu in use, its capacity is 1",
            ],
        ),
        ((*REST[:2], (2, 0, 1, 5)), ["task 2, iteration 0: starts at 5, now is 6"]),
        ((REST[0], (1, 1, 1, 8), REST[2]), ["task 1, iteration 1: runs on node 1, must stay on node 0"]),
        (((1, 0, 0, 6), *REST), ["task 1 runs iteration 0, which is finished already"]),
    ],
)
def test_what_a_residual_problem_forbids(runs, sentences):
    inst = running()
    assert inst.violations(plan(inst, *runs)) == sentences


def test_finished_runs_send_data_too():
    """Task 1 ended on node 0; when task 0 may move, its data cross (volume 7) and, with a delay, arrive later."""
    inst = running(fixed_task=[], fixed_node=[], fixed_start=[], movement="between_iterations", edge_delay=[1, 3])
    moved = plan(inst, (0, 1, 1, 8), (1, 1, 1, 10), (2, 0, 1, 6))
    assert inst.violations(moved) == []
    assert inst.evaluate(moved)["traffic"] == 7
    early = plan(inst, (0, 1, 1, 7), (1, 1, 1, 10), (2, 0, 1, 6))
    assert inst.violations(early) == [
        "task 0, iteration 1: starts at 7, what task 1 sends from another node arrives at 8"
    ]


def test_late_finished_iterations_end_the_count():
    inst = running(on_time=[0, 0])
    assert inst.evaluate(plan(inst, *REST))["total_accuracy"] == 100_000


BAD = [
    ({"min_iterations": [3, 0]}, r"min_iterations\[0\]: 3, expected at most max_iterations"),
    ({"accuracy": [[1, 2], [1, 2]]}, "accuracy: has 2 columns, expected 3"),
    ({"accuracy": [[2, 1, 3], [1, 1, 1]]}, r"accuracy\[0\]\[1\]: 1, expected at least the entry before it"),
    ({"task_job": [0, 1, 0]}, "tasks come job by job"),
    ({"task_job": [0, 0, 0]}, "job 1 has 0 tasks"),
    ({"task_job": [0, 0, 5]}, r"task_job\[2\]: 5, expected below 2"),
    ({"edge_to": [2, 0]}, "expected a task of the same job"),
    ({"edge_lag": [0, 0]}, "edge_to: task 0 waits for itself"),
    ({"edge_volume": [2**52, 2**52]}, "traffic can reach"),
    (
        {
            "duration": [2**31 - 1] * 3,
            "edge_delay": [2**31 - 1] * 2,
            "max_iterations": [10**6, 1],
            "accuracy": np.zeros((2, 10**6 + 1), dtype=int),
        },
        "total_jct can reach",
    ),
    ({"node_capacity": [], "eligible": np.zeros((3, 0), dtype=int)}, "node_capacity: 0 nodes"),
]


@pytest.mark.parametrize(("changes", "message"), BAD)
def test_what_is_wrong_is_said_in_a_line(changes, message):
    with pytest.raises(InvalidInput, match=message):
        small(**changes)


BAD_STATE = [
    ({"finished": [3, 0]}, "expected at most max_iterations"),
    ({"on_time": [2, 0]}, "expected at most finished"),
    ({"home": [0, -1, -1]}, "expected -1 exactly"),
    ({"last_end": [2, 7, 0]}, r"last_end\[1\]: 7, expected at most now"),
    ({"arrival": [3, 1]}, r"last_end\[0\]: 2, expected at least the arrival"),
    ({"fixed_start": [7]}, "expected at most now"),
    ({"fixed_node": [1]}, "expected the task's home"),
    ({"fixed_task": [2], "fixed_start": [0], "fixed_node": [1]}, "fixed_start.*expected at least the arrival"),
    ({"fixed_task": [2], "fixed_node": [0]}, "expected eligible"),
    ({"finished": [2, 0]}, "must not be of a job whose iterations are all finished"),
    ({"fixed_task": [0, 0], "fixed_node": [0, 0], "fixed_start": [5, 5]}, "names a task twice"),
]


@pytest.mark.parametrize(("changes", "message"), BAD_STATE)
def test_what_is_wrong_with_a_state_is_said_in_a_line(changes, message):
    with pytest.raises(InvalidInput, match=message):
        running(**changes)
