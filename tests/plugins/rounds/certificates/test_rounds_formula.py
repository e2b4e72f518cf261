"""Rounds as 0-1 formulas: their minima are the optima, and a certificate passes."""

from __future__ import annotations

from certificate_examples import minimum, needs_exact
from draws import draws
from hypothesis import given, settings

from mlsched import api
from mlsched.certificates.translation import translation_of
from mlsched.instances import strategies
from mlsched_rounds.instances import Instance


@settings(max_examples=draws(25, 500))
@given(instance=strategies.rounds())
def test_the_minima_are_the_optima(instance):
    for objective in Instance.objectives:
        best = api.solve(instance, "brute-force", objective=objective.name)
        made = translation_of(instance).formulas(instance, objective.name, best.plan)
        assert sum(f.value(minimum(f)) for f in made) == best.sort_key, (objective.name, instance.to_json())


@needs_exact
def test_a_round_is_certified(tmp_path):
    instance = api.generate("rounds", "small", seed=0)
    for objective in ("goodput_cost", "least_served"):
        assert api.certify(instance, tmp_path / objective, objective=objective).evidence == "certified"
