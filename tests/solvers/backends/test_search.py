"""A search in this process: answers, bounds on the way, and stopping at any time."""

from __future__ import annotations

import threading

import pytest
from ortools.sat.python import cp_model

from mlsched.core.errors import BackendError
from mlsched.core.formulation import Limits
from mlsched.solvers.backends.limits import within
from mlsched.solvers.backends.search import Search


def pigeons(count: int):
    """`count` pigeons in one hole fewer, as clauses: what clause learning takes long for."""
    model = cp_model.CpModel()
    seats = [[model.new_bool_var("") for _ in range(count - 1)] for _ in range(count)]
    for row in seats:
        model.add_bool_or(row)
    for hole in zip(*seats, strict=True):
        for a in range(count):
            for b in range(a):
                model.add_bool_or([hole[a].negated(), hole[b].negated()])
    return model


def knapsack():
    model = cp_model.CpModel()
    taken = [model.new_bool_var("") for _ in range(6)]
    model.add(sum(w * x for w, x in zip((3, 4, 5, 6, 7, 8), taken, strict=True)) <= 15)
    model.maximize(sum(v * x for v, x in zip((5, 4, 7, 8, 6, 9), taken, strict=True)))
    return model


def hard(limits: Limits):
    """Parameters with which pigeons take for ever: no presolve, which counts them."""
    chosen = within(limits).parameters
    chosen.cp_model_presolve, chosen.linearization_level, chosen.symmetry_level = False, 0, 0
    return chosen


def test_an_optimum_with_its_bound_and_solution():
    bounds: list[float] = []
    search = Search(knapsack(), within(Limits()).parameters, bounds.append)
    assert search.run() == "OPTIMAL"
    assert search.bound == 20
    assert sum(v * x for v, x in zip((5, 4, 7, 8, 6, 9), search.solution, strict=False)) == 20
    assert not bounds or min(bounds) == 20


def test_one_that_is_stopped_before_it_begins_does_not_begin():
    search = Search(pigeons(14), hard(Limits()))
    search.stop()
    assert search.run() == "UNKNOWN"
    assert search.work["deterministic_time"] == 0.0
    assert search.bound is None
    assert not search.solution


def test_one_under_way_is_stopped_from_another_thread():
    search = Search(pigeons(14), hard(Limits()))
    searching = threading.Thread(target=search.run)
    searching.start()
    search.stop()
    searching.join()
    assert search.status == "UNKNOWN"


def test_a_work_limit_ends_it():
    search = Search(pigeons(14), hard(Limits(work=0.01)))
    assert search.run() == "UNKNOWN"
    assert search.work["deterministic_time"] > 0


def test_an_invalid_model_is_an_error():
    model = cp_model.CpModel()
    x = model.new_int_var(0, 5, "")
    model.add(x <= 3)
    model.proto.constraints[0].linear.vars[0] = 77
    with pytest.raises(BackendError, match="invalid"):
        Search(model, within(Limits()).parameters).run()
