"""Every floor has a table by objectives' names, and refuses what is not in it: nothing is answered as another one."""

from __future__ import annotations

import dataclasses

import pytest

import mlsched
from mlsched.api.asked import prover
from mlsched.benchmark.plain import build
from mlsched.certificates.translation import translation_of
from mlsched.core.errors import InvalidInput, UnknownName
from mlsched.core.registry import registry

PROBLEMS = sorted(registry().problems.values(), key=lambda problem: problem.name)
every_problem = pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)


def drawn(problem):
    return mlsched.generate(problem.name, next(iter(problem.presets)))


@every_problem
def test_every_objective_has_its_entries(problem):
    names = {objective.name for objective in problem.instance_type.objectives}
    assert set(problem.trivial_bounds) == names
    assert set(translation_of(drawn(problem)).by_objective) == names
    assert set(registry().solvers[problem.name, "brute-force"].objectives) == names


@every_problem
def test_an_objective_without_an_entry_is_refused_by_its_name(problem):
    instance, where = drawn(problem), problem.name
    with pytest.raises(InvalidInput, match=rf"TRIVIAL_BOUNDS of instances/{where}/bounds.py: the entry .* 'other'"):
        problem.trivial_bound(instance, "other")
    with pytest.raises(InvalidInput, match=r"^other of an? .*\.instance cannot be certified; .* can"):
        translation_of(instance).formulas(instance, "other", None)
    with pytest.raises(InvalidInput, match=r"OBJECTIVES of mlsched\S*\.benchmark\.plain\S* the entry .* 'other'"):
        build(instance, "other")
    with pytest.raises(UnknownName, match=f"unknown objective 'other' of {where}"):
        mlsched.solve(instance, "brute-force", objective="other")


def test_a_rank_is_of_a_known_objective():
    with pytest.raises(InvalidInput, match=r"LARGEST of instances/preemption/instance.py: the entry"):
        mlsched.generate("preemption", "small").primary("other")


def test_where_the_default_cannot_another_is_asked(monkeypatch):
    instance = mlsched.generate("quality", "floored", jobs=3, cores=6)
    default = registry().solvers["quality", "dp"]
    assert prover(instance, "worst_loss") == "dp"
    only = dataclasses.replace(default, objectives=("total_loss_reduction",))
    monkeypatch.setitem(registry().solvers, ("quality", "dp"), only)
    assert prover(instance, "total_loss_reduction") == "dp"
    assert prover(instance, "worst_loss") == "highs", "not brute force"
    assert prover(instance, "other") is None
    with pytest.raises(InvalidInput, match="dp cannot optimise worst_loss; it can total_loss_reduction"):
        mlsched.solve(instance, "dp", objective="worst_loss")


def test_a_front_is_refused_where_its_solver_cannot_optimise_all(monkeypatch):
    highs = registry().solvers["quality", "highs"]
    monkeypatch.setitem(
        registry().solvers, ("quality", "highs"), dataclasses.replace(highs, objectives=("worst_loss",))
    )
    instance = mlsched.generate("quality", "floored", jobs=3, cores=6)
    with pytest.raises(InvalidInput, match="highs cannot optimise total_loss_reduction; name objectives that it can"):
        mlsched.pareto(instance)
