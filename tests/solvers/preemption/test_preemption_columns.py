"""Columns per node: rooms, the knapsacks that price them, and the answers, against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from certificate_examples import drawn
from draws import draws

from mlsched import api
from mlsched.core.deadline import Deadline
from mlsched.formulations.preemption import nodes
from mlsched.formulations.preemption.nodes import SCALE, Priced, Rooms
from mlsched.instances.preemption import Instance
from mlsched.solvers.preemption import columns


def hostings(instance, cost):
    """(node, TE jobs) -> the least cost, by trying all sets of victims."""
    found = {}
    for n in range(len(instance.node_capacity)):
        here = [j for j in np.flatnonzero(instance.preemptible).tolist() if instance.job_node[j] == n]
        for size in range(len(here) + 1):
            for victims in itertools.combinations(here, size):
                room = (
                    instance.node_free[n] + instance.node_draining[n] + instance.job_demand[list(victims)].sum(axis=0)
                )
                for k in range(1, len(instance.te_demand) + 1):
                    for jobs in itertools.combinations(range(len(instance.te_demand)), k):
                        if (instance.te_demand[list(jobs)].sum(axis=0) <= room).all():
                            paid = int(cost[list(victims)].sum())
                            found[n, jobs] = min(paid, found.get((n, jobs), paid))
    return found


def test_the_knapsacks_find_the_cheapest_hostings_and_all_within_a_limit():
    rng, better = np.random.default_rng(7), 0
    for instance in drawn("preemption", draws(15, 500)):
        every = hostings(instance, instance.score)
        rooms = Rooms.of(instance, instance.score, Deadline())
        price = rng.integers(0, 3 * 10**6, len(instance.te_demand)) * SCALE
        priced = Priced(rooms, price)
        worth = {key: SCALE * cost - int(price[list(key[1])].sum()) for key, cost in every.items()}
        none = np.zeros(len(instance.node_capacity), dtype=np.int64)
        best = {n: min([0, *(w for (m, _), w in worth.items() if m == n)]) for n in range(len(none))}
        for found in (priced.tabulated(none), priced.hostings(none, Deadline())):
            least = none.tolist()
            for n, cost, jobs in found:
                assert worth[n, tuple(sorted(jobs))] <= cost
                least[n] = min(least[n], cost)
            assert least == [best[n] for n in range(len(none))]
        for n, cost, jobs in priced.greedy(none):
            assert best[n] <= worth[n, tuple(sorted(jobs))] <= cost
        lowest = np.zeros(len(none))
        np.minimum.at(lowest, rooms.node, priced.least - priced.margin)
        assert (lowest <= [best[n] for n in range(len(none))]).all()
        limit = none + rng.integers(-(10**6), 10**6) * SCALE
        within = {key: every[key] for key, w in worth.items() if w < limit[key[0]]}
        assert priced.all_hostings(limit, Deadline(), 10**6) == within
        better += min(best.values()) < 0
    assert better >= draws(15, 500) // 3


@pytest.mark.parametrize("nodes", [0, 2])
def test_where_no_resource_is_counted_everybody_has_room(nodes):
    empty = np.zeros((nodes, 0), dtype=np.int64)
    fields = {"node_capacity": empty, "node_free": empty, "node_draining": empty, "te_demand": np.zeros((2, 0), int)}
    jobs = dict.fromkeys(("job_node", "job_grace", "job_preemptions", "job_remaining"), [0] * (nodes > 0))
    instance = Instance(resources=(), **fields, **jobs, job_demand=np.zeros((len(jobs["job_node"]), 0), dtype=int))
    found = api.solve(instance, "columns")
    assert found.status == "optimal"
    assert found.values["deferred"] == (0 if nodes else 2)


@pytest.mark.parametrize("objective", ["total_score", "victim_count"])
@pytest.mark.parametrize("table", [True, False])
def test_columns_agree_with_brute_force(objective, table, monkeypatch, report):
    monkeypatch.setattr(nodes, "MOST_CELLS", 500_000 if table else 0)
    waits = 0
    for instance in drawn("preemption", draws(10, 400)):
        best = api.solve(instance, "brute-force", objective=objective)
        found = api.solve(instance, "columns", objective=objective, hint="none")
        assert (found.status, found.sort_key) == ("optimal", best.sort_key), instance
        waits += -1 in best.plan.te_node.tolist()
    report(f"columns, {objective}", [f"{waits:5}  of {draws(10, 400)} instances in which a TE job waits"])
    assert waits >= 3


def test_a_part_of_the_gap_at_a_time_gives_the_same(monkeypatch):
    """Where few hostings may be listed."""
    monkeypatch.setattr(columns, "MOST_HOSTINGS", 3)
    for instance in drawn("preemption", draws(10, 200)):
        best = api.solve(instance, "brute-force", objective="total_score")
        found = api.solve(instance, "columns", objective="total_score", hint="none")
        assert found.sort_bound <= best.sort_key <= found.sort_key
