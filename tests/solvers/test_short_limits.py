"""Limits that are over before a solver has its model: the known plan and bound come back, and at once.

Clocks tick with every look; no test here waits.
"""

from __future__ import annotations

import itertools
import types

import pytest

from mlsched import api
from mlsched.api.exact import start_within, trivial_bound
from mlsched.core import deadline
from mlsched.core.formulation import Limits
from mlsched.core.registry import registry
from mlsched.core.request import Request
from mlsched.solvers.backends import cp_sat, highs, math_opt

SMALL = {name: api.generate(name, "small", seed=3) for name in ("preemption", "quality", "workers", "placement")}
SMALL["taskgraph"] = api.generate("taskgraph", "small", seed=3)
#: Builders of large models, which look at the clock as they go.
LOOKING = [(problem, objective) for problem in ("quality", "taskgraph")
           for objective in registry().solvers[problem, "highs"].objectives]  # fmt: skip


@pytest.fixture
def handed(monkeypatch):
    """The backends that were given a model."""
    seen = []
    for module in (highs, math_opt, cp_sat):
        given = module.minimise

        def minimise(*args, _given=given, _name=module.__name__, **more):
            seen.append(_name.rpartition(".")[2])
            return _given(*args, **more)

        monkeypatch.setattr(module, "minimise", minimise)
    return seen


def known(instance, objective):
    """The best plan that warm-start rules know."""
    rules = [r for r in registry().available(instance.problem) if r.warm_start]
    values = [api.solve(instance, rule.name, objective=objective).sort_key for rule in rules]
    return (min if instance.objective(objective).sense == "min" else max)(values)


def looks_of_start(instance, name, objective, monkeypatch):
    """How often the search for a start looks at the clock, beyond its first and last look."""
    solver, _ = registry().solver(instance.problem, name)
    looks = itertools.count()
    with monkeypatch.context() as patched:
        patched.setattr(deadline, "time", types.SimpleNamespace(perf_counter=lambda: next(looks)))
        start_within(Request(solver, objective, limits=Limits(seconds=10**9), instance=instance))
    return next(looks) - 2


@pytest.mark.parametrize(("problem", "objective"), LOOKING)
def test_building_stops_where_no_time_is_left_to_hand_the_model_over(problem, objective, monkeypatch, handed):
    instance = SMALL[problem]
    best = known(instance, objective)
    start = looks_of_start(instance, "highs", objective, monkeypatch)
    looks = itertools.count()
    monkeypatch.setattr(deadline, "time", types.SimpleNamespace(perf_counter=lambda: next(looks)))
    found = api.solve(instance, "highs", objective=objective, time_limit=13.0 + start)
    assert handed == []
    assert found.plan is not None
    bound = trivial_bound(instance, objective)
    assert (found.sort_key, found.sort_bound) == (best, bound)
    assert found.status == ("optimal" if best == bound else "feasible")
    if best == bound:  # the start is proved at once: after its deadline nothing looks at the clock but the call's end
        assert next(looks) == 2 + start
        return
    # After the start, 12 seconds were left; the budget and two deadlines were made; a third of the rest was used up.
    assert next(looks) == 9 + start


@pytest.mark.parametrize(("name", "limit", "given"), [
    ("highs", 3990.0, []), ("highs", 4010.0, ["highs"]), ("highs:engine=scip", 4490.0, []),
    ("highs:engine=scip", 4510.0, ["math_opt"]), ("cp-sat", 1.0, ["cp_sat"]),
])  # fmt: skip
def test_a_model_is_handed_over_where_that_takes_no_longer_than_is_left(
    name, limit, given, monkeypatch, ticking, handed
):
    """The last look at the clock in the search for a start, and building, take 1000 s each; the rest twice as long
    (HiGHS), or 2.5 times (SCIP)."""
    instance = SMALL["preemption"]
    assert len(instance.te_demand) > 1  # or it would be a OneOf, whose parts are built one by one
    start = looks_of_start(instance, name, instance.objectives[0].name, monkeypatch)
    ticking(deadline, seconds=1000.0)
    found = api.solve(instance, name, time_limit=limit + 1000.0 * start)
    assert handed == given
    assert found.plan is not None


@pytest.mark.parametrize("problem", SMALL)
def test_brute_force_keeps_to_its_limit(problem, ticking):
    instance = api.generate(problem, "small", seed=977)  # of task graphs, one that nobody has examined
    objective = instance.objectives[0].name
    ticking(deadline)
    known = api.solve(instance, "brute-force", time_limit=1.0)
    assert known.plan is not None, "one of a rule, from which others would start"
    cut = api.solve(instance, "brute-force", time_limit=1.0, hint="none")
    assert (cut.status, cut.plan, cut.stopped_by) == ("unknown", None, "time limit")
    assert cut.sort_bound == trivial_bound(instance, objective)
    whole = api.solve(instance, "brute-force")
    assert whole.status == "optimal"
    # Task graphs remember what was examined; what was cut short is not.
    assert api.solve(instance, "brute-force").sort_key == whole.sort_key == api.solve(instance, "highs").sort_key
