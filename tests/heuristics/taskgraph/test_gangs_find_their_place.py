"""Where a placement of a gang exists on an empty cluster, every rule starts it; and the search behind that is exact."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from hypothesis import event, given, settings
from hypothesis import strategies as st
from jobs_examples import jobs_of

from mlsched import api
from mlsched.api.adapters import as_rule
from mlsched.core.errors import SolverError
from mlsched.core.params import resolve
from mlsched.core.registry import registry
from mlsched.core.request import Setup
from mlsched.heuristics.taskgraph import _gangs
from mlsched.heuristics.taskgraph.packing import _countable, _Search, packing
from mlsched.simulation import clock
from mlsched.simulation.clock import Rule, run
from mlsched.simulation.taskgraph.iterations import IterationWorld, Options
from mlsched.simulation.taskgraph.iterations.sources import from_tasks
from mlsched.simulation.taskgraph.sources import generated
from mlsched.simulation.wake import Wake

RULES = [a for a in registry().available("taskgraph", "heuristic") if a.called == "online"]
#: Tasks' demands and nodes: placed one after another on the emptiest node, or in their order, they find no room.
HARD = [
    ((1, 1, 2), (2, 2)),
    ((1, 1, 3), (3, 2)),
    ((1, 3), (3, 2)),
    ((2, 3, 2, 3), (5, 5)),
    ((1, 1, 4), (4, 4)),
    ((1, 2, 1), (2, 2)),
    ((3, 3, 2, 2, 2), (6, 6)),  # the largest first: 3 + 3 and 2 + 2 + 2; also 3 + 2, and nowhere for the last
    ((4, 3, 3, 2, 2, 2), (8, 8)),
]


def gang(demands, nodes, *, resources=("gpu",), unit=0, eligible=None):
    """One gang that arrives at 0 and runs for 9 ticks. demands, nodes: an amount, or a tuple of them, each."""
    rows, sizes = ([row if isinstance(row, tuple) else (row,) for row in given_] for given_ in (demands, nodes))
    changes = {} if eligible is None else {"eligible": eligible, "task_class": list(range(len(rows)))}
    return jobs_of(
        [[(9, *row) for row in rows]],
        [(0, 0, 1)],
        nodes=sizes,
        resources=resources,
        gpu_unit=unit,
        tick_ms=1000,
        **changes,
    )


def first(load):
    world = IterationWorld(load, Options(pausing="keep", movement="anytime"))
    world.advance(0)
    return world.ask()


def started(rule, snapshot):
    call = as_rule(Setup(rule, "total_jct", resolve(rule.name, rule.parameters, {}))).call
    plan, _ = call(snapshot, None, np.random.default_rng(0))
    assert snapshot.violations(plan) == [], rule.name
    return len(plan.start_task)


@pytest.mark.parametrize("rule", RULES, ids=lambda a: a.name)
@pytest.mark.parametrize(("demands", "nodes"), HARD, ids=str)
def test_a_gang_that_fits_an_empty_cluster_starts(rule, demands, nodes):
    assert started(rule, first(gang(demands, nodes))) == len(demands)


def fits(tasks, nodes, may):
    """Whether some way to place the tasks exists: all ways are tried. tasks: (amounts, part of a GPU, whole GPUs)."""
    if not tasks:
        return True
    (amounts, part, whole), rest = tasks[0], tasks[1:]
    for node, (room, gpus) in enumerate(nodes):
        if not may[0][node] or any(a > b for a, b in zip(amounts, room, strict=True)):
            continue
        for gpu in [g for g, free in enumerate(gpus) if free >= part] if part else [None]:
            left = list(gpus)
            if part:
                left[gpu] -= part
            full = [g for g, free in enumerate(left) if free == 1000]
            if len(full) < whole:
                continue
            for g in full[:whole]:
                left[g] = 0
            now = (tuple(b - a for a, b in zip(amounts, room, strict=True)), tuple(left))
            if fits(rest, [*nodes[:node], now, *nodes[node + 1 :]], may[1:]):
                return True
    return False


@st.composite
def clusters(draw):
    """(load of one gang, whether it fits): one or two resources, GPUs told apart or not, all nodes open or not."""
    count, sizes = draw(st.integers(1, 5)), draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    kind = draw(st.sampled_from(["pool", "two", "gpus", "closed"]))
    many = st.lists(st.integers(1, max(sizes)), min_size=count, max_size=count)
    if kind == "gpus":
        sizes = [min(size, 2) for size in sizes]
        amounts = draw(st.lists(st.sampled_from([300, 400, 500, 600, 700, 1000, 2000]), min_size=count, max_size=count))
        load = gang(amounts, [1000 * size for size in sizes], resources=("gpu_milli",), unit=1000)
        tasks = [((a,), a if a < 1000 else 0, a // 1000) for a in amounts]
        nodes = [((1000 * size,), (1000,) * size) for size in sizes]
        return load, fits(tasks, nodes, [[1] * len(sizes)] * count)
    rows = [(a, b) if kind == "two" else (a,) for a, b in zip(draw(many), draw(many), strict=True)]
    rooms = [(size, size) if kind == "two" else (size,) for size in sizes]
    may = [[1] * len(sizes)] * count
    if kind == "closed":
        open_to = st.lists(st.integers(0, 1), min_size=len(sizes), max_size=len(sizes)).filter(any)
        may = draw(st.lists(open_to, min_size=count, max_size=count))
    names = ("gpu", "cpu") if kind == "two" else ("gpu",)
    load = gang(rows, rooms, resources=names, eligible=may if kind == "closed" else None)
    return load, fits([(row, 0, 0) for row in rows], [(room, ()) for room in rooms], may)


@settings(max_examples=draws(36, 3000), deadline=None)
@given(drawn=clusters())
def test_every_rule_starts_a_gang_exactly_where_brute_force_places_it(drawn):
    load, found = drawn
    event(f"fits: {found}")
    snapshot = first(load)
    if snapshot is None:
        assert not found
        return
    for rule in RULES:
        assert started(rule, snapshot) == found * len(load.demand), rule.name


@settings(max_examples=draws(36, 3000))
@given(
    need=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=6),
    free=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), min_size=1, max_size=4),
    data=st.data(),
)
def test_the_search_is_exact(need, free, data):
    row = st.lists(st.booleans(), min_size=len(free), max_size=len(free))
    may = np.array(data.draw(st.lists(row, min_size=len(need), max_size=len(need))))
    places = packing(np.array(need), may, np.array(free), most_tries=10**6)
    assert (places is not None) == fits([(row, 0, 0) for row in need], [(row, ()) for row in free], may.tolist())
    if places is not None:
        left = np.array(free)
        for task, (node, _) in enumerate(places):
            assert may[task, node]
            left[node] -= need[task]
        assert (left >= 0).all()


@pytest.mark.parametrize("text", ["srpt:preempt=true", "mlf-rl-plus", "fifo:strict=false,nodes=few"])
def test_what_is_not_tried_would_have_found_no_room(text, monkeypatch):
    """A task that finds room nowhere by itself rules out its gang, and gangs with a task that asks for as much."""
    sizes = {"jobs": 30, "nodes": 5, "load": 10.0**6, "partitions": 8, "replicas": 4, "runs": 5}
    load = from_tasks(generated(**sizes))
    known, ruled_out = _gangs.as_stuck, []

    def counted(placer, task, others):
        found = known(placer, task, others)
        ruled_out.append(int((found & ~placer.as_hopeless(task, others)).sum()))
        return found

    monkeypatch.setattr(_gangs, "as_stuck", counted)
    rows = [api.simulate(load, text, seed=0, scheduling_events="events").log.rows]
    monkeypatch.setattr(_gangs, "as_stuck", lambda placer, task, others: np.zeros(len(others), dtype=bool))
    monkeypatch.setattr(_gangs, "_stuck", lambda placer, first, end: -1)
    rows.append(api.simulate(load, text, seed=0, scheduling_events="events").log.rows)
    assert rows[0] == rows[1]
    assert sum(ruled_out) > 0


def test_the_search_gives_up_after_so_many_tries():
    """Tasks of 5, 4, 3 and 3 on nodes of 9 and 6: four places are to be taken, at the least."""
    need, free = np.array([[5], [4], [3], [3]]), np.array([[9], [6]])
    may = np.ones((4, 2), dtype=bool)
    assert packing(need, may, free) is not None
    assert packing(need, may, free, most_tries=3) is None


def test_permutations_of_equal_nodes_and_tasks_are_looked_at_once():
    """Tasks of 3 and 2 on twenty nodes of 4 and 3: they fit by every count, and not together."""
    need, free = np.array([[3]] * 12 + [[2]] * 17), np.array([[4]] * 10 + [[3]] * 10)
    may = np.ones((29, 20), dtype=bool)
    assert _countable(need, may, free)
    state = _Search(need, may, free, [0] * 29, None, 0)
    assert state.run(3000) is None
    assert len(state._failed) < 1000, "ended since all ways were tried, not at the limit"


@pytest.mark.parametrize("name", ["optimus", "slaq", "tiresias", "conservative-backfill"])
def test_a_gang_that_fits_nowhere_makes_no_rule_ask_for_ever(name):
    """Two tasks of 2 GPUs on nodes of 3 and 1: nothing can start, and some rules ask to be asked again and again."""
    rule = registry().solvers["taskgraph", name]
    call = as_rule(Setup(rule, "total_jct", resolve(rule.name, rule.parameters, {})))
    load = gang((2, 2), (3, 1))
    with pytest.raises(SolverError, match=r"jobs wait, nothing runs and nothing will arrive.*the run is stuck"):
        run(IterationWorld(load, Options(pausing="keep")), call, scheduling_events=Wake.parse("events"), seed=0)


def test_a_rule_that_wakes_itself_for_ever_and_starts_nothing_is_told_so(monkeypatch):
    monkeypatch.setattr(clock, "MOST_IDLE_WISHES", 50)
    asked = []

    def call(snapshot, memory, rng):
        asked.append(snapshot.now)
        return snapshot.round(wake_at=snapshot.now + 7), memory

    with pytest.raises(SolverError, match=r"sleepless: .* had itself asked 50 times to start nothing"):
        run(
            IterationWorld(gang((1,), (1,)), Options()),
            Rule("sleepless", call),
            scheduling_events=Wake.parse("events"),
            seed=0,
        )
    assert asked == list(range(0, 7 * 50 + 1, 7))
