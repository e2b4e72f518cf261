"""Chic-plus' training: imitation of LP-MPC's values, compiled runs equal to the simulator's, and evolution."""

from __future__ import annotations

import numpy as np
import pytest
from compiled_runs import needs_compiled

import mlsched
from mlsched.core.errors import InvalidInput
from mlsched.learned.weights import Weights
from mlsched.learned.workers.chic_plus import JobNetwork, weighted_plan
from mlsched.simulation.clock import Rule
from mlsched.simulation.clock import run as run_clock
from mlsched.simulation.wake import Wake
from mlsched.simulation.workers import Options, WorkersWorld, outcome
from mlsched.simulation.workers.workload import MS
from mlsched_training._evolution import Cma
from mlsched_training.workers import _plus_runs
from mlsched_training.workers._imitation import random_examples
from mlsched_training.workers._plus_loads import LOADS, Load, plain_weight
from mlsched_training.workers._plus_runs import Cluster, Network, Runs

torch = pytest.importorskip("torch")
from mlsched_training._torch import repeatable_numbers  # noqa: E402
from mlsched_training.workers._plus import JobWeights, PlusParams  # noqa: E402

SMALL = {"questions": 25, "steps": 150, "share": 0.05, "largest": 1.0}


def random_tensors(rng, hidden=5):
    sizes = {"network.0": (hidden, 11), "network.1": (hidden, hidden), "network.2": (1, hidden), "linear.0": (1, 11)}
    tensors = {f"{name}.weight": rng.normal(0, 0.5, size).astype(np.float32) for name, size in sizes.items()}
    return tensors | {f"{name}.bias": rng.normal(size=size[0]).astype(np.float32) for name, size in sizes.items()}


def completion_s(work, floor, network):
    """The mean completion time on the clock, s."""
    world = WorkersWorld(work, Options(floor=floor))
    rule = Rule("chic-plus", lambda asked, memory, rng: (weighted_plan(network, asked), memory))
    run_clock(world, rule, scheduling_events=Wake.parse("events"), seed=0, unit=MS)
    return float(outcome.jobs(work, world.log)["completion_s"].mean())


@needs_compiled
@pytest.mark.parametrize(
    "load",
    [
        Load(1, 20, 5.4),
        Load(1, 20, 4.5, floor="changed"),
        Load(1, 12, 90.0, 0.4, least=4, most=16),
        Load(1, 40, 4.5, 4.0),
        Load(1, 40, 4.5, 4.0, "changed"),
    ],
)
def test_compiled_runs_are_those_of_the_simulator(load):
    rng = np.random.default_rng(0)
    for seed in range(2):
        tensors, work = random_tensors(rng), load.sequence(seed)
        theirs = completion_s(work, load.floor, JobNetwork(Weights(tensors, {})))
        ours = Runs(Cluster(work), work, load.floor).completion_s(Network(tensors))
        assert ours == pytest.approx(theirs, rel=1e-3)  # two columns may be equally good but for the rounding to ms


@needs_compiled
def test_the_plain_weight_is_nearly_rank_rate():
    work = LOADS[2].sequence(0)
    ours = Runs(Cluster(work), work, "always").completion_s(Network(plain_weight()))
    run = mlsched.simulate(work, "rank-rate")
    assert ours == pytest.approx(run.summary()["average_completion_s"], rel=0.02)


def test_without_compiled_code_the_evolution_is_refused(monkeypatch):
    monkeypatch.setattr(_plus_runs, "compiled_function", lambda: None)
    work = LOADS[0].sequence(0)
    with pytest.raises(InvalidInput, match="C compiler") as error:
        Runs(Cluster(work), work, "always").completion_s(Network(random_tensors(np.random.default_rng(0))))
    assert "\n" not in str(error.value)


@needs_compiled
def test_imitation_learns_the_values_of_questions_it_has_not_seen():
    def error(learner):
        network, rows = JobNetwork(Weights(learner.weights(), {})), random_examples(10, np.random.default_rng(7))
        each = [network(features) - log for features, log in rows]
        return float(np.mean([one.var() for one in each]))

    with repeatable_numbers():
        learner = JobWeights(PlusParams(**SMALL), 0, "cpu")
        before = error(learner)
        learner.improve(1)
        assert error(learner) < before / 5


def test_the_strategy_finds_the_least_of_a_stretched_bowl():
    scale, rng = np.logspace(0, 2, 6), np.random.default_rng(0)
    search = Cma(np.ones(6), 0.5)
    for _ in range(300):
        candidates = search.ask(rng)
        search.tell(candidates, ((candidates * scale) ** 2).sum(axis=1))
    assert ((search.mean * scale) ** 2).sum() < 1e-8


def test_a_strategy_continues_from_its_state():
    first, second = Cma(np.ones(3), 0.5), Cma(np.zeros(3), 1.0)
    for generation in range(4):
        if generation == 2:
            second.restore(first.state())
        rng = np.random.default_rng(generation)
        candidates = first.ask(rng)
        first.tell(candidates, (candidates**2).sum(axis=1))
        if generation >= 2:
            again = second.ask(np.random.default_rng(generation))
            assert (again == candidates).all()
            second.tell(again, (again**2).sum(axis=1))
