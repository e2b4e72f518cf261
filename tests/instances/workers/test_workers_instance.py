"""The instance: what it refuses, what it keeps through a file, and the default waiting terms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from workers_examples import small

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import EXACT
from mlsched.instances import strategies
from mlsched.instances.workers import NEVER, Instance, waiting_terms
from mlsched.instances.workers.instance import pair_terms

BAD = [
    ({"model": [0, 2]}, r"model\[1\]: 2, expected below 2 \(the number of models\)"),
    ({"current_ps": [0, 0]}, r"current_workers\[0\]: 2, expected 0 exactly where current_ps is"),
    ({"waited": [3, 5]}, r"waited\[1\]: 5, expected at most the one before: jobs are listed in arrival order"),
    ({"remaining": [0, 1]}, r"remaining\[0\]: 0, expected >= 1"),
    ({"cost": [[[0, 80], [60, 40]], [[90, 70], [50, 1]]]}, r"cost\[0\]\[0\]\[0\]: 0, expected >= 1"),
    ({"cost": np.zeros((2, 0, 3), dtype=np.int64)}, "cost: 0 columns"),
    ({"capacity": [3]}, r"worker_demand: length of dimension 1 is 2|capacity: length is 1, expected 2"),
    ({"capacity": [3, -1]}, r"capacity\[1\]: -1"),
    ({"waiting": [EXACT, 1]}, "total_jct can reach .*, expected below 2\\^53; lower cost or waiting"),
    ({"cost": [[[100.5, 80], [60, 40]], [[90, 70], [50, 1]]]}, "cost"),
]


@pytest.mark.parametrize(("changes", "message"), BAD)
def test_what_is_wrong_is_said_in_a_line(changes, message):
    with pytest.raises(InvalidInput, match=message) as error:
        small(**changes)
    assert "\n" not in str(error.value)


def test_never_is_no_value_that_counts_against_the_limit():
    never = np.full((2, 2, 2), NEVER)
    assert small(cost=never).evaluate(api.solve(small(cost=never), "dp").plan) == {"total_jct": 500}


@given(instance=strategies.workers())
def test_files_keep_everything(instance):
    again = Instance.from_json(instance.to_json())
    assert again == instance
    assert again.hash == instance.hash


def test_waiting_costs_two_slow_jobs_and_the_delay():
    cost = np.array([[[100, 90]], [[40, NEVER]], [[NEVER, 70]], [[NEVER, NEVER]]])
    # Slowest: 100, 40, the largest there is (70), none.
    assert waiting_terms(cost, 7).tolist() == [207, 147, 177, 107]
    assert pair_terms(cost, 7).tolist() == [107, 47, 77, 7]
    assert waiting_terms(np.zeros((0, 1, 1), dtype=np.int64)).tolist() == []


@pytest.mark.parametrize("seed", range(5))
def test_nobody_starves_while_another_has_two_of_each(seed):
    """What the default waiting terms promise: models whose pair is no larger than what could be freed."""
    inst = api.generate("workers", "paper-10", seed)
    plan = api.solve(inst, "dp").plan
    assert plan.workers.min() == 1, "there are as many GPUs as jobs"
    crowded = api.generate("workers", "crowded", seed, waiting="slowest")
    plan = api.solve(crowded, "dp").plan
    assert (plan.workers == 0).sum() == 6, "16 jobs on 10 GPUs: as many run as there are GPUs"
    assert plan.workers.max() == 1
