"""The replay check: one injected fault per kind, and small random faults against a tick-by-tick recount."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from snapshot_examples import horizon

from mlsched.simulation.clock import Rule, run
from mlsched.simulation.findings import SHOWN
from mlsched.simulation.taskgraph import Options, TaskgraphWorld, Workload
from mlsched.simulation.taskgraph.log import Log
from mlsched.simulation.taskgraph.replay import violations
from mlsched.simulation.taskgraph.strategies import any_round, options, wakes, workloads
from mlsched.simulation.wake import Wake

EVENTS, TICKS = Wake(True, 0), Wake(False, 2)
#: Two nodes with one GPU. Job 0: two iterations of a chain of tasks 0 (2 ticks) and 1 (4 ticks), 1 tick of transfer,
#: 2 ticks for task 1 to move. Job 1: task 2 (3 ticks), from 1 on, not on node 1.
LOAD = Workload.of(
    horizon(
        [(0, 2, [(2, 1), (4, 1)]), (1, 1, [(3, 1)])],
        nodes=[(1,), (1,)],
        edges=[(0, 1, 0, 5, 1), (1, 1, 1, 5, 2)],
        eligible=[[1, 1], [1, 1], [1, 0]],
        min_iterations=[1, 1],
    )
)
A, B = (0, 0, 0, 1, 0, 2, 1), (0, 0, 1, 1, 2, 6, 1)
C, D = (0, 1, 0, 1, 6, 8, 1), (0, 1, 1, 1, 8, 12, 1)
E = (1, 0, 2, 0, 2, 5, 1)
SOUND = (A, B, C, D, E)


def check(remove=(), add=(), wake=EVENTS, stops=(), wakes=(), **readings) -> list[str]:
    rows = [row for row in SOUND if row not in remove]
    assert len(rows) == len(SOUND) - len(remove)
    return violations(LOAD, Options(**readings), wake, Log([*rows, *add], list(stops), list(wakes)))


def kinds(sentences: list[str]) -> set[str]:
    return {sentence.partition(":")[0] for sentence in sentences}


def changed(row, **fields):
    return tuple(fields.get(name, value) for name, value in zip(Log.names, row, strict=True))


#: What happens with task 1 in its second iteration instead of D.
PAUSED = [changed(D, end=10, outcome=0), changed(D, start=11, end=13)]
AGAIN = [changed(D, end=10, outcome=0), changed(D, start=11, end=15)]
MOVED = [changed(D, end=10, outcome=2), changed(D, node=0, start=10, end=14)]


def test_a_sound_log_passes():
    assert check() == []
    assert check([D], PAUSED, pausing="keep") == []
    assert check([D], AGAIN, pausing="restart") == []
    assert check([D], MOVED, movement="anytime") == []
    assert check([C, D], stops=[(0, 1, 3)]) == []
    assert check([E], [changed(E, start=4, end=7)], TICKS) == []
    assert check([E], [changed(E, start=3, end=6)], TICKS, wakes=[3]) == []


FAULTS = {
    "never runs": ("lost run", [E], [], {}),
    "an iteration is left out": ("lost run", [C, D], [], {}),
    "an iteration too many": ("lost run", [], [], {"stops": [(0, 1, 3)]}),
    "told to stop too early": ("stop", [], [], {"stops": [(1, 0, 0)]}),
    "finishes twice": ("lost run", [], [changed(E, start=5, end=8)], {}),
    "pauses for good": ("lost run", [D], [changed(D, end=10, outcome=0)], {"pausing": "keep"}),
    "too short": ("work", [D], [changed(D, end=11)], {}),
    "too long": ("work", [D], [changed(D, end=13)], {}),
    "a pause that keeps too much": ("work", [D], AGAIN, {"pausing": "keep"}),
    "a pause that loses nothing": ("work", [D], PAUSED, {"pausing": "restart"}),
    "a move for nothing": ("work", [D], [MOVED[0], changed(MOVED[1], end=12)], {"movement": "anytime"}),
    "pauses where none may": ("pause", [D], PAUSED, {}),
    "moves where none may": ("move", [D], MOVED, {"movement": "between_iterations"}),
    "moves into the air": ("move", [D], [MOVED[0], changed(MOVED[1], start=11, end=15)], {"movement": "anytime"}),
    "moves to where it is": ("move", [D], [MOVED[0], changed(D, start=10)], {"movement": "anytime"}),
    "on a node that may not run it": ("place", [E], [changed(E, node=1, start=12, end=15)], {}),
    "leaves home": ("place", [D], [changed(D, node=0, start=9, end=13)], {}),
    "resumes elsewhere": (
        "place",
        [D],
        [PAUSED[0], changed(MOVED[1], start=11, end=15)],
        {"pausing": "keep", "movement": "between_iterations"},
    ),
    "before its job arrives": ("early start", [E], [changed(E, start=0, end=3)], {}),
    "ahead of its iteration": (
        "early start",
        [C],
        [changed(C, node=0, start=5, end=7)],
        {"movement": "between_iterations"},
    ),
    "before its source is done": ("order", [B], [changed(B, node=0, start=1, end=5)], {"movement": "anytime"}),
    "before the data arrives": (
        "order",
        [B, E],
        [changed(B, node=0), changed(E, start=6, end=9)],
        {"movement": "between_iterations"},
    ),
    "two at a time": (
        "two places",
        [D],
        [changed(D, end=10, outcome=0), changed(D, start=9, end=11)],
        {"pausing": "keep"},
    ),
    "too much on a node": ("capacity", [E], [changed(E, node=1)], {}),
    "off the ticks": ("wake", [E], [changed(E, start=1, end=4)], {"wake": TICKS}),
    "pauses off the ticks": (
        "wake",
        [D],
        [changed(D, end=9, outcome=0), changed(D, start=10, end=13)],
        {"wake": TICKS, "pausing": "keep"},
    ),
}


@pytest.mark.parametrize("row", [changed(E, task=3), changed(E, node=2), changed(E, task=-1), changed(E, node=-1)])
def test_what_is_just_not_there_is_named(row):
    assert kinds(check(add=[row])) == {"log"}


@pytest.mark.parametrize("job", [-1, 2])
def test_a_stop_of_no_job_is_named(job):
    assert check(stops=[(job, 1, 3)]) == [f"log: the stop {(job, 1, 3)} names no job"]


def test_a_run_that_goes_on_after_its_end_is_in_two_places():
    found = check(add=[changed(D, start=12, end=14, outcome=0)], pausing="keep")
    assert "two places: task 1, iteration 1: starts at 12, it left at 12" in found


def test_where_gpus_are_one_pool_no_row_says_which_it_holds():
    log = Log(list(SOUND), gpus=[[0]] * len(SOUND))
    assert violations(LOAD, Options(), EVENTS, log) == ["gpu: 5 of 5 rows say which GPUs they hold, and gpu_unit = 0"]


def test_rows_of_no_length_may_come_in_any_order():
    """A run of no ticks pauses and finishes in one instant."""
    load = Workload.of(horizon([(0, 1, [(0, 1)])], nodes=[(1,)]))
    rows = [(0, 0, 0, 0, 2, 2, 1), (0, 0, 0, 0, 2, 2, 0)]
    for log in (rows, rows[::-1]):
        assert violations(load, Options(pausing="keep"), EVENTS, Log(log)) == []


def test_what_an_iteration_sends_to_the_next_takes_its_time():
    """Task 0 goes on, on node 0, as soon as task 1 is done on node 1, whose data takes 3 ticks."""
    edges = [(0, 1, 0, 5, 1), (1, 1, 1, 5, 2), (1, 0, 1, 5, 3)]
    jobs, nodes = [(0, 2, [(2, 1), (4, 1)]), (1, 1, [(3, 1)])], [(1,), (1,)]
    free = {"eligible": [[1, 1], [1, 1], [1, 0]], "min_iterations": [1, 1], "movement": "between_iterations"}
    rows = [A, B, E, changed(C, node=0), changed(D, start=9, end=13)]
    for known, found in ((edges[:2], set()), (edges, {"order"})):
        load = Workload.of(horizon(jobs, nodes=nodes, edges=known, **free))
        assert kinds(violations(load, Options(), EVENTS, Log(rows))) == found


def test_the_first_task_and_the_first_node_count():
    assert "capacity" in kinds(check([A, E], [changed(A, node=0), changed(E, start=1, end=4)]))


@pytest.mark.parametrize("fault", list(FAULTS))
def test_a_fault_is_named_by_its_kind(fault):
    kind, remove, add, readings = FAULTS[fault]
    assert kind in kinds(check(remove, add, **readings))


#: Faults that break a second rule by necessity.
MIXED = {
    "on a node that may not run it",
    "too much on a node",
    "finishes twice",
    "resumes elsewhere",
    "told to stop too early",
    "moves where none may",
    "before its source is done",
    "two at a time",
    "moves into the air",
    "moves to where it is",
}


@pytest.mark.parametrize("fault", [f for f in FAULTS if f not in MIXED])
def test_and_by_no_other_kind(fault):
    kind, remove, add, readings = FAULTS[fault]
    assert kinds(check(remove, add, **readings)) == {kind}


@pytest.mark.parametrize(
    "row",
    [
        (9, 0, 0, 0, 0, 2, 1),
        (0, 0, 9, 0, 0, 2, 1),
        (0, 0, 0, 5, 0, 2, 1),
        (0, 0, 0, 0, 3, 2, 1),
        (0, 0, 0, 0, 0, 2, 7),
        (0, -1, 0, 0, 0, 2, 1),
    ],
)
def test_a_malformed_row_is_named(row):
    sentences = check(add=[row])
    assert kinds(sentences) == {"log"}
    assert str(row) in sentences[0]


def test_many_faults_of_a_kind_are_counted():
    found = check(add=[(0, 0, 9, 0, 0, 2, 1)] * (SHOWN + 3))
    assert found[-1] == "log: 3 more"
    assert len(found) == SHOWN + 1


# -- small random faults ----------------------------------------------------------------------------------------------


def truly_sound(load: Workload, options: Options, log: Log) -> bool:
    """Tick by tick: capacity, arrivals, all work of all iterations done; edges are looked at by their sources' ends."""
    inst, rows = load.horizon, log.rows
    last = max((row[5] for row in rows), default=0) + 1
    use = np.zeros((last, *inst.node_capacity.shape), dtype=np.int64)
    for _, _, task, node, start, end, _ in rows:
        use[start:end, node] += inst.demand[task]
    if (use > inst.node_capacity).any() or any(row[4] < inst.arrival[row[0]] for row in rows):
        return False
    total = inst.max_iterations.copy()
    for job, iterations, _ in log.stops:
        total[job] = iterations
    ends = {(row[2], row[1]): row[5] for row in rows if row[6] == 1}
    complete = {(k, i) for k, j in enumerate(inst.task_job.tolist()) for i in range(int(total[j]))} == set(ends)
    worked = all(sum(r[5] - r[4] for r in rows if (r[2], r[1]) == key) >= load.true_duration[key[0]] for key in ends)
    ordered = all(
        row[4] >= ends.get((u, row[1] - lag), 0)
        for u, v, lag in zip(inst.edge_from.tolist(), inst.edge_to.tolist(), inst.edge_lag.tolist(), strict=True)
        for row in rows
        if row[2] == v
    )
    return bool(complete and worked and ordered)


