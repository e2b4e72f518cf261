"""The replay check: one injected fault per kind, and small random faults, which are found or change nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlsched import api
from mlsched.simulation.findings import SHOWN
from mlsched.simulation.placement import Options, Workload
from mlsched.simulation.placement.log import PLACEMENTS, Log
from mlsched.simulation.placement.replay import violations
from mlsched.simulation.placement.strategies import options, workloads
from mlsched.simulation.wake import Wake

M = 10**6
TICKS, EVENTS = Wake(False, 10), Wake(True, 0)
NONE = np.zeros((2, 0), dtype=np.int64)
#: Two servers of three slots. Beside a worker of b, a trains at half its speed. Job 2 comes at 12 s.
LOAD = Workload(
    resources=["slots"],
    types=["a", "b"],
    pressures=[],
    server_capacity=[[3], [3]],
    sigma_worker=[[0, M], [0, 0]],
    sigma_ps=[[0, 0], [0, 0]],
    apart=[[0, 0], [0, 0]],
    use_worker=NONE,
    use_ps=NONE,
    linear=NONE,
    quadratic=np.zeros((2, 0, 0), dtype=np.int64),
    rho_ps=[0, 0],
    rho_worker=[0, 0],
    submit=[0, 0, 12],
    job_type=[0, 1, 1],
    job_speed=[M, M, 2 * M],
    job_workers=[1, 1, 2],
    job_ps=[1, 0, 0],
    worker_demand=[[1]] * 3,
    ps_demand=[[1]] * 3,
    interval=10,
)
#: Jobs 0 and 1 share server 0 until 10 s, job 0 is done at 15 s; job 2 is on both from 20 s on, done at 25 s, and
#: leaves at 30 s.
A1, A2 = (0, 0, 10, M // 2, 5 * M), (0, 10, 20, M, 10 * M)
B1 = (1, 0, 10, M, 10 * M)
C1 = (2, 20, 30, 2 * M, 10 * M)
ROWS = (A1, A2, B1, C1)
PLACED = ((0, 0, 0, 1, 1), (1, 0, 0, 1, 0), (2, 20, 0, 1, 0), (2, 20, 1, 1, 0))


def check(rows=ROWS, placed=PLACED, wake=TICKS, load=LOAD, **readings) -> list[str]:
    return violations(load, Options(**readings), wake, Log(list(rows), list(placed)))


def kinds(sentences: list[str]) -> set[str]:
    return {sentence.partition(":")[0] for sentence in sentences}


def with_(rows, old, *new):
    assert old in rows
    return [*(row for row in rows if row != old), *new]


def test_a_sound_log_passes():
    assert check() == []
    instant = with_(with_(ROWS, C1, (2, 20, 25, 2 * M, 10 * M)), A2, (0, 10, 15, M, 10 * M))
    assert check(instant, departure="instant") == []
    assert check(instant, wake=EVENTS) == []
    assert check(most_jobs=2, most_new=2) == []
    # No two jobs of type a are there together.
    assert check(load=LOAD.replace(apart=[[1, 0], [0, 0]])) == []


#: kind -> rows, placements, and what else is asked with.
FAULTS = {
    "lost job": (with_(ROWS, C1), PLACED[:2], {}),
    "lost job, not done": (with_(ROWS, A2), PLACED, {}),
    "lost job, stays on": ([*ROWS, (1, 10, 20, M, 10 * M)], PLACED, {}),
    "arrival": (with_(ROWS, C1, (2, 10, 20, 2 * M, 10 * M)), (*PLACED[:2], (2, 10, 0, 1, 0), (2, 10, 1, 1, 0)), {}),
    "wake": (with_(ROWS, C1, (2, 21, 30, 2 * M, 10 * M)), (*PLACED[:2], (2, 21, 0, 1, 0), (2, 21, 1, 1, 0)), {}),
    "placement, in part": (ROWS, PLACED[:3], {}),
    "placement, twice": (ROWS, (*PLACED, (2, 20, 1, 1, 0)), {}),
    "placement, at another time": (ROWS, with_(PLACED, PLACED[2], (2, 19, 0, 1, 0)), {}),
    "segments": (with_(ROWS, A2, (0, 11, 21, M, 10 * M)), PLACED, {}),
    "capacity": (ROWS, PLACED, {"load": LOAD.replace(server_capacity=[[2], [4]])}),
    "apart": (ROWS, PLACED, {"load": LOAD.replace(apart=[[0, 1], [1, 0]])}),
    "new jobs": (ROWS, PLACED, {"most_new": 1}),
    "concurrent jobs": (ROWS, PLACED, {"most_jobs": 1}),
    "speed": (with_(ROWS, B1, (1, 0, 10, 2 * M, 10 * M)), PLACED, {}),
    "speed, of the neighbour": ([(0, 0, 10, M, 10 * M), B1, C1], PLACED, {}),
    "work": (with_(ROWS, A1, (0, 0, 10, M // 2, 5 * M + 1)), PLACED, {}),
    "work, out of nothing": (with_(ROWS, A2, (0, 10, 20, 0, 10 * M)), PLACED, {}),
    "departure": (with_(ROWS, C1, (2, 20, 40, 2 * M, 10 * M)), PLACED, {}),
    "departure, at once": (ROWS, PLACED, {"departure": "instant"}),
    "log": ([*ROWS, (3, 0, 10, M, 10 * M)], PLACED, {}),
    "log, no time": ([*ROWS, (0, 20, 20, M, 10 * M)], PLACED, {}),
    "log, speed below zero": ([*ROWS, (0, 20, 30, -1, 5 * M)], PLACED, {}),
    "log, no such job": (ROWS, (*PLACED, (3, 0, 1, 1, 0)), {}),
    "log, a job before the first": (ROWS, (*PLACED, (-1, 0, 1, 1, 0)), {}),
    "log, the server after the last": (ROWS, (*PLACED, (0, 0, 2, 1, 0)), {}),
    "log, a server before the first": (ROWS, (*PLACED, (0, 0, -1, 1, 0)), {}),
    "log, fewer than no worker": (ROWS, (*PLACED, (0, 0, 1, -1, 2)), {}),
    "log, fewer than no PS": (ROWS, (*PLACED, (0, 0, 1, 2, -1)), {}),
    "log, no server": (ROWS, (*PLACED, (0, 0, 7, 1, 0)), {}),
    "log, no task": (ROWS, (*PLACED, (0, 0, 1, 0, 0)), {}),
}


@pytest.mark.parametrize("fault", list(FAULTS))
def test_a_fault_is_named_by_its_kind(fault):
    rows, placed, more = FAULTS[fault]
    assert fault.partition(",")[0] in kinds(check(rows, placed, **more))


@pytest.mark.parametrize("fault", ["capacity", "apart", "new jobs", "concurrent jobs", "departure, at once", "log"])
def test_and_by_no_other_kind(fault):
    rows, placed, more = FAULTS[fault]
    assert kinds(check(rows, placed, **more)) == {fault.partition(",")[0]}


def test_every_time_of_a_placement_is_named():
    found = check(ROWS, with_(PLACED, PLACED[2], (2, 19, 0, 1, 0)))
    assert "placement: job 2 is placed at 19, 20, and trains from 20 s on" in found


def test_what_stays_on_after_its_end_is_said_once():
    found = check([*ROWS, (1, 10, 20, M, 10 * M)])
    assert [s for s in found if "job 1" in s and not s.startswith("speed")] == [
        "lost job: job 1 holds servers at 10 s, after it has left"
    ]


def test_what_is_never_placed_is_said_so():
    assert "placement: job 2 is placed at never, and trains from 20 s on" in check(placed=PLACED[:2])


#: Two jobs of type a, each on a server of its own, from 0 and from 10 s on.
APART = LOAD.replace(
    submit=[0, 10],
    job_type=[0, 0],
    job_speed=[M // 2] * 2,
    job_workers=[1, 1],
    job_ps=[0, 0],
    worker_demand=[[1]] * 2,
    ps_demand=[[1]] * 2,
)


def test_new_jobs_are_counted_when_they_start():
    rows = [(0, 0, 20, M // 2, 10 * M), (1, 10, 20, M // 2, 5 * M), (1, 20, 30, M // 2, 10 * M)]
    placed = [(0, 0, 0, 1, 0), (1, 10, 1, 1, 0)]
    assert check(rows, placed, load=APART, most_new=1) == []
    together = [*rows[:1], (1, 0, 20, M // 2, 10 * M)]
    early = check(together, [placed[0], (1, 0, 1, 1, 0)], load=APART.replace(submit=[0, 0]), most_new=1)
    assert kinds(early) == {"new jobs"}


def test_a_job_may_be_there_and_get_nowhere():
    """Job 0 trains at a millionth; beside job 1 that comes to nothing."""
    slow = LOAD.replace(job_speed=[1, M, 2 * M])
    rows = [(0, 0, 10, 0, 0), (0, 10, 20, 1, 10), B1, C1, (0, 20, 10 * M + 10, 0, 10)]
    assert "log" not in kinds(check(rows, load=slow))


def test_many_faults_of_a_kind_are_counted():
    found = check([*ROWS, *[(9, 0, 10, M, 0)] * (SHOWN + 3)])
    assert sum(s.startswith("log") for s in found) == SHOWN + 1
    assert "log: 3 more" in found


@pytest.mark.filterwarnings("ignore:the offered load")
@settings(max_examples=2 * settings().max_examples)
@given(workload=workloads(), readings=options(), data=st.data())
def test_every_small_fault_is_found(workload, readings, data):
    """Any single number of the log changed, any row left out or doubled: none leaves the log sound."""
    rule = data.draw(st.sampled_from(["load-balancing", "bin-packing", "cp-sat"]))
    run = api.simulate(workload, rule, scheduling_events="interval:10", options=readings)
    rows, placed = list(run.log.rows), list(run.log.placements)
    of_rows = data.draw(st.booleans(), label="a segment, else a placement")
    table, width = (rows, len(Log.names)) if of_rows else (placed, len(PLACEMENTS))
    index = data.draw(st.integers(0, len(table) - 1))
    kind = data.draw(st.sampled_from(["change", "change", "change", "drop", "twice"]))
    if kind == "change":
        field, shift = data.draw(st.integers(0, width - 1)), data.draw(st.sampled_from([-10, -1, 1, 10]))
        row = list(table[index])
        row[field] += shift
        table[index] = tuple(row)
        if not of_rows and _same_elsewhere(workload, run, readings, rows, placed):
            return
    else:
        table[index : index + 1] = [table[index]] * (2 if kind == "twice" else 0)
    assert violations(workload, run.options, run.scheduling_events, Log(rows, placed)) != []


def _same_elsewhere(workload, run, readings, rows, placed) -> bool:
    """A task moved to another server may be as good a placement: then the log is sound, with the same speeds."""
    server = PLACEMENTS.index("server")
    moved = [(a, b) for a, b in zip(run.log.placements, placed, strict=True) if a != b]
    return all(a[:server] == b[:server] and a[server + 1 :] == b[server + 1 :] for a, b in moved) and not violations(
        workload, run.options, run.scheduling_events, Log(rows, placed)
    )
