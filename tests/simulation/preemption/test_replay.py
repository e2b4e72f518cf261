"""The replay check: one injected fault per kind, and random small faults against a second-by-second recount."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from mlsched import api
from mlsched.simulation.findings import SHOWN
from mlsched.simulation.preemption import Options, Workload
from mlsched.simulation.preemption.log import Log
from mlsched.simulation.preemption.replay import violations
from mlsched.simulation.preemption.strategies import options, workloads
from mlsched.simulation.wake import Wake

TICKS, EVENTS = Wake(False, 60), Wake(True, 0)
LOAD = Workload(
    resources=["gpu"],
    node_capacity=[[4], [4], [4]],
    submit=[0, 0, 60, 120],
    te=[0, 0, 1, 1],
    execution=[600, 180, 60, 60],
    demand=[[3], [4], [4], [1]],
    grace=[120, 0, 60, 0],
)
#: BE job 0 gets its signal at 60 s, TE job 2 takes its place; BE job 1 and TE job 3 on node 1.
SOUND = (
    (0, 0, 0, 180, 60, 0),
    (1, 1, 0, 180, -1, 1),
    (2, 0, 180, 240, -1, 1),
    (3, 1, 180, 240, -1, 1),
    (0, 0, 240, 660, -1, 1),
)


def check(remove=(), add=(), wake=TICKS, **readings) -> list[str]:
    rows = [row for row in SOUND if row not in remove]
    assert len(rows) == len(SOUND) - len(remove)
    return violations(LOAD, Options(**readings), wake, Log(rows + list(add)))


def kinds(sentences: list[str]) -> set[str]:
    return {sentence.partition(":")[0] for sentence in sentences}


def test_a_sound_log_passes():
    assert check() == []
    assert check(wake=EVENTS) == []


RUN_0, RUN_1, RUN_2, RUN_3, REST_0 = SOUND
FAULTS = {
    "capacity on another's time": ("capacity", [RUN_3], [(3, 1, 120, 180, -1, 1)]),
    "capacity on another's node": ("capacity", [RUN_2], [(2, 1, 180, 240, -1, 1)]),
    "capacity of the first node": ("capacity", [REST_0], [(0, 0, 200, 620, -1, 1)]),
    "early start": ("early start", [RUN_3], [(3, 0, 60, 120, -1, 1)]),
    "two places": ("two places", [REST_0], [(0, 2, 120, 540, -1, 1)]),
    "lost": ("lost job", [RUN_3], []),
    "never finished": ("lost job", [REST_0], [(0, 0, 240, 660, -1, 0)]),
    "finished twice": ("lost job", [], [(3, 2, 240, 300, -1, 1)]),
    "runs on after its end": ("lost job", [], [(1, 2, 240, 300, 300, 0)]),
    "too little work": ("work", [RUN_3], [(3, 1, 180, 239, -1, 1)]),
    "too much work": ("work", [RUN_3], [(3, 1, 180, 241, -1, 1)]),
    "grace period cut": ("grace period", [RUN_0, REST_0], [(0, 0, 0, 120, 60, 0), (0, 0, 240, 720, -1, 1)]),
    "grace period extended": (
        "grace period",
        [RUN_0, RUN_2, REST_0],
        [(0, 0, 0, 240, 60, 0), (2, 2, 180, 240, -1, 1), (0, 0, 240, 600, -1, 1)],
    ),
    "TE victim": ("victim", [RUN_2], [(2, 0, 180, 240, 180, 1)]),
    "signal before the start": ("signal", [RUN_0, REST_0], [(0, 0, 120, 180, 60, 0), (0, 0, 240, 780, -1, 1)]),
    "leaves without a signal": ("signal", [RUN_0], [(0, 0, 0, 180, -1, 0)]),
    "off the ticks": ("wake", [RUN_3], [(3, 1, 190, 250, -1, 1)]),
}


@pytest.mark.parametrize("fault", list(FAULTS))
def test_a_fault_is_named_by_its_kind_and_no_other(fault):
    kind, remove, add = FAULTS[fault]
    assert kinds(check(remove, add)) >= {kind}
    assert kinds(check(remove, add)) <= {kind, "signal"} if fault == "never finished" else {kind}


def test_starts_between_ticks_are_fine_where_the_clock_wakes_at_events():
    assert check([RUN_3], [(3, 1, 190, 250, -1, 1)], wake=EVENTS) == []
    assert check([RUN_3], [(3, 1, 190, 250, -1, 1)], wake=Wake(True, 60)) == []


def test_the_preemption_limit():
    assert check(preemption_limit=1) == []
    assert kinds(check(preemption_limit=0)) == {"preemption limit"}
    twice = [(0, 0, 240, 420, 300, 0), (0, 0, 420, 660, -1, 1)]
    assert check([REST_0], twice, preemption_limit=2) == []
    assert kinds(check([REST_0], twice, preemption_limit=1)) == {"preemption limit"}


def test_work_in_the_grace_period_counts_by_the_reading():
    assert kinds(check(during_grace="paused")) == {"work"}
    rest = (0, 0, 240, 780, -1, 1)
    assert check([REST_0], [rest], during_grace="paused") == []
    assert kinds(check([REST_0], [rest])) == {"work"}


def test_a_paused_victim_cannot_finish():
    finishes = [(0, 0, 240, 660, 600, 1)]  # signalled at 600 s, at work until 660 s
    assert check([REST_0], finishes, preemption_limit=2) == []
    wrong = check([RUN_0, REST_0], [(0, 0, 0, 600, 540, 1), (2, 2, 180, 240, -1, 1)], during_grace="paused")
    assert "work: job 0 did 540 s of its 600 s of work" in wrong


@pytest.mark.parametrize(("snapshot", "end"), [(180, 360), (60, 300), (1, 270)])
def test_a_job_without_grace_period_keeps_only_its_snapshots(snapshot, end):
    """Job 1 (180 s) is suspended after 90 s and goes on at 180 s: 0, 60 or 90 s are kept."""
    add = [(1, 1, 0, 90, 90, 0), (1, 2, 180, end, -1, 1)]
    assert check([RUN_1], add, snapshot=snapshot) == []
    assert kinds(check([RUN_1], [add[0], (1, 2, 180, end - 10, -1, 1)], snapshot=snapshot)) == {"work"}


def test_a_job_may_be_suspended_in_the_instant_it_starts():
    assert check(add=[(0, 0, 240, 240, 240, 0)], during_grace="paused") != []  # 120 s of grace
    assert check([RUN_1], [(1, 1, 0, 0, 0, 0), (1, 1, 0, 180, -1, 1)]) == []
    twice = [(1, 1, 0, 0, 0, 0)] * 2
    assert kinds(check([RUN_1], [*twice, (1, 1, 0, 180, -1, 1)], preemption_limit=1)) == {"preemption limit"}


def test_rows_may_come_in_any_order():
    """Job 1 runs from 0 to 90 s, goes on at 90 s and is suspended in that instant."""
    rows = [(1, 1, 90, 90, 90, 0), (1, 1, 0, 90, 90, 0), (1, 2, 180, 270, -1, 1)]
    assert check([RUN_1], rows, wake=EVENTS, snapshot=1, preemption_limit=2) == []


def test_what_a_pause_and_a_snapshot_leave_counts_from_the_start_of_the_segment():
    # Job 0 works from 240 to 300 s in its second segment, has its grace period and goes on at 420 s.
    paused = [(0, 0, 240, 420, 300, 0), (0, 0, 420, 900, -1, 1)]
    assert check([REST_0], paused, during_grace="paused", preemption_limit=2) == []
    # Signalled at 0 s, it has done nothing.
    at_once = [(0, 0, 0, 120, 0, 0), (0, 0, 240, 840, -1, 1)]
    assert check([RUN_0, REST_0], at_once, during_grace="paused") == []
    # Job 1 starts at 60 s, is suspended at 180 s and keeps 100 of 120 s.
    kept = [(1, 1, 60, 180, 180, 0), (1, 2, 180, 260, -1, 1)]
    assert check([RUN_1], kept, snapshot=100) == []
    rest = (0, 0, 240, 780, -1, 1)
    assert check([RUN_1, REST_0], [*kept, rest], snapshot=100, during_grace="paused") == []


def test_a_job_that_finishes_as_it_is_signalled_has_done_it_all():
    assert check([RUN_1], [(1, 1, 0, 180, 180, 1)], snapshot=100) == []


def test_snapshots_are_for_victims():
    assert kinds(check([RUN_1], [(1, 1, 0, 60, -1, 0), (1, 1, 60, 180, -1, 1)], snapshot=180)) == {"signal"}


@pytest.mark.parametrize(
    "row",
    [
        (9, 0, 0, 60, -1, 1),
        (4, 0, 0, 60, -1, 1),
        (-1, 0, 0, 60, -1, 1),
        (0, 3, 0, 60, -1, 1),
        (0, -1, 0, 60, -1, 1),
        (3, 1, 60, 0, -1, 1),
    ],
)
def test_a_malformed_row_is_named(row):
    sentences = check(add=[row])
    assert kinds(sentences) == {"log"}
    assert str(row) in sentences[0]


def test_a_malformed_row_hides_no_full_node():
    twice = (3, 1, 120, 180, -1, 1)
    found = check([RUN_3], [twice, (0, 1, 180, 60, -1, 0)])
    assert kinds(found) == {"log", "capacity"}
    assert "capacity: node 1 holds [5] at 120 s, its capacity is [4]" in found


def test_many_faults_of_a_kind_are_counted():
    count = SHOWN + 3
    load = Workload(
        resources=["gpu"],
        node_capacity=[[1]],
        submit=[0] * count,
        te=[0] * count,
        execution=[1] * count,
        demand=[[0]] * count,
        grace=[0] * count,
    )
    found = violations(load, Options(), TICKS, Log())
    assert len(found) == SHOWN + 1
    assert found[-1] == "lost job: 3 more"


# -- small random faults in busy runs ---------------------------------------------------------------------------------


def truly_sound(load: Workload, rows: list[tuple[int, ...]]) -> bool:
    """Second by second: no node over its capacity, no job twice at a time or before its submission, all of it done."""
    length = max((row[3] for row in rows), default=0) + 1
    used = np.zeros((len(load.node_capacity), length, len(load.resources)), dtype=np.int64)
    places = np.zeros((len(load.submit), length), dtype=np.int64)
    for job, node, start, end, _, _ in rows:
        used[node, start:end] += load.demand[job]
        places[job, start:end] += 1
    early = any(row[2] < load.submit[row[0]] for row in rows)
    done = sorted(row[0] for row in rows if row[5]) == list(range(len(load.submit)))
    enough = (places.sum(axis=1) >= load.execution).all()
    return bool(
        done and enough and not early and (used <= load.node_capacity[:, None, :]).all() and (places <= 1).all()
    )


@pytest.mark.filterwarnings("ignore:the offered load")
@settings(max_examples=draws(12, 100))
@given(load=workloads(), readings=options(), data=st.data())
def test_a_small_fault_is_found_or_harmless(load, readings, data):
    run = api.simulate(load, "rand", options=readings)
    rows = [tuple(map(int, row)) for row in run.log.rows]
    assert truly_sound(load, rows)
    index = data.draw(st.integers(0, len(rows) - 1))
    job, node, start, end, signal, finished = rows[index]
    shift = data.draw(st.sampled_from([-120, -60, -1, 1, 60, 120]))
    kind = data.draw(st.sampled_from(["start", "end", "both", "node", "finished", "drop", "signal"]))
    changed = {
        "start": (job, node, start + shift, end, signal, finished),
        "end": (job, node, start, end + shift, signal, finished),
        "both": (job, node, start + shift, end + shift, signal + shift if signal >= 0 else signal, finished),
        "node": (job, data.draw(st.integers(0, len(load.node_capacity) - 1)), start, end, signal, finished),
        "finished": (job, node, start, end, signal, 1 - finished),
        "signal": (job, node, start, end, -1 if signal >= 0 else start, finished),
    }
    rows[index : index + 1] = [] if kind == "drop" else [changed[kind]]
    found = violations(load, run.options, run.scheduling_events, Log(rows))
    if kind in ("finished", "drop") and not (kind == "drop" and start == end):
        assert found
    if kind in ("start", "end") and start != end and load.grace[job]:
        assert found  # the work no longer adds up, or the grace period does not
    if not found:
        assert truly_sound(load, rows), (kind, rows)
