"""Admission as 0-1 formulas: their minima are the optima, and certificates of incidents pass."""

from __future__ import annotations

from admission_examples import incidents, needs_incidents
from certificate_examples import minimum, needs_exact
from draws import draws
from hypothesis import given, settings

from mlsched import api
from mlsched.benchmark.plain import build
from mlsched.certificates.translation import translation_of
from mlsched.instances import strategies
from mlsched_admission.instances import Instance


@settings(max_examples=draws(8, 500))
@given(instance=strategies.admission())
def test_the_minima_are_the_optima_and_the_plain_model_agrees(instance):
    from ortools.sat.python import cp_model

    for objective in Instance.objectives:
        best = api.solve(instance, "cp-sat", objective=objective.name)
        made = translation_of(instance).formulas(instance, objective.name, best.plan)
        assert sum(f.value(minimum(f)) for f in made) == best.sort_key, (objective.name, instance.to_json())
        model, plan = build(instance, objective.name)
        solver = cp_model.CpSolver()
        assert solver.solve(model) == cp_model.OPTIMAL
        assert instance.violations(plan(solver)) == []
        assert instance.evaluate(plan(solver))[objective.name] == best.sort_key, (objective.name, instance.to_json())


@needs_exact
@needs_incidents
def test_optimality_and_infeasibility_are_certified_on_incidents(tmp_path):
    chosen = {"kueue-5243", "slurm-210", "k8s-128307", "volcano-5984"}
    for number, (name, instance, _) in enumerate(incidents()):
        if name in draws(chosen, {name for name, _, _ in incidents()}):
            checked = api.certify(instance, tmp_path / str(number), objective="victims")
            assert checked.evidence == "certified", name
