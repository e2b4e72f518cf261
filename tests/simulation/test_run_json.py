"""A finished run: as JSON, and its recorded decisions."""

from __future__ import annotations

import dataclasses
import json

import pytest

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched.core.registry import registry
from mlsched.simulation.preemption import Options
from mlsched.simulation.preemption.log import Log
from mlsched.simulation.preemption.replay import violations
from mlsched.simulation.wake import Wake


@pytest.fixture(scope="module")
def load():
    return api.workload("synthetic:z:jobs=120,nodes=2", seed=1)


@pytest.mark.parametrize("rule", [a.name for a in registry().available("preemption", "heuristic")])
def test_a_run_is_plain_json_and_can_be_checked_from_it(load, rule):
    run = api.simulate(load, rule, seed=3, record=0.5)
    data = json.loads(json.dumps(run.to_json(), allow_nan=False))
    assert (data["kind"], data["version"], data["solver"], data["seed"]) == ("preemption.run", 1, rule, 3)
    assert data["workload_hash"] == load.hash
    assert data["summary"] == json.loads(json.dumps(run.summary()))
    assert {len(column) for column in data["jobs"].values()} == {120}
    rows = list(zip(*(data["log"][name] for name in Log.names), strict=True))
    assert violations(load, Options(**data["options"]), Wake.parse(data["scheduling_events"]), Log(rows)) == []
    assert data["versions"]["mlsched"]


def test_a_problem_without_a_bound_says_so():
    with pytest.raises(InvalidInput, match="not available for runs of quality; use taskgraph, preemption or rounds"):
        _ = api.simulate(api.workload("synthetic:table1", jobs=3, load=0.3), "slaq").bound


def test_only_its_own_decisions_can_be_replayed(load):
    run, other = (api.simulate(load, "rand", seed=seed, record=1.0) for seed in (0, 1))
    assert run.recorded
    assert all(run.replay(decision) == decision.plan for decision in run.recorded)
    for foreign in (other.recorded[0], dataclasses.replace(run.recorded[0])):
        with pytest.raises(InvalidInput, match="the decision is not one that this run recorded"):
            run.replay(foreign)


def test_a_stateful_rule_replays_with_the_memory_it_had(load):
    """`turns` counts its decisions in its memory and suspends by it: replayed without it the plans would differ."""
    from mlsched.core.solver import Solver
    from mlsched.heuristics.preemption._room import Room

    def turns(instance, *, memory, rng):
        count, room = memory or 0, Room(instance, 0)
        for demand in instance.te_demand:
            node = room.first_fit(demand)
            if node < 0:
                able = [j for j in range(len(instance.job_node)) if room.preemptible[j]]
                cut = count % max(1, len(able))
                node = room.suspend_until_fit(demand, able[cut:] + able[:cut])
            room.place(demand, node)
        return room.plan(), count + 1

    turns.__dict__["__mlsched__"] = [Solver("turns", "preemption", "heuristic", turns, stateful=True)]
    run = api.simulate(load, turns, record=1.0)
    assert [d.memory for d in run.recorded] == [None, *range(1, run.decisions)]
    assert all(run.replay(decision) == decision.plan for decision in run.recorded)
    assert any(turns(d.instance, memory=None, rng=None)[0] != d.plan for d in run.recorded)


def test_the_same_seed_gives_the_same_run_and_another_another(load):
    logs = [api.simulate(load, "rand", seed=seed).log.rows for seed in (0, 0, 1)]
    assert logs[0] == logs[1]
    assert logs[0] != logs[2]
