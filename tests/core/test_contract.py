"""Small pieces of core: objectives, errors, results."""

from __future__ import annotations

import pytest

from mlsched.core import errors
from mlsched.core.contract import Objective
from mlsched.core.result import relative_gap
from mlsched.core.versions import versions


def test_better_follows_the_sense():
    low, high = Objective("a", "min", "s"), Objective("b", "max", "s")
    assert low.better(1, 2)
    assert not low.better(2, 2)
    assert high.better(2, 1)
    assert not high.better(1, 1)


@pytest.mark.parametrize(
    ("value", "bound", "gap"), [(0, 0, 0), (10, 10, 0), (10, 5, 0.5), (0, 1, 1), (-4, -8, 0.5), (8, 4.0, 0.5)]
)
def test_relative_gap(value, bound, gap):
    assert relative_gap(value, bound) == gap


def test_errors_can_be_caught_as_ours_and_as_the_builtin_kind():
    for name in ("InvalidInput", "InvalidFile", "UnknownName", "SolverError", "BackendError"):
        assert issubclass(getattr(errors, name), errors.MlschedError)
    assert issubclass(errors.InvalidInput, ValueError)
    assert issubclass(errors.UnknownName, LookupError)


def test_versions_name_what_an_answer_depends_on():
    assert {"python", "mlsched", "numpy", "ortools", "highspy"} <= set(versions())
