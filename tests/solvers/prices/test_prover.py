"""The prover where the table of all amounts is too large, and where the time ends before the tree does."""

from __future__ import annotations

import random

import pytest
from certificate_examples import drawn
from draws import draws

import mlsched
from mlsched import api
from mlsched.certificates.by_prices import reasons_unproved
from mlsched.certificates.prices import core
from mlsched.certificates.prices.statement import statement_of
from mlsched.core.deadline import Deadline, OutOfTime
from mlsched.core.errors import BackendError
from mlsched.formulations.preemption import nodes
from mlsched.solvers import prices
from mlsched.solvers.prices.listed import ListedOptions


class Ending(Deadline):
    """It is over after so many looks at it."""

    def __init__(self, looks: int) -> None:
        super().__init__(None)
        self.looks = looks

    def check(self) -> None:
        self.looks -= 1
        if self.looks < 0:
            raise OutOfTime


@pytest.mark.parametrize("objective", ["total_score", "victim_count", "max_grace_period"])
def test_without_a_table_the_optimum_is_proved_too(objective, monkeypatch):
    monkeypatch.setattr(nodes, "MOST_CELLS", 0)
    for instance in drawn("preemption", draws(3, 200)):
        best = api.solve(instance, "brute-force", objective=objective).sort_key
        trees, bound = prices.trees(instance, objective, best, Deadline())
        assert bound == best
        assert not list(reasons_unproved(instance, objective, best, trees, Deadline()))


def test_where_the_time_ends_first_what_is_proved_is_so_by_few_nodes():
    """The more looks at the clock, the better the bound; what lies below a node that proves it is left out.

    With too few to list the claims, there is none.
    """
    instance = mlsched.generate("preemption", preset="paper-surge", seed=1)
    value = api.solve(instance, "columns", objective="total_score").sort_key
    bounds, sizes = [], []
    with pytest.raises(BackendError, match="a bound was not proved in time; give more"):
        prices.trees(instance, "total_score", value, Ending(0))
    for looks in (8, 40, 10**9):
        trees, bound = prices.trees(instance, "total_score", value, Ending(looks))
        assert not list(reasons_unproved(instance, "total_score", bound, trees, Deadline()))
        if looks > draws(40, 8):  # the first tree has no prices: its leaf leaves all options, which are many to list
            assert list(reasons_unproved(instance, "total_score", value + 1, trees, Deadline()))
        bounds.append(bound)
        sizes.append(len(trees[0]))
    assert bounds == sorted(bounds)
    assert bounds[0] < bounds[-1] == value
    assert sizes[0] == sizes[1] == 1 < sizes[-1]


def test_prices_are_sought_to_the_end_where_there_is_nothing_to_branch_on():
    """The bound of this placement does not rise for 30 rounds, while the relaxation takes whole options already."""
    instance = mlsched.generate("placement", preset="linear", seed=5)
    best = api.solve(instance, "cp-sat", objective="total_speed").sort_key
    assert prices.trees(instance, "total_speed", best, Deadline())[1] == best


def test_the_prover_comes_across_the_best_plans_of_placement():
    """It begins with the plan in which all wait; plans that it hands on are feasible, and the best is brute force's."""
    found = 0
    for instance in drawn("placement", draws(12, 300)):
        best = api.solve(instance, "brute-force", objective="total_speed").sort_key
        nothing = [[0] * len(instance.server_free)] * len(instance.job_type)
        value = instance.evaluate(instance.plan_type(workers=nothing, ps=nothing))["total_speed"]
        plans: list = []
        trees, bound = prices.trees(instance, "total_speed", value, Deadline(), better=plans.append)
        assert bound == best
        assert not list(reasons_unproved(instance, "total_speed", bound, trees, Deadline()))
        assert not any(instance.violations(plan) for plan in plans)
        if value != best:
            assert max(instance.evaluate(plan)["total_speed"] for plan in plans) == best
            found += 1
    assert found > draws(3, 5)


def test_a_better_plan_is_certified_where_none_was_given(tmp_path):
    instance = mlsched.generate("placement", preset="linear", seed=draws(2, 1))
    rule = api.solve(instance, "bin-packing", objective="total_speed")
    made = api.certify(instance, tmp_path / "best", objective="total_speed", solver="bin-packing")
    assert (made.evidence, made.sort_key > rule.sort_key) == ("certified", True)
    given = api.certify(instance, tmp_path / "given", objective="total_speed", plan=rule.plan)
    assert (given.evidence, given.sort_key, given.sort_bound) == (None, rule.sort_key, made.sort_key)


def test_bounds_of_listed_options_are_the_checkers():
    """Prices and branches at random, also such that 64 bits do not hold the numbers."""
    dice, wide = random.Random(3), 0
    for problem in ("quality", "workers"):
        for instance in drawn(problem, draws(10, 300)):
            (claim,) = statement_of(instance).claims(instance, instance.objectives[0].name, 7)
            options = ListedOptions(claim)
            for _ in range(20):
                bits = dice.choice([5, 24, 40, 70])
                price = {row: dice.randrange(2**bits) for row in claim.capacity if dice.random() < 0.7}
                row = dice.choice(list(claim.capacity))
                sides = {dice.randrange(max(1, claim.blocks)): ((row, dice.choice([1, -1]), dice.randrange(-3, 4)),)}
                least, bound = core.bound(claim, price, sides)
                found = options.bound(price, sides)
                assert found == bound or (core.NEVER in least and found == core.NEVER)
                wide += bits == 70
    assert wide