@settings(max_examples=draws(21, 800))
@given(load=workloads(), readings=options(), wake=wakes(), seed=st.integers(0, 99), data=st.data())
def test_a_small_fault_is_found_or_harmless(load, readings, wake, seed, data):
    world, cadence = TaskgraphWorld.of(load, Options(**readings)), Wake.parse(wake)
    run(world, Rule("any", any_round), scheduling_events=cadence, seed=seed)
    log = world.log
    assert truly_sound(load, world.options, log)
    if not log.rows:
        return
    place = data.draw(st.integers(0, len(log.rows) - 1))
    row, shift = log.rows[place], data.draw(st.sampled_from([-2, -1, 1, 2]))
    kind = data.draw(st.sampled_from(["start", "end", "both", "node", "iteration", "task", "outcome", "drop", "twice"]))
    faulty = {
        "start": [changed(row, start=row[4] + shift)],
        "end": [changed(row, end=row[5] + shift)],
        "both": [changed(row, start=row[4] + shift, end=row[5] + shift)],
        "node": [changed(row, node=(row[3] + 1) % len(load.horizon.node_capacity))],
        "iteration": [changed(row, iteration=row[1] + shift)],
        "task": [changed(row, task=(row[2] + 1) % len(load.horizon.task_job))],
        "outcome": [changed(row, outcome=(row[6] + 1) % 3)],
        "drop": [],
        "twice": [row, row],
    }[kind]
    tampered = Log([*log.rows[:place], *faulty, *log.rows[place + 1 :]], log.stops, log.wakes)
    found = violations(load, world.options, cadence, tampered)
    if kind in ("start", "end", "iteration", "drop", "twice") and load.true_duration[row[2]]:
        # Of an interrupted run, what is lost of one segment may not have counted.
        assert found or row[6] != 1, (kind, row, log.rows)
    if not found:
        assert truly_sound(load, world.options, tampered), (kind, row, log.rows)
