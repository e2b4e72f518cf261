"""An order of jobs gives the same run step by step as by a snapshot at every event."""

from __future__ import annotations

import random
import re

import pytest
from draws import draws
from jobs_examples import jobs_of

import mlsched
from mlsched.core.errors import InvalidInput, SolverError, Stuck
from mlsched.heuristics.taskgraph._order import Job, unknown
from mlsched.simulation.taskgraph.iterations import IterationWorld, Options
from mlsched.simulation.taskgraph.iterations.engine import serves
from mlsched.simulation.taskgraph.iterations.fits import never_start
from mlsched.simulation.taskgraph.iterations.log import MOVE
from mlsched.simulation.taskgraph.iterations.thrashing import Thrashing


@mlsched.order
def small_first(job):
    return (job.gpus, -job.arrival)


@mlsched.order(preempts=True)
def served_least_first(job):
    return job.executed * job.gpus


@mlsched.order(ages=True, strict=True)
def response_ratio(job):
    return -(job.now - job.arrival) / (1 + job.remaining)


RULES = [
    ("fifo", {}),
    ("best-effort-fifo", {}),
    ("srpt", {}),
    ("srpt", {"size": "area"}),
    ("srpt", {"preempt": True}),
    ("srpt", {"preempt": True, "size": "time", "hysteresis": 0.0}),
    ("las", {"quantum": 4.0}),
    ("las", {"quantum": 6.0, "growth": 0.0, "by": "time"}),
    ("tiresias", {"first": 6.0, "second": 20.0, "knob": 4.0}),
    ("tiresias", {"first": 12.0, "second": 40.0, "keep": True}),
    ("fair", {}),
    ("fair", {"per": "user"}),
    ("drf", {"per": "user"}),
    ("easy-backfill", {}),
    ("easy-backfill", {"reserve": "nodes"}),
    (small_first, {}),
    (served_least_first, {}),
    (response_ratio, {}),
]


