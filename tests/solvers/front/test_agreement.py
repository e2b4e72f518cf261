"""Every method, backend and scalarisation gives the front of brute force on random integer programs."""

from __future__ import annotations

import numpy as np
import pytest
from front_data import Question
from hypothesis import given
from hypothesis import strategies as st

from mlsched.solvers import enumerate_front

METHODS = ["epsilon-constraint", "laumanns", "tamby-vanderpooten"]


@st.composite
def questions(draw, most=4, least=2):
    n, m, p = draw(st.integers(1, 4)), draw(st.integers(0, 3)), draw(st.integers(least, most))
    matrix = lambda rows, span: np.array(  # noqa: E731
        draw(st.lists(st.lists(st.integers(-span, span), min_size=n, max_size=n), min_size=rows, max_size=rows))
    ).reshape(rows, n)
    low = np.array(draw(st.lists(st.integers(-3, 1), min_size=n, max_size=n)))
    high = low + np.array(draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)))
    return Question(
        matrix(p, 5), tuple(draw(st.lists(st.sampled_from(["min", "max"]), min_size=p, max_size=p))), matrix(m, 4),
        tuple(draw(st.lists(st.sampled_from([-1, -1, 1, 0]), min_size=m, max_size=m))),
        tuple(draw(st.lists(st.integers(-6, 10), min_size=m, max_size=m))), low, high,
    )  # fmt: skip


def check(question: Question, built, **settings) -> None:
    expected = question.brute_force()
    front = enumerate_front(*built, **settings)
    assert front.values.tolist() == expected
    assert front.complete
    assert front.status == ("complete" if expected else "infeasible")
    assert front.failures == ()
    if expected:
        assert (question.objectives @ np.array(front.solutions).T).T.tolist() == expected


@pytest.mark.parametrize("stages", ["one", "two"])
@pytest.mark.parametrize("method", METHODS)
@given(data=st.data())
def test_cp_sat_equals_brute_force(method, stages, data):
    question = data.draw(questions(2 if method == "epsilon-constraint" else 4))
    check(question, question.cp_sat(), method=method, stages=stages)


@pytest.mark.parametrize("stages", ["one", "two"])
@pytest.mark.parametrize("method", METHODS)
@given(data=st.data())
def test_highs_equals_brute_force(method, stages, data):
    question = data.draw(questions(2 if method == "epsilon-constraint" else 3))
    check(question, question.highs(), method=method, stages=stages)


@given(question=questions())
def test_the_certificate_is_confirmed_by_the_other_backend(question):
    for built in (question.cp_sat(), question.highs()):
        front = enumerate_front(*built)
        assert front.verify() == []
        assert front.verify(front.backend) == []
