"""What points of fronts claim: in which order they come, what each is better than, and the sentence that says so."""

from __future__ import annotations

import pytest
from certificate_examples import drawn

from mlsched.certificates.by_prices import Dual
from mlsched.certificates.checked import Checked
from mlsched.certificates.claimed import claims_of


def checked(instance, objectives, values, bounds) -> Checked:
    """A front that passed its check."""
    return Checked(instance, (), objectives, (), values, bounds, "dual", "", (), (), 0.0)


@pytest.mark.parametrize(
    ("values", "bounds", "most"),
    [
        (((0, 1), (100, 2)), (0, 80, 2), "25.0 %"),  # the gap of 0 to 0 is none, but is no share either
        (((7, 1), (100, 2)), (0, 80, 2), "25.0 % or 7 ticks"),
        (((7, 1), (100, 2)), (0, 0, 2), "100 ticks"),
        (((7, 1), (100, 2)), (7, 100, 3), "0 %"),
    ],
)
def test_the_sentence_says_no_less_than_any_gap(values, bounds, most):
    """Of gaps that are shares and of those to a bound of 0, which are ticks, the largest are both named."""
    made = checked(next(drawn("taskgraph", 1)), ("makespan", "total_accuracy"), values, bounds)
    assert f"is as good in total_accuracy and at most {most} worse in makespan" in made.claim


@pytest.mark.parametrize("bounds", [(10, 19, 1), (8, 20, 1)])
def test_the_claim_names_the_largest_gap(bounds):
    """Of 10 and 8 against 10, or of 20 and 19 against 20."""
    instance, values = next(drawn("taskgraph", 1)), ((10, 0), (20, 1))
    made = checked(instance, ("total_jct", "deadlines_met"), values, bounds)
    most = "5.3 %" if bounds[0] == 10 else "25.0 %"
    assert made.claim == (
        f"for every plan, one of the 2 points is as good in deadlines_met and at most {most} worse in total_jct"
    )
    assert made.evidence is None


@pytest.mark.parametrize(
    ("rows", "wrong"),
    [
        ([(5, 3), (6, 4)], False), ([(5, 3)], False), ([(5, 3), (5, 4)], True), ([(5, 3), (6, 3)], True),
        ([(5, 3), (4, 4)], True), ([(5, 3), (6, 2)], True), ([(5, 3), (6, 4), (7, 4)], True),
    ],
)  # fmt: skip
def test_points_get_worse_in_the_first_objective_and_better_in_the_second(rows, wrong):
    """A total completion time that grows, and deadlines met that grow."""
    instance = next(drawn("taskgraph", 1))
    assert bool(Dual(instance, [], ("total_jct", "deadlines_met"), (), rows).disorder()) == wrong


def test_a_claim_speaks_of_what_is_better_than_the_point_before():
    instance, rows = next(drawn("taskgraph", 1)), [(5, 3), (6, 4)]
    asked = claims_of(instance, ("total_jct", "deadlines_met"), rows)
    assert asked == [("total_jct", 5, ()), ("total_jct", 6, (("deadlines_met", 4),)), ("deadlines_met", 4, ())]
    asked = claims_of(instance, ("deadlines_met", "total_jct"), [(4, 6), (3, 5)])
    assert asked == [("deadlines_met", 4, ()), ("deadlines_met", 3, (("total_jct", 5),)), ("total_jct", 5, ())]