def log_of(seed):
    rng = random.Random(seed)
    resources = ("gpu", "cpu")[: 1 + seed % 2]
    gangs = []
    for _ in range(6):
        length = rng.randint(1, 9)
        rows = [(length, *(rng.randint(1, 3) for _ in resources)) for _ in range(rng.choice([1, 1, 2, 3]))]
        gangs.append(rows if seed % 3 else [rows[0]] * len(rows))
    jobs = sorted(
        (rng.randint(0, 25), rng.randrange(6), rng.choice([1, 1, 2, 4]), rng.choice([10**6, 1_300_001]))
        for _ in range(18)
    )
    told = [job[3] if seed % 2 else job[3] * 9 // 10 for job in jobs]  # estimates may be too low
    more = {"movement": "anytime", "tick_ms": 1000, "told": told, "pause_cost": [rng.choice([0, 1_500_000])] * 18}
    more["user"] = [rng.randrange(3) for _ in range(18)]
    if seed % 4 == 0:
        more["priority"] = [rng.choice([0, 0, 1]) for _ in range(18)]
    if seed % 5 == 0:
        more |= {"failure_node": [0, 1], "failure_from": [5, 9], "failure_to": [12, 10]}
    if seed % 7 == 0:
        classes = {"node_type": [0, 1, 0, 1], "slowness": [[10**6, 1_500_000]], "type_names": ("a", "b")}
        more |= classes
    nodes = [tuple(rng.choice([3, 4, 8]) for _ in resources) for _ in range(4)]
    return jobs_of(gangs, jobs, nodes=nodes, resources=resources, **more)


@pytest.mark.parametrize("seed", range(draws(12, 600)))
def test_an_order_gives_the_same_run_with_and_without_snapshots(seed):
    load, rng = log_of(seed), random.Random(seed)
    for rule, params in rng.sample(RULES, 4):
        options = {"restart": rng.choice(["checkpoint", "scratch"])}
        if never_start(load):
            return
        try:
            fast = mlsched.simulate(load, rule, options=options, **params)
        except Stuck as stuck:
            with pytest.raises(Stuck, match=re.escape(str(stuck))):
                mlsched.simulate(load, rule, options=options, record=1.0, **params)
            continue
        slow = mlsched.simulate(load, rule, options=options, record=1.0, **params)
        assert len(slow.recorded) == slow.decisions, "every decision was one of a snapshot"
        assert (fast.log.rows, fast.log.places, fast.log.wakes) == (slow.log.rows, slow.log.places, slow.log.wakes)
        assert fast.decisions == slow.decisions
        assert fast.violations() == []


def test_what_is_left_of_a_job_counts_tasks_that_moved_and_tasks_that_did_not():
    rows = [[(1, 4)], [(3, 4)], [(1, 3)], [(8, 2), (8, 4), (8, 3)], [(3, 3)]]
    jobs = [(0, 3, 1, 1_300_001), (2, 3, 1), (4, 0, 7, 700_000), (5, 4, 4), (6, 0, 1, 700_000), (8, 1, 1)]
    types = {"node_type": [0, 1, 0, 1], "slowness": [[10**6, 700_000]], "type_names": ("a", "b")}
    load = jobs_of(rows, jobs, nodes=((4,), (8,), (9,), (8,)), movement="anytime", tick_ms=1000, **types)
    fast, slow = (mlsched.simulate(load, "srpt", preempt=True, record=record) for record in (0.0, 1.0))
    assert any(row[-1] == MOVE for row in fast.log.rows)
    assert (fast.log.rows, fast.log.places) == (slow.log.rows, slow.log.places)


def test_graphs_parts_of_gpus_and_bound_tasks_are_served_by_snapshots():
    load = log_of(1)
    fifo = mlsched.simulate(load, "fifo").rule.order
    assert serves(IterationWorld(load, Options()), fifo)
    assert not serves(IterationWorld(load, Options(pausing="keep", movement="none")), fifo)
    assert not serves(IterationWorld(load, Options(usage="drawn")), fifo)
    graph = jobs_of([[(1, 1), (1, 1)]], [(0, 0, 1)], edges=[(0, 1, 0, 1, 1)])
    assert not serves(IterationWorld(graph, Options()), fifo)


def test_a_key_is_a_scheduler_by_its_name_alone_too(tmp_path, monkeypatch):
    (tmp_path / "keys_of_mine.py").write_text(
        "import mlsched\n\n@mlsched.order\ndef longest(job):\n    return -job.remaining\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    load = log_of(2)
    run = mlsched.simulate(load, "keys_of_mine:longest")
    apart = mlsched.simulate(load, "keys_of_mine:longest", isolate=True)
    assert run.solver == "longest"
    assert run.log.rows == apart.log.rows
    snapshot = mlsched.simulate(load, "fifo", record=1.0).recorded[0].instance
    assert mlsched.solve(snapshot, "keys_of_mine:longest").plan is not None


def test_what_a_key_returns_and_raises_is_checked():
    @mlsched.order
    def nothing(job):
        return float("nan")

    @mlsched.order
    def misspelt(job):
        return job.length

    load = log_of(3)
    for record in (0.0, 1.0):
        with pytest.raises(SolverError, match=r"nothing: job \d+ at tick \d+: key nan, expected a number"):
            mlsched.simulate(load, nothing, record=record)
        with pytest.raises(SolverError, match=r"misspelt: .* job.length: unknown fact"):
            mlsched.simulate(load, misspelt, record=record)
    facts = set(Job.__annotations__)
    assert set(str(unknown("length")).partition("there are ")[2].split(", ")) == facts
    assert all(f"`{fact}`" in str(mlsched.order.__doc__) for fact in facts)
    with pytest.raises(InvalidInput, match="order: 3, expected a function of a job"):
        mlsched.order(3)
    with pytest.raises(InvalidInput, match="nothing: is an order of jobs, expected a scheduler of preemption"):
        mlsched.solve(mlsched.generate("preemption", "small"), nothing)


def test_a_run_that_pauses_jobs_without_end_is_stuck():
    """Two jobs for one GPU, which preempt each other at every tick; a pause costs more than a tick."""

    def alternating(snapshot, *, rng):
        running = snapshot.state == 1
        if not running.any():
            return snapshot.round(start=[(0, 0)], wake_at=snapshot.now + 1)
        other = int((~running).argmax())
        return snapshot.round(start=[(other, 0)], pause=[1 - other], wake_at=snapshot.now + 1)

    alternating.called = "online"
    changes = {"pause_cost": [3_000_000] * 2, "movement": "anytime", "job_names": ("left", "right")}
    load = jobs_of([[(9, 1)]], [(0, 0, 1), (0, 0, 1)], nodes=[(1,)], tick_ms=1000, **changes)
    with pytest.raises(Stuck, match=r"2 jobs are paused .* \(left, right\); use a longer quantum or higher thresholds"):
        mlsched.simulate(load, alternating, options={"pausing": "keep"})


def test_pauses_shorter_than_their_cost_are_remarked_on():
    """One hundred pauses that cost two ticks each: 51 of one tick, the others of three."""
    found = Thrashing()
    for number in range(99):
        found.resumed(1 if number % 2 else 3, 2_000_000)
    assert found.remark() == ""
    for idle in (1, 1, 1):
        found.resumed(idle, 2_000_000)
    assert found.remark().startswith("52 of 102 pauses were shorter than their pause cost; use a longer quantum")
