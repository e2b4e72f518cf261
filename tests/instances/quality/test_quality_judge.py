"""The judge: optima known by hand, the sentence for every violation, values."""

from __future__ import annotations

import pytest
from quality_examples import small

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched.instances.quality import Plan

NAMES = ["total_loss_reduction", "worst_loss"]
#: (changes to the example, optimal value of each objective), worked out by hand from the tables of the example.
OPTIMA = [
    ({}, [11, 7]),
    ({"reserved": 1}, [18, 4]),
    ({"reserved": 0}, [19, 3]),
    ({"reserved": 3}, [10, 8]),
    ({"cores": 11}, [21, 3]),
    ({"reserved": 1, "most": [3, 2, 3]}, [12, 7]),
    ({"least": 0}, [14, 6]),
    ({"least": 0, "cores": 4}, [9, 8]),
    ({"weight": [1, 1, 2]}, [16, 7]),
    ({"weight": [3, 1, 1], "reserved": 1}, [15 + 9 + 4, 9]),
    ({"waiting": [0, 1, 0]}, [11, 3]),
    ({"waiting": [1, 1, 1]}, [0, 0]),
    ({"reserved": 6, "least": 0}, [0, 9]),
]


@pytest.mark.parametrize(("changes", "values"), OPTIMA, ids=range(len(OPTIMA)))
@pytest.mark.parametrize("solver", ["brute-force", "dp", "highs"])
def test_optima_worked_out_by_hand(solver, changes, values):
    inst = small(**changes)
    assert [api.solve(inst, solver, objective=name).sort_key for name in NAMES] == values


VIOLATIONS = [
    ({}, [2, 1, 1], []),
    ({}, [1, 1, 1], []),
    ({}, [1, 1], ["cores has 2 entries, expected 3, one for each job"]),
    ({}, [0, 1, 1], ["job 0 gets 0 cores: the least is 1"]),
    ({"least": 0}, [0, 1, 1], []),
    ({"reserved": 0}, [4, 1, 1], ["job 0 gets 4 cores: its cap is 3"]),
    ({"most": [3, 3, 1]}, [1, 1, 2], ["job 2 gets 2 cores: its cap is 1"]),
    ({}, [2, 2, 1], ["the jobs get 5 cores: 4 are not reserved"]),
    ({"waiting": [0, 0, 1]}, [1, 1, 1], ["job 2 waits and gets 1 cores: must get none"]),
    ({"waiting": [0, 0, 1]}, [1, 3, 0], []),
    (
        {},
        [0, 9, 1],
        [
            "job 0 gets 0 cores: the least is 1",
            "job 1 gets 9 cores: its cap is 3",
            "the jobs get 10 cores: 4 are not reserved",
        ],
    ),
]


@pytest.mark.parametrize(("changes", "cores", "sentences"), VIOLATIONS)
def test_each_violation_has_its_sentence(changes, cores, sentences):
    assert small(**changes).violations(Plan(cores=cores)) == sentences


@pytest.mark.parametrize(
    ("answer", "named"),
    [(None, "a NoneType"), (3, "an int"), ("plan", "a str"), ([0], "a list"), ({"cores": [1, 1, 1]}, "a dict")],
)
def test_anything_but_a_plan_is_one_violation(answer, named):
    assert small().violations(answer) == [f"the answer is {named}, expected a quality.plan"]


def test_values_by_hand():
    assert small().evaluate(Plan(cores=[2, 1, 1])) == {"total_loss_reduction": 6 + 1 + 4, "worst_loss": 8}
    heavy = small(weight=[5, 0, 2])
    assert heavy.evaluate(Plan(cores=[1, 3, 1])) == {"total_loss_reduction": 25 + 0 + 8, "worst_loss": 20}
    assert small(waiting=[0, 1, 0]).evaluate(Plan(cores=[3, 0, 1])) == {"total_loss_reduction": 10, "worst_loss": 3}


def test_a_plan_that_is_not_well_formed_has_no_value():
    with pytest.raises(InvalidInput, match="cannot be evaluated: cores has 2 entries, there are 3 jobs"):
        small().evaluate(Plan(cores=[1, 1]))
    with pytest.raises(InvalidInput, match="cannot be evaluated: job 1 gets 4 cores, tables end at 3"):
        small().evaluate(Plan(cores=[1, 4, 1]))
