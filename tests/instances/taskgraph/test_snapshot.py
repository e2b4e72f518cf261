"""Snapshots: what is refused, what is ready where; and the judge of rounds, rule by rule."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from snapshot_examples import greedy, horizon, play, ready, scripted, snapshot_at, then_greedy

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.instances.taskgraph.snapshot import RUNNING
from mlsched.simulation.taskgraph.strategies import any_round, snapshots

#: Two nodes (2 and 1 GPUs). Job 0: tasks 0 -> 1 (2 ticks of transfer), twice; job 1: task 2, twice; job 2: task 3.
INST = horizon(
    [(0, 2, [(2, 1), (3, 1)]), (0, 2, [(9, 1)]), (1, 1, [(1, 1)])],
    nodes=[(2,), (1,)],
    edges=[(0, 1, 0, 5, 2)],
    min_iterations=[1, 1, 1],
)
SCRIPT = {0: {"start": [(0, 0), (2, 1)], "wake_at": 1}}


def seen(at: int = 2, **readings) -> Snapshot:
    """At 2: task 0 is done on node 0, task 1 may follow there, task 2 runs on node 1, task 3 waits."""
    return snapshot_at(INST, at, SCRIPT, **readings)


def test_the_snapshot_of_the_example():
    snapshot = seen()
    assert snapshot.state.tolist() == [3, 0, 1, 0]
    assert snapshot.free.tolist() == [[2], [0]]
    assert ready(snapshot).tolist() == [[False, False], [True, False], [False, False], [True, True]]
    assert ready(seen(4)).tolist()[1] == [True, True], "the data has arrived on the other node, too"


BAD = {
    "an unknown state": ({"state": [4, 0, 1, 0]}, r"state\[0\]: 4, expected between 0 and 3"),
    "a waiting task somewhere": ({"node": [0, 1, 1, -1]}, r"node\[1\]: 1, expected -1 exactly for the tasks that"),
    "a running task nowhere": ({"node": [0, -1, -1, -1]}, r"node\[2\]: -1, expected -1 exactly"),
    "no such node": ({"node": [2, -1, 1, -1]}, r"node\[0\]: 2, expected below 2"),
    "an end of what is not done": ({"end": [2, 0, 1, 0]}, r"end\[2\]: 1, expected 0 for a task in this state"),
    "an end to come": ({"end": [3, 0, 0, 0]}, r"end\[0\]: 3, expected at most now \(2\)"),
    "progress of what waits": ({"progress": [0, 1, 0, 0]}, r"progress\[1\]: 1, expected 0 for"),
    "a pause where none is allowed": ({"state": [3, 0, 2, 0]}, r"state\[2\]: 2, must not be 2 \(paused\) where"),
    "less in use than runs": ({"in_use": [[0], [0]]}, r"in_use\[1\]\[0\]: 0, expected at least what the running"),
    "a finished job": (
        {"finished": [0, 0, 1], "home": [-1, -1, -1, 0], "last_end": [0, 0, 0, 1]},
        r"finished\[2\]: 1, expected below stop_after",
    ),
    "a stop beyond the most": ({"stop_after": [3, 2, 1]}, r"stop_after\[0\]: 3, expected at most max_iterations"),
    "a job to come": ({"arrival": [0, 0, 3]}, r"arrival\[2\]: 3, expected at most now \(2\)"),
    "one name for two jobs": ({"job_id": [0, 0, 2]}, "job_id: names a job twice"),
    "a cycle": (
        {"edge_from": [0, 1], "edge_to": [1, 0], "edge_lag": [0, 0], "edge_volume": [0, 0], "edge_delay": [0, 0]},
        "waits for itself through edges of lag 0",
    ),
    "a home without a past": ({"home": [0, -1, -1, -1]}, r"home\[0\]: 0, expected -1 exactly"),
}


@pytest.mark.parametrize("bad", list(BAD))
def test_what_is_refused(bad):
    changes, message = BAD[bad]
    with pytest.raises(InvalidInput, match=message):
        seen().replace(**changes)


def test_half_a_pair_of_columns_is_refused():
    with pytest.raises(InvalidInput, match=r"start_node\[0\]: -1, expected between 0"):
        Round(start_task=[1])
    with pytest.raises(InvalidInput, match="stop_after: length is 2, expected 1"):
        Round(stop_job=[0], stop_after=[1, 2])


def test_files(tmp_path):
    snapshot = seen()
    api.save(snapshot, tmp_path / "s.json")
    assert api.load(tmp_path / "s.json") == snapshot
    plan = snapshot.round(start=[(1, 0)], stop=[(1, 1)], wake_at=7)
    api.save(plan, tmp_path / "r.json", instance=snapshot)
    assert api.load(tmp_path / "r.json") == plan
    assert snapshot.evaluate(plan) == {}


LEGAL = {
    "nothing": {},
    "a start where the data is": {"start": [(1, 0)]},
    "two starts": {"start": [(1, 0), (3, 0)]},
    "the least iterations": {"stop": [(0, 1)]},
    "the most iterations": {"stop": [(0, 2), (1, 2)]},
}
WRONG = {
    "another kind of plan": (None, "the answer is a NoneType"),
    "no such task": ({"start": [(4, 0)]}, "start: task 4 does not exist: there are 4"),
    "no such node": ({"start": [(1, 2)]}, "start: node 2 does not exist: there are 2"),
    "no such job": ({"stop": [(3, 1)]}, "stop: job 3 does not exist: there are 3"),
    "twice": ({"start": [(1, 0), (1, 0)]}, "start: task 1 is named a second time"),
    "a job twice": ({"stop": [(0, 1), (0, 2)]}, "stop: job 0 is named a second time"),
    "what is done": ({"start": [(0, 0)]}, "start: task 0 is done"),
    "what runs": ({"start": [(2, 0)]}, "start: task 2 runs"),
    "before the data is there": ({"start": [(1, 1)]}, "what task 0 sends arrives at node 1 at 4, now is 2"),
    "too much": ({"start": [(3, 1)]}, "node 1: 2 gpu in use, its capacity is 1"),
    "a pause": ({"pause": [2]}, "pause: task 2 may not pause: pausing is 'none'"),
    "a pause of what waits": ({"pause": [1]}, "pause: task 1 waits: must run"),
    "a move": ({"migrate": [(2, 0)]}, "migrate: task 2 may not move: movement is 'none'"),
    "too few iterations": ({"stop": [(0, 0)]}, "stop: job 0 after 0 iterations: expected 1 to 2"),
    "too many iterations": ({"stop": [(1, 3)]}, "stop: job 1 after 3 iterations: expected 1 to 2"),
}


@pytest.mark.parametrize("legal", list(LEGAL))
def test_a_legal_round(legal):
    assert seen().violations(seen().round(**LEGAL[legal])) == []


@pytest.mark.parametrize("wrong", list(WRONG))
def test_a_wrong_round_is_named(wrong):
    columns, sentence = WRONG[wrong]
    found = seen().violations(None if columns is None else seen().round(**columns))
    assert any(sentence in s for s in found), found


def test_a_source_that_is_not_done_and_a_node_that_is_not_eligible():
    inst = INST.replace(eligible=[[1, 1], [1, 1], [1, 1], [0, 1]])
    first, second = (snapshot_at(inst, time, SCRIPT) for time in (0, 2))
    sentence = "task 1: what it needs of task 0 is not there: task 0 is not done"
    assert first.violations(first.round(start=[(1, 0)])) == [sentence]
    assert "task 3: node 0 is not eligible" in second.violations(second.round(start=[(3, 0)]))


def test_pauses_make_room_for_starts_and_moves_for_what_comes():
    snapshot = seen(pausing="keep")
    assert snapshot.violations(snapshot.round(pause=[2], start=[(3, 1)])) == []
    moving = seen(movement="anytime")
    assert moving.violations(moving.round(migrate=[(2, 0)], start=[(3, 1)])) == []
    found = moving.violations(moving.round(migrate=[(2, 1)]))
    assert found == ["migrate: task 2 runs on node 1 already"]


def test_a_task_that_does_not_run_makes_no_room_by_leaving():
    snapshot = seen(pausing="keep")
    found = snapshot.violations(snapshot.round(pause=[1], start=[(3, 1)]))
    assert found == ["pause: task 1 waits: must run", "node 1: 2 gpu in use, its capacity is 1"]


def test_a_task_that_is_paused_or_takes_no_time_makes_no_room_by_leaving():
    """Task 0 holds nothing of node 0, where task 1 runs: it is paused, or its run takes no time."""
    inst = horizon([(0, 1, [(4, 1)]), (0, 1, [(4, 1)]), (0, 1, [(2, 1)])], nodes=((1,), (1,)))
    script = {0: {"start": [(0, 0)], "wake_at": 1}, 1: {"pause": [0], "start": [(1, 0)], "wake_at": 2}}
    paused = play(inst, then_greedy(script, 1), pausing="keep")[2][2]
    full = "node 0: 2 gpu in use, its capacity is 1"
    assert paused.violations(paused.round(pause=[0], start=[(2, 0)]))[-1] == full
    at_once = paused.replace(state=[RUNNING, *paused.state[1:]], duration=[0, 4, 2])
    assert at_once.violations(at_once.round(pause=[0], start=[(2, 0)])) == [full]
    a_tick = at_once.replace(duration=[1, 4, 2], in_use=[[2], [0]], node_capacity=[[2], [1]])
    assert a_tick.violations(a_tick.round(pause=[0], start=[(2, 0)])) == []
    assert a_tick.violations(a_tick.round(start=[(2, 0)])) == ["node 0: 3 gpu in use, its capacity is 2"]


def test_every_overfull_node_is_named_and_no_other():
    """Node 0 is full by what comes, node 1 was full before and stays so; only what something comes to is judged."""
    snapshot = seen().replace(in_use=[[2], [9]], node_capacity=[[2], [1]])
    assert snapshot.violations(snapshot.round(start=[(1, 0)])) == ["node 0: 3 gpu in use, its capacity is 2"]


def test_an_iteration_that_this_round_begins_must_be_finished():
    snapshot = seen().replace(min_iterations=[0, 0, 0])
    assert snapshot.violations(snapshot.round(stop=[(2, 0)])) == []
    found = snapshot.violations(snapshot.round(start=[(3, 0)], stop=[(2, 0)]))
    assert found == ["stop: job 2 after 0 iterations: expected 1 to 1"]


@pytest.mark.parametrize(("movement", "nodes"), [("none", [0]), ("between_iterations", [0, 1]), ("anytime", [0, 1])])
def test_where_a_second_iteration_may_run(movement, nodes):
    inst = horizon([(0, 2, [(2, 1)])])
    snapshot = play(inst, greedy(), movement=movement)[2][2]
    assert np.flatnonzero(ready(snapshot)[0]).tolist() == nodes
    legal = [n for n in (0, 1) if not snapshot.violations(snapshot.round(start=[(0, n)]))]
    assert legal == nodes


@pytest.mark.parametrize(("now", "nodes"), [(2, [0]), (4, [0]), (5, [0, 1])])
def test_where_the_iteration_before_has_sent_something(now, nodes):
    """Task 1 needs what task 0 sent at the end of the iteration before: at 2, and 3 ticks later on another node."""
    inst = horizon([(0, 2, [(2, 1), (1, 1)])], edges=[(0, 1, 1, 5, 3)])
    begin = {0: {"start": [(0, 0), (1, 1)], "wake_at": 2}}
    waits = {time: {"wake_at": time + 1} for time in range(2, 6)}
    snapshot = play(inst, then_greedy({**begin, **waits}, 5), movement="between_iterations")[2][now]
    assert [n for n in (0, 1) if not snapshot.violations(snapshot.round(start=[(1, n)]))] == nodes


@pytest.mark.parametrize(("movement", "nodes"), [("none", [0]), ("between_iterations", [0]), ("anytime", [0, 1])])
def test_where_a_paused_run_may_go_on(movement, nodes):
    script = {0: {"start": [(0, 0)], "wake_at": 1}, 1: {"pause": [0], "wake_at": 2}, 2: {"start": [(0, 0)]}}
    snapshot = play(horizon([(0, 1, [(4, 1)])]), scripted(script), movement=movement, pausing="keep")[2][2]
    assert np.flatnonzero(ready(snapshot)[0]).tolist() == nodes
    assert [n for n in (0, 1) if not snapshot.violations(snapshot.round(start=[(0, n)]))] == nodes


@given(snapshot=snapshots())
def test_ready_says_what_the_judge_says(snapshot):
    """A task is ready on a node exactly if the judge has nothing against its start there but the room."""
    empty = snapshot.replace(node_capacity=snapshot.node_capacity + snapshot.in_use + 99)
    for task in range(len(snapshot.task_job)):
        for node in range(len(snapshot.node_capacity)):
            legal = empty.violations(empty.round(start=[(task, node)])) == []
            assert legal == ready(snapshot)[task, node]


@given(snapshot=snapshots(), seed=st.integers(0, 99))
def test_rounds_at_random_are_legal_and_snapshots_survive_their_file(snapshot, seed):
    plan, _ = any_round(snapshot, None, np.random.default_rng(seed))
    assert snapshot.violations(plan) == []
    assert Snapshot.from_json(snapshot.to_json()) == snapshot
    assert Round.from_json(plan.to_json()) == plan


#: Job 0 is a gang of two tasks (1 GPU each), job 1 a single task; two nodes of 2 GPUs.
GANG = horizon([(0, 1, [(4, 1), (4, 1)]), (0, 1, [(4, 1)])])


def test_a_gang_starts_whole_or_not_at_all():
    snapshot = snapshot_at(GANG, 0, {0: {"wake_at": 1}}).replace(gang=[1, 0])
    assert snapshot.violations(snapshot.round(start=[(0, 0), (1, 1), (2, 0)])) == []
    assert snapshot.violations(snapshot.round(start=[(2, 0)])) == []
    found = snapshot.violations(snapshot.round(start=[(1, 1)]))
    assert found == ["job 0 is a gang: starts 1 of its 2 tasks, expected all or none"]
    both = snapshot.replace(gang=[1, 1])
    assert both.violations(both.round(start=[(2, 0)])) == []


def test_a_gang_pauses_whole_or_not_at_all():
    script = {0: {"start": [(0, 0), (1, 0)], "wake_at": 1}}
    snapshot = snapshot_at(GANG, 1, script, pausing="keep").replace(gang=[1, 0])
    assert snapshot.violations(snapshot.round(pause=[0, 1])) == []
    found = snapshot.violations(snapshot.round(pause=[1]))
    assert found == ["job 0 is a gang: pauses 1 of its 2 tasks, expected all or none"]


def test_where_placed_tasks_are_held_sources_inside_the_iteration_need_not_be_done():
    snapshot = snapshot_at(INST, 0, {0: {"wake_at": 1}}).replace(simulator="iterations", gang=[1, 0])
    assert snapshot.startable.tolist() == [True, True, True]
    assert snapshot.violations(snapshot.round(start=[(0, 0), (1, 1)])) == []


def test_classes_and_tables_that_are_not_there_are_refused():
    with pytest.raises(InvalidInput, match=r"task_class\[0\]: 1, expected below 1 \(classes\)"):
        seen().replace(task_class=[1, 0, 0, 0])
    with pytest.raises(InvalidInput, match=r"accuracy_table\[2\]: 9, expected below 3 \(tables\)"):
        seen().replace(accuracy_table=[0, 1, 9])


def test_past_its_last_column_a_table_stays_what_it_is():
    snapshot = seen().replace(accuracy=[[0, 7], [3, 3]], accuracy_table=[0, 0, 1])
    assert snapshot.accuracy_after(np.array([0, 9, 9])).tolist() == [0, 7, 3]
