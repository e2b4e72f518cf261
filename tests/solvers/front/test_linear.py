"""Objectives as integer linear expressions."""

import numpy as np
import pytest

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import EXACT
from mlsched.solvers.front.linear import Linear, enclose, signs_of

X = Linear.of([2, 0, 2], [1, 3, 4], 7, 1)  # 3 x_0 + 5 x_2 + 7


def test_like_terms_are_collected():
    assert X.text() == "[0, 2] [3, 5] 7"
    assert Linear.of([0, 1, 0], [2, 1, -2], 0, 1).text() == "[1] [1] 0"
    assert X.value(np.array([1, 9, 2])) == 20


def test_an_objective_to_maximise_is_negated():
    assert Linear.of([2, 0, 2], [1, 3, 4], 7, -1).value(np.array([1, 9, 2])) == -20
    assert signs_of(["min", "max"], 2) == [1, -1]


@pytest.mark.parametrize("senses", ["min", ["min"], ["min", "least"]])
def test_senses_name_min_or_max_for_each_objective(senses):
    with pytest.raises(InvalidInput, match="senses"):
        signs_of(senses, 2)


def test_bounds_of_variables_enclose_an_objective():
    low, high = np.array([-1.0, 0.0, 0.0]), np.array([1.0, 0.0, np.inf])
    assert enclose([X, Linear.of([0], [-1], 0, 1)], low, high) == ((4, -1), (None, 1))


def test_objectives_too_large_to_be_exact_are_refused():
    with pytest.raises(InvalidInput, match="2\\^53"):
        Linear.of([0], [EXACT], 0, 1)
    with pytest.raises(InvalidInput, match="objective 0 can reach"):
        enclose([Linear.of([0], [2], 0, 1)], np.array([0.0]), np.array([float(EXACT)]))
