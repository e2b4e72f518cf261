"""Chic's decision phase by hand: the actions, what ends a phase, and what becomes of half an allocation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlsched.core.errors import InvalidInput
from mlsched.instances.workers import NEVER, Instance, instances
from mlsched.simulation.workers.phase import Decision, Phase, decide, features


def instance(jobs=2, capacity=(3, 3), cost=((60, 40, 40), (40, 20, 30), (NEVER, 30, 20)), **changes) -> Instance:
    """A worker takes one of the first resource, a PS one of the second."""
    fields = {
        "resources": ("a", "b"),
        "models": ("m", "n"),
        "capacity": list(capacity),
        "worker_demand": [[1, 0]] * jobs,
        "ps_demand": [[0, 1]] * jobs,
        "cost": [cost] * jobs,
        "waiting": [0] * jobs,
        "remaining": [7] * jobs,
        "model": [1] * jobs,
        "current_workers": [0] * jobs,
        "current_ps": [0] * jobs,
        "waited": [0] * jobs,
    }
    return Instance(**{**fields, **changes})


def taken(question, actions, **phase) -> Decision:
    decision = Decision(question, Phase(**phase))
    for action in actions:
        assert not decision.over
        decision.step(action)
    return decision


def test_the_paper_has_seven_actions_and_four_for_pairs():
    assert (Phase().actions, Phase(pair=True).actions) == (7, 4)
    assert Phase().feature_size(3) == 19


def test_actions_add_workers_and_ps_to_slots():
    decision = taken(instance(), [0, 1, 3, 2])
    assert decision.state.tolist() == [1, 7, 1, 1, 1, 7, 1, 1, -1, 0, 0, 0, 0]
    assert decision.mask.tolist() == [True] * 4 + [False, False, True]
    plan = taken(instance(), [0, 1, 3, 2, 6]).plan()
    assert (plan.workers.tolist(), plan.ps.tolist()) == ([1, 1], [1, 1])


def test_an_action_that_does_not_fit_changes_nothing_but_counts():
    decision = taken(instance(jobs=1), [4, 0, 0, 0, 0, 5])
    assert (decision.workers, decision.ps, decision.steps, decision.over) == ([3], [0], 6, False)


def test_the_void_action_waits_until_a_job_could_train():
    decision = taken(instance(), [6, 0, 6])
    assert not decision.over
    assert decision.mask[-1] == False  # noqa: E712 - a NumPy bool
    assert taken(instance(), [6, 0, 6, 1, 6]).over


def test_a_void_action_that_only_waits_ends_no_phase():
    decision = taken(instance(), [6, 0, 6, 1, 6, 6], void_ends=False)
    assert (decision.over, decision.steps, decision.workers) == (False, 6, [1, 0])
    assert decision.mask[-1] == False  # noqa: E712 - it changes nothing
    assert taken(instance(), [0, 1, 6, 6], void_ends=False, limit=4).over
    assert taken(instance(jobs=1), [6, 0, 0, 1, 1], void_ends=False).over, "by Condition 2"


def test_condition_1_nothing_fits_any_more():
    decision = taken(instance(capacity=(1, 1)), [0, 3])
    assert decision.over
    plan = decision.plan()
    assert (plan.workers.tolist(), plan.ps.tolist()) == ([1, 0], [1, 0]), "nobody could train: the first gets a pair"


def test_condition_2_nothing_helps_any_more():
    """With (2, 2) a worker or a PS more makes it slower, though both fit."""
    assert taken(instance(jobs=1), [0, 0, 1, 1]).over
    assert not taken(instance(jobs=1), [0, 0, 1]).over


def test_condition_2_of_pairs_asks_for_pairs():
    assert taken(instance(jobs=1), [0, 0], pair=True).over
    assert taken(instance(jobs=1, cost=((20, 9, 9), (9, 20, 30), (9, 30, 20))), [0], pair=True).over


def test_a_slot_without_a_ps_could_always_be_better():
    assert not taken(instance(), [0, 0, 1, 1]).over


def test_the_cap_ends_a_phase():
    assert taken(instance(), [4, 4, 4], limit=3).over


def test_pairs_add_one_of_each():
    decision = taken(instance(), [0, 1, 1], pair=True)
    assert (decision.workers, decision.ps) == ([1, 2], [1, 2])
    assert decision.over


def test_jobs_beyond_the_window_are_backlog_and_get_nothing():
    decision = Decision(instance(jobs=3, backlog=2), Phase(window=2))
    assert decision.state.tolist() == [1, 7, 0, 0, 1, 7, 0, 0, 3]
    for action in (0, 1, 4):
        decision.step(action)
    assert decision.plan().workers.tolist() == [1, 0, 0]


def test_bad_actions_are_refused():
    decision = taken(instance(), [0])
    for action in (-1, 7):
        with pytest.raises(InvalidInput, match=f"action: {action}, expected between 0 and 6"):
            decision.step(action)
    with pytest.raises(InvalidInput, match="the phase is over"):
        taken(instance(capacity=(1, 1)), [0, 1]).step(0)


def test_features_are_the_state_in_units_of_about_one():
    found = features(np.array([1, 100, 5, 2, -1, 0, 0, 0, 4]), 2)
    assert found.dtype == np.float32
    assert found.tolist() == pytest.approx([0, 1, 0.5, 0.5, 0.2, 0, 0, 0, 0, 0, 0.4])
    assert features(np.array([[1, 100, 5, 2, 4]] * 2), 2).shape == (2, 6)


@given(question=instances(), seed=st.integers(0, 9), window=st.integers(1, 5), pair=st.booleans())
def test_any_actions_end_in_a_feasible_plan(question, seed, window, pair):
    rng = np.random.default_rng(seed)
    phase = Phase(window, pair, 30)
    masks = []

    def choose(decision):
        masks.append(decision.mask)
        return int(rng.integers(phase.actions))

    plan = decide(question, choose, phase).plan()
    assert question.violations(plan) == []
    assert all(mask.any() for mask in masks)
    assert not plan.workers[window:].any()
