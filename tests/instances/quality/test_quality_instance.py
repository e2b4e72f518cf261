"""Quality instances: every rule of validation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from quality_examples import SMALL, small

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import EXACT
from mlsched.instances import strategies
from mlsched.instances.quality import Instance, Plan
from mlsched.instances.quality.instance import waiting_in_arrival_order

REFUSED = [
    ({"cores": -1}, "cores: -1, expected between 0"),
    ({"cores": 6.0}, "cores: 6.0, expected an integer"),
    ({"reserved": 7}, "reserved: 7, expected at most 6 (cores)"),
    ({"least": -1}, "least: -1, expected between 0"),
    ({"gain": [[0, 5, 6, 6], [0, 1, 2, 9]]}, "loss: length of dimension 0 is 3, expected 2 (the number of jobs)"),
    ({"loss": [[9], [9], [6]]}, "loss: length of dimension 1 is 1, expected 4 (the number of allocations)"),
    ({"gain": [[0, 5, 4, 6], [0, 1, 2, 9], [0, 4, 5, 6]]}, "gain[0][2]: 4, must not decrease with more cores"),
    ({"gain": [[0, 5, 6, 6], [1, 1, 2, 9], [0, 4, 5, 6]]}, "gain[1][0]: 1, expected 0: no core, no gain"),
    ({"loss": [[9, 4, 3, 3], [9, 8, 7, 0], [6, 7, 1, 0]]}, "loss[2][1]: 7, must not increase with more cores"),
    ({"gain": [[0, 5, 6, 6], [0, 1, 2, 9], [0, 4, 5, -6]]}, "gain[2][3]: -6, expected >= 0"),
    ({"weight": [1, 1]}, "weight: length is 2, expected 3 (the number of jobs)"),
    ({"weight": [1, -1, 1]}, "weight[1]: -1, expected between 0 and 1000000"),
    ({"most": [3, 4, 3]}, "most[1]: 4, expected at most 3 (the last column of gain)"),
    ({"most": [3, 0, 3]}, "most[1]: 0, expected at least 1 (least) for a job that runs"),
    ({"waiting": [0, 2, 0]}, "waiting[1]: 2, expected between 0 and 1"),
    ({"reserved": 4}, "waiting: 3 jobs run and need 3 cores, 2 are not reserved; let later arrivals wait"),
    ({"gain": np.zeros((3, 0), dtype=int), "loss": np.zeros((3, 0), dtype=int)}, "gain: 0 columns"),
    (
        {
            "weight": [1, 10**6, 1],
            "gain": [[0, 0], [0, EXACT // 10**6 + 1], [0, 0]],
            "loss": [[0, 0]] * 3,
            "most": [1, 1, 1],
        },
        "total_loss_reduction can reach",
    ),
    ({"weight": [1, 10**6, 1], "loss": [[0] * 4, [EXACT, 0, 0, 0], [0] * 4]}, "worst_loss can reach"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED, ids=range(len(REFUSED)))
def test_each_bad_case_is_refused_by_its_rule(changes, message):
    with pytest.raises(InvalidInput) as caught:
        small(**changes)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_waiting_job_needs_no_cap():
    assert small(most=[3, 0, 3], waiting=[0, 1, 0]).running.tolist() == [0, 2]


def test_plans_are_validated():
    assert Plan(cores=[0, 3]).cores.tolist() == [0, 3]
    with pytest.raises(InvalidInput, match="cores\\[1\\]: -1"):
        Plan(cores=[0, -1])


@given(instance=strategies.quality())
def test_files_keep_everything(instance):
    assert Instance.from_json(instance.to_json()) == instance
    assert Instance.from_json(instance.to_json()).hash == instance.hash


def test_saving_and_loading(tmp_path):
    result = api.solve(small(), "dp")
    api.save(small(), tmp_path / "i.json")
    api.save(result, tmp_path / "p.json")
    assert api.load(tmp_path / "i.json") == small()
    assert api.load(tmp_path / "p.json") == result
    api.save(result.plan, tmp_path / "p.json", instance=small())
    assert api.load_with_hash(tmp_path / "p.json") == (result.plan, small().hash)


@pytest.mark.parametrize(
    ("jobs", "cores", "least", "waits"),
    [(3, 5, 1, 0), (3, 3, 1, 0), (3, 2, 1, 1), (3, 5, 2, 1), (3, 0, 1, 3), (3, 0, 0, 0), (0, 4, 1, 0)],
)
def test_later_arrivals_wait_when_the_least_is_no_longer_there(jobs, cores, least, waits):
    assert waiting_in_arrival_order(jobs, cores, least).tolist() == [0] * (jobs - waits) + [1] * waits


def test_the_example_is_what_its_docstring_says():
    assert set(SMALL) <= set(small().to_json())


def test_a_plan_can_be_drawn():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    from mlsched.instances.quality import PROBLEM

    for preset in ("small", "paper"):
        inst = api.generate("quality", preset)
        axes = figure.add_subplot()
        PROBLEM.draw(inst, api.solve(inst, "fair").plan, axes)
        assert "cores, mean predicted loss" in axes.get_title()
