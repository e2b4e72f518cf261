"""The batch against the world it stands for: same actions, same states, masks, features, finishing times, rewards."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched.simulation.clock import Rule
from mlsched.simulation.clock import run as run_clock
from mlsched.simulation.wake import Wake
from mlsched.simulation.workers import Options, WorkersWorld
from mlsched.simulation.workers.phase import Phase, decide, features
from mlsched.simulation.workers.strategies import workloads
from mlsched_training.workers.batch import Batch, Rewards


def draw(rng, mask, wild):
    """A random action: with probability `wild` any, else a possible one, seldom the void one."""
    if rng.random() < wild:
        return int(rng.integers(len(mask)))
    tasks = np.flatnonzero(mask[:-1])
    return int(rng.choice(tasks)) if len(tasks) and rng.random() < 0.95 else len(mask) - 1


class Recorded:
    """One episode through the clock: what the policy saw and did at each step, and when the jobs were done."""

    def __init__(self, load, phase, floor, seed, wild):
        self.states, self.masks, self.features, self.actions, self.punished = [], [], [], [], []
        rng = np.random.default_rng(seed)

        def choose(decision):
            self.states.append(decision.state)
            self.masks.append(decision.mask)
            self.features.append(decision.features)
            assert decision.features.tobytes() == features(decision.state, len(load.models)).tobytes()
            self.actions.append(draw(rng, decision.mask, wild))
            return self.actions[-1]

        world = WorkersWorld(load, Options(window=phase.window, floor=floor))
        rule = Rule("recorded", lambda i, memory, rng: (decide(i, choose, phase).plan(), memory))
        run_clock(world, rule, scheduling_events=Wake.parse("events"), seed=0, unit=1000)
        self.finish = [0] * len(load.submit)
        for job, _, end, _, _, left in world.log.rows:
            if left == 0:
                self.finish[job] = end
        self.steps = len(self.actions)


def replay(loads, phase, floor, wild=0.3, rewards=None):
    """Step the batch with the recorded actions and compare at every step; returns summed rewards and steps."""
    recorded = [Recorded(load, phase, floor, seed, wild) for seed, load in enumerate(loads)]
    batch = Batch(loads, phase, floor=floor, rewards=rewards)
    totals, steps = np.zeros(len(loads)), []
    for n in range(max(r.steps for r in recorded)):
        state = batch.state
        for e, one in enumerate(recorded):
            assert batch.done[e] == (n >= one.steps)
            if n < one.steps:
                assert state[e].tolist() == one.states[n].tolist()
                assert batch.mask[e].tolist() == one.masks[n].tolist()
                assert batch.features[e].tobytes() == one.features[n].tobytes()
        step = batch.step([one.actions[n] if n < one.steps else 0 for one in recorded])
        totals += step.reward
        steps.append(step)
    assert batch.done.all()
    assert batch.decisions == sum(one.steps for one in recorded)
    for e, (one, load) in enumerate(zip(recorded, loads, strict=True)):
        assert batch.finish[e, : len(load.submit)].tolist() == one.finish
        system = sum(int(step.system_ms[e]) for step in steps)
        assert system == sum(one.finish) - int(load.submit.sum())
        assert batch.completion_s()[e] == pytest.approx(system / len(load.submit) / 1000)
    return totals, steps, recorded


@settings(max_examples=draws(9, 80))
@given(
    load=workloads(models=3, workers=4, ps=4, resources=3),
    window=st.integers(1, 4),
    pair=st.booleans(),
    limit=st.sampled_from([1, 3, 40]),
    floor=st.sampled_from(["always", "never"]),
    void_ends=st.booleans(),
    wild=st.sampled_from([0.0, 0.3, 1.0]),
    data=st.data(),
)
def test_it_equals_the_clocks_world_to_the_bit(load, window, pair, limit, floor, void_ends, wild, data):
    """Episodes of one cluster and different arrivals, iterations and lengths."""
    cut = data.draw(st.integers(1, len(load.submit)))
    short = load.replace(submit=load.submit[:cut] * 2, model=load.model[:cut], iterations=load.iterations[:cut])
    phase = Phase(window, pair, limit, void_ends)
    replay([load, short, load.replace(submit=load.submit * 0)], phase, floor, wild)


@pytest.mark.parametrize("pair", [False, True])
@pytest.mark.parametrize("rate", [0.9, 2.7, 0.0])
def test_it_equals_the_clocks_world_on_the_papers_cluster(pair, rate):
    loads = [api.workload("synthetic:chic", jobs=4 + seed, seed=seed, rate=rate) for seed in range(3)]
    replay(loads, Phase(pair=pair), "always")


def test_rewards_are_the_papers():
    """r_t1 adds up to minus all completion times in units of 20 min; r_t2 and r_t3 are counted from the actions."""
    loads = [api.workload("synthetic:chic", jobs=3, seed=seed) for seed in range(2)]
    totals, steps, recorded = replay(loads, Phase(), "always", wild=0.5)
    for e, (one, load) in enumerate(zip(recorded, loads, strict=True)):
        time = (sum(one.finish) - int(load.submit.sum())) / 1_200_000
        absent = halves = 0
        for state, mask, action in zip(one.states, one.masks, one.actions, strict=True):
            if action == 6:
                continue
            _, left, workers, ps = state[4 * (action // 2) : 4 * (action // 2) + 4].tolist()
            absent += left == 0
            if mask[action]:
                halves += not (workers or ps)
                halves -= (action % 2 == 0 and not workers and ps > 0) or (action % 2 == 1 and not ps and workers > 0)
        assert sum(int(step.absent[e]) for step in steps) == absent
        assert sum(int(step.halves[e]) for step in steps) == halves
        assert totals[e] == pytest.approx(-time - 5 * absent - 1 * halves)
    assert any(step.absent.any() for step in steps)


def test_pairs_are_never_halves():
    loads = [api.workload("synthetic:chic", jobs=3)]
    totals, _, recorded = replay(loads, Phase(pair=True), "always", wild=0.0, rewards=Rewards(p1=0.0))
    assert totals[0] == pytest.approx(-(sum(recorded[0].finish) - int(loads[0].submit.sum())) / 1_200_000)


def test_logits_of_a_batch_and_of_single_episodes_agree():
    """The same float32 network over all episodes and over one at a time."""
    rng = np.random.default_rng(0)
    loads = [api.workload("synthetic:chic", jobs=5, seed=seed) for seed in range(36)]
    batch = Batch(loads)
    sizes = (batch.features.shape[1], 64, 32, 4, 7)
    layers = [rng.normal(0, (2 / a) ** 0.5, (a, b)).astype(np.float32) for a, b in zip(sizes, sizes[1:], strict=False)]

    def logits(x):
        for weight in layers[:-1]:
            x = np.maximum(x @ weight, 0)
        return x @ layers[-1]

    worst = 0.0
    for _ in range(60):
        together = logits(batch.features)
        alone = np.concatenate([logits(row[None]) for row in batch.features])
        worst = max(worst, float(np.abs(together - alone).max()))
        batch.step([draw(rng, mask, 0.1) for mask in batch.mask])
    assert 0 <= worst <= 1e-6


def test_a_batch_can_be_run_again():
    loads = [api.workload("synthetic:chic", jobs=4, seed=seed) for seed in range(3)]
    batch, ends = Batch(loads), []
    for _ in range(2):
        rng = np.random.default_rng(1)
        batch.reset()
        while not batch.done.all():
            batch.step([draw(rng, mask, 0.2) for mask in batch.mask])
        ends.append(batch.finish.copy())
    assert (ends[0] == ends[1]).all()


@pytest.mark.parametrize("actions", [[0], [0, 7], [-1, 0], [0.0, 1.0], 3])
def test_actions_that_are_none_are_refused(actions):
    batch = Batch([api.workload("synthetic:chic", jobs=2, seed=seed) for seed in range(2)])
    with pytest.raises(InvalidInput, match="actions: expected"):
        batch.step(actions)


def test_what_cannot_be_stepped_together_is_refused():
    load = api.workload("synthetic:chic", jobs=2)
    for loads, message in (
        ([], "expected at least one"),
        ([load, load.replace(capacity=[9, 120, 600])], r"workloads\[1\]: its capacity differs"),
        ([load.replace(submit=[], model=[], iterations=[])], r"workloads\[0\]: 0 jobs"),
        ([load.replace(capacity=[0, 120, 600])], r"workloads\[0\]: could never end: 2 of 2 jobs cannot train"),
    ):
        with pytest.raises(InvalidInput, match=message):
            Batch(loads)
    with pytest.raises(InvalidInput, match="floor: 'changed'"):
        Batch([load], floor="changed")
