"""The trained policies of task graphs: repeatable, refusing what is not theirs, and MLFS' switch."""

from __future__ import annotations

import numpy as np
import pytest

from mlsched import api
from mlsched.core.errors import InvalidFile, InvalidInput
from mlsched.learned.taskgraph import mlfs
from mlsched.learned.weights import Weights, of, read, write
from mlsched.simulation.clock import decision_rng

WORLD = {"usage": "drawn", "usage_every": 1800, "usage_at_start": False, "movement": "anytime", "pausing": "keep"}
WAKE = "events+interval:1800"


def load(jobs=3, servers=1, seed=2, **sizes):
    return api.workload(
        "synthetic:mlfs-cluster", "taskgraph", simulator="iterations", seed=seed, jobs=jobs, servers=servers, **sizes
    )


@pytest.mark.parametrize(
    "text",
    [
        "mlf-rl",
        "mlf-rl:greedy=false",
        "mlf-rl:queueing=iteration",
        "mlfs",
        "mlfs:switch=always",
        "mlfs:switch=always,queueing=iteration",
        "mirhoseini-rl",
    ],
)
def test_runs_are_sound_and_every_decision_can_be_replayed(text):
    run = api.simulate(load(), text, seed=4, scheduling_events=WAKE, options=WORLD, record=1.0)
    assert run.violations() == []
    assert all(run.replay(decision) == decision.plan for decision in run.recorded)


def with_card(tmp_path, name, **changes):
    shipped = of("mlf-rl", "taskgraph")
    path = tmp_path / f"{name}.safetensors"
    write(path, Weights(shipped.tensors, {**shipped.card, **changes}))
    return str(path)


def test_mlfs_is_mlf_h_until_mlf_rl_is_trained_and_the_time_of_learning_is_over(tmp_path):
    work = load()

    def rows(text):
        return api.simulate(work, text, seed=0, scheduling_events=WAKE, options=WORLD).log.rows

    heuristic, learned = rows("mlfs-h"), rows("mlfs:switch=always")
    assert learned != heuristic
    assert rows(f"mlfs:weights={with_card(tmp_path, 'no', trained=False)}") == heuristic
    assert rows(f"mlfs:weights={with_card(tmp_path, 'yes', trained=True)}") == learned
    assert rows(f"mlfs:switch=always,learning={10**9}") == heuristic


def test_in_the_time_of_learning_mlf_h_answers_and_then_mlf_rl():
    work = load()
    over = int(work.arrival[2])
    run = api.simulate(
        work, f"mlfs:switch=always,learning={over}", seed=0, scheduling_events=WAKE, options=WORLD, record=1.0
    )
    since, seen = run.recorded[0].time, set()
    for decision in run.recorded:
        early = decision.time - since < over
        seen.add(early)
        memory = None if decision.memory is None else decision.memory | {"since": decision.time}
        alone, kept = mlfs.answer(
            decision.instance, memory=memory, rng=decision_rng(0, decision.number), switch="always", learning=int(early)
        )
        assert alone == decision.plan
        assert kept["since"] == decision.time
    assert seen == {True, False}


def test_mlf_rl_lets_jobs_give_way_where_every_iteration_queues_anew():
    work = load(jobs=20, servers=2, load=3.0)
    pauses = {
        queueing: int(
            api.simulate(work, f"mlf-rl:queueing={queueing}", scheduling_events=WAKE, options=WORLD)
            .jobs["pauses"]
            .sum()
        )
        for queueing in ("held", "iteration")
    }
    assert pauses["held"] == 0
    assert pauses["iteration"] > 0
    with pytest.raises(InvalidInput, match="queueing = iteration: runs may not pause"):
        api.simulate(work, "mlf-rl:queueing=iteration", scheduling_events=WAKE, options=WORLD | {"pausing": "none"})


@pytest.mark.parametrize("name", ["mlf-rl", "mirhoseini-rl"])
def test_networks_of_other_shapes_are_refused(tmp_path, name):
    tensors = {"0.weight": np.zeros((1, 3), dtype=np.float32), "0.bias": np.zeros(1, dtype=np.float32)}
    path = tmp_path / "other.safetensors"
    write(path, Weights(tensors, of(name, "taskgraph").card))
    with pytest.raises(InvalidFile, match=r"3 -> 1, expected .* train it again"):
        api.simulate(load(), f"{name}:weights={path}", scheduling_events=WAKE, options=WORLD)


def test_weights_of_another_policy_are_refused(tmp_path):
    path = with_card(tmp_path, "other", policy="chic")
    with pytest.raises(InvalidFile, match="weights of chic, expected of mlf-rl"):
        api.simulate(load(), f"mlfs:weights={path}")
    with pytest.raises(InvalidInput, match="switch"):
        api.simulate(load(), "mlfs:switch=never")


@pytest.mark.parametrize(("policy", "variant"), [("mlf-rl", ""), ("mlf-rl", "-iteration"), ("mirhoseini-rl", "")])
def test_the_weights_that_come_along_have_cards(policy, variant, tmp_path):
    weights = of(policy, "taskgraph", variant=variant)
    assert weights.card["data"]["source"] == "synthetic:mlfs-cluster"
    assert weights.card["curve"]
    write(tmp_path / "w", weights)
    assert read(tmp_path / "w", policy).card == weights.card
    assert (tmp_path / "w").stat().st_size < 50_000
