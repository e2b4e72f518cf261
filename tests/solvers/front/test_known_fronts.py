"""Published fronts, reproduced point by point, and how many solves that takes."""

from __future__ import annotations

import front_data
import numpy as np
import pytest
from draws import THOROUGH

from mlsched.solvers import enumerate_front

KIRLIK = [
    "KP_p-3_n-10_ins-1",
    "KP_p-3_n-20_ins-1",
    "KP_p-4_n-10_ins-1",
    "KP_p-4_n-20_ins-1",
    "KP_p-5_n-10_ins-1",
    "ILP_p-3_n-10_m-5_ins-1",
]
#: In the thorough profile.
LONG = [
    "KP_p-3_n-30_ins-1",
    "ILP_p-3_n-20_m-10_ins-1",
    "ILP_p-4_n-10_m-5_ins-1",
    "ILP_p-5_n-10_m-5_ins-1",
    "KP_p-3_n-40_ins-1",
    "KP_p-5_n-20_ins-1",
    "KP_p-4_n-30_ins-1",
]
FAST = ["KP_p-3_n-10_ins-1", "KP_p-4_n-10_ins-1", "KP_p-5_n-10_ins-1", "ILP_p-3_n-10_m-5_ins-1"]


#: Solves a point at most, by the number of objectives, when zones are asked for together (CP-SAT).
MOST_SOLVES = {3: 1.5, 4: 1.9, 5: 3.1}


def check(question: front_data.Question, known: list[list[int]], built, **settings):
    front = enumerate_front(*built, **settings)
    assert front.status == "complete"
    assert front.sort_keys.tolist() == known
    assert (question.objectives @ np.array(front.solutions).T).T.tolist() == known
    return front


@pytest.mark.parametrize("name", [*KIRLIK, *(LONG if THOROUGH else [])])
def test_kirlik_fronts_by_cp_sat(known_optima, name, report):
    question, known = front_data.kirlik(known_optima, name)
    front = check(question, known, question.cp_sat())
    p = len(front.senses)
    zones = front_data.zones_to_close(front.sort_keys * question.signs)
    # The first p solves are the ideal point's; each later one gives a point or closes the zones of one value u_k.
    assert front.solves <= p + len(front) + sum(len(np.unique(column)) for column in front.sort_keys.T)
    assert front.solves / len(front) <= MOST_SOLVES[p]
    # One a zone is what sub-problems over single boxes need.
    assert front.solves < zones
    report(f"front of {name}", [f"{len(front)} points, {front.solves} solves, {zones} zones to close"])


@pytest.mark.parametrize(
    "name", [*FAST, "KP_p-3_n-30_ins-1"] if THOROUGH else ["KP_p-3_n-10_ins-1", "KP_p-4_n-10_ins-1"]
)
def test_kirlik_fronts_by_highs(known_optima, name):
    question, known = front_data.kirlik(known_optima, name)
    front = check(question, known, question.highs())
    # Single boxes with three objectives.
    assert front.solves / len(front) <= {3: 2.2, 4: 2.6, 5: 3.6}[len(front.senses)]


@pytest.mark.parametrize("name", [*FAST, *(["KP_p-3_n-20_ins-1", "KP_p-3_n-30_ins-1"] if THOROUGH else [])])
@pytest.mark.parametrize("stages", ["one", "two"])
def test_kirlik_fronts_by_the_reference_method(known_optima, name, stages):
    if "p-5" in name and stages == "two":
        pytest.skip("the same again")
    question, known = front_data.kirlik(known_optima, name)
    check(question, known, question.cp_sat(), method="laumanns", stages=stages)


@pytest.mark.slow
@pytest.mark.skipif(not THOROUGH, reason="in the thorough profile")
def test_a_knapsack_of_pyaugmecon_with_two_objectives(known_optima):
    question, known = front_data.pyaugmecon(known_optima, "2kp100")
    front = check(question, known, question.cp_sat())
    assert front.method == "epsilon-constraint"
    assert front.solves <= 1.04 * len(front)


def test_two_objectives_take_hardly_more_than_a_solve_a_point():
    question = front_data.knapsack(10, 2, seed=1)
    front = check(question, question.brute_force(), question.cp_sat())
    assert front.method == "epsilon-constraint"
    assert len(front) > 5
    assert front.solves <= len(front) + 2


@pytest.mark.slow
@pytest.mark.skipif(not THOROUGH, reason="in the thorough profile")
def test_a_knapsack_of_pyaugmecon_with_three_objectives(known_optima):
    question, known = front_data.pyaugmecon(known_optima, "3kp40")
    front = check(question, known, question.cp_sat())
    assert front.solves <= 2.1 * len(front)
