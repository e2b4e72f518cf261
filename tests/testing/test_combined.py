"""Features of instances: the default examples have every two of them together, and bugs that need two are found."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from draws import THOROUGH
from pair_bugs import PAIRS
from planted_bugs import good

import mlsched
from mlsched.core.errors import InvalidInput, MlschedError
from mlsched.core.registry import registry
from mlsched.testing.combined import Recipe, features_of, minimal_recipe, recipes
from mlsched.testing.drawing import examine_draws
from mlsched.testing.scheduler import split_examples

PROBLEMS = [name for name, problem in registry().problems.items() if problem.features]


@functools.cache
def examples(name, count=200):
    """The instances that `check_scheduler` draws by default, and how many of them combine features."""
    problem, found = registry().problem(name), []
    strategies, each, generated, combined = split_examples(problem, count)
    for strategy in strategies:
        examine_draws(found.append, strategy, each)
    sizes = problem.presets["small"].sizes if "small" in problem.presets else {}
    found += [problem.generate(np.random.default_rng(seed), **sizes) for seed in range(generated)]
    found += [recipe.make(problem) for recipe in recipes(problem, list(found), combined)]
    return found, combined


def test_every_problem_has_features():
    ours = {"preemption", "quality", "workers", "placement", "taskgraph", "admission", "rounds"}
    assert set(PROBLEMS) >= ours & set(registry().problems)


@pytest.mark.parametrize("name", PROBLEMS)
def test_default_examples_have_every_two_features_together(name, report):
    problem = registry().problem(name)
    found, combined = examples(name)
    assert (len(found), combined) == (200, 50)
    pairs = set(itertools.combinations(problem.features, 2))
    seen = {pair for instance in found for pair in itertools.combinations(features_of(problem, instance), 2)}
    report(f"pairs of features, {name}", [f"{len(seen)} of {len(pairs)}"])
    assert len(seen) >= 0.95 * len(pairs), sorted(pairs - seen)


@pytest.mark.parametrize("name", PROBLEMS)
def test_adding_a_feature_adds_it_or_refuses(name):
    """What is added is there afterwards, for some of the examples that lack it."""
    problem = registry().problem(name)
    bases = examples(name)[0]
    for title, feature in problem.features.items():
        added = tried = 0
        for number, base in enumerate(bases):
            if feature.add is None or feature.has(base):
                continue
            try:
                made = feature.add(base, np.random.default_rng(number))
            except (InvalidInput, ValueError, IndexError):
                continue
            tried += 1
            added += feature.has(made)
        assert not tried or added, title


def test_a_failing_combination_is_made_smaller():
    problem = registry().problem("preemption")
    names = tuple(problem.features)
    recipe = Recipe(examples("preemption")[0][120], names, 3)

    def fails(instance):
        return len(instance.te_demand) >= 3 and instance.node_draining.any()

    assert fails(recipe.make(problem))
    smallest = minimal_recipe(problem, recipe, fails)
    assert fails(smallest.make(problem))
    assert len(smallest.names) <= 3 < len(names)


def test_a_counterexample_names_its_features():
    def rule(instance, *, rng):
        made = good("preemption")(instance, rng=rng)
        spoilt = len(instance.te_demand) >= 3 and instance.node_draining.any()
        return made.replace(te_node=np.full(len(made.te_node), len(instance.node_free))) if spoilt else made

    with pytest.raises(mlsched.testing.CheckFailed) as caught:
        mlsched.check_scheduler(rule, "preemption", reference=None, checks=["feasible"], calls=0)
    line = next(x for x in str(caught.value).splitlines() if x.startswith("on this preemption.instance ("))
    assert "three TE jobs, draining node" in line
    assert len(str(caught.value).splitlines()) < 30


def test_both_plans_of_a_rule_that_is_not_reproducible_are_shown(tmp_path):
    calls = itertools.count()

    def rule(instance, *, rng):
        made = good("quality")(instance, rng=rng)
        spare = np.flatnonzero(made.cores > instance.least)
        if not spare.size or next(calls) % 2:
            return made
        return made.replace(cores=made.cores - (np.arange(len(made.cores)) == spare[0]))

    with pytest.raises(mlsched.testing.CheckFailed) as caught:
        mlsched.check_scheduler(rule, "quality", reference=None, checks=["reproducible"], calls=0, keep=tmp_path)
    text = str(caught.value)
    assert "reproducible: the same instance and rng gave two plans" in text
    assert text.index("with this quality.plan:") < text.index("and then with this quality.plan:")
    found = caught.value.report.failures[0]
    assert found.plan != found.second
    assert mlsched.load(tmp_path / "rule-reproducible.second-plan.json") == found.second


@pytest.mark.skipif(not THOROUGH, reason="thirty schedulers on 200 instances each; in the thorough profile")
def test_bugs_that_need_two_features_are_found(report):
    missed, solved = [], {}
    for bug in PAIRS:
        if bug.problem not in solved:  # some instances have no feasible plan
            solved[bug.problem] = [i for i in examples(bug.problem)[0] if not _infeasible(good(bug.problem), i)]
        rule = bug.make()
        if not any(_infeasible(rule, instance) for instance in solved[bug.problem]):
            missed.append(bug.name)
    report("bugs of two features", [f"{len(PAIRS) - len(missed)} of {len(PAIRS)} found", *missed])
    assert len(PAIRS) == 30
    assert len(missed) <= 3, missed


def _infeasible(rule, instance):
    """Whether the rule's plan is infeasible, or there is none."""
    try:
        return bool(instance.violations(rule(instance.replace(), rng=np.random.default_rng(0))))
    except (MlschedError, ValueError, IndexError):
        return True
