"""Every method, backend and scalarisation gives the front of brute force on random integer programs."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from front_data import Question
from front_examples import questions
from hypothesis import given, settings
from hypothesis import strategies as st

from mlsched.solvers import enumerate_front

METHODS = ["epsilon-constraint", "laumanns", "tamby-vanderpooten"]


def check(question: Question, built, **options) -> None:
    expected = question.brute_force()
    front = enumerate_front(*built, **options)
    assert front.sort_keys.tolist() == expected
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
@pytest.mark.parametrize("threads", [2, 5])
@settings(max_examples=draws(6, 1000))
@given(data=st.data())
def test_several_sub_problems_at_once_equal_brute_force(threads, stages, data):
    question = data.draw(questions(4))
    two = len(question.objectives) == 2
    check(question, question.cp_sat(), method=METHODS[0] if two else METHODS[2], stages=stages, threads=threads)
    if two:
        check(question, question.cp_sat(), method=METHODS[2], stages=stages, threads=threads)


@pytest.mark.parametrize("stages", ["one", "two"])
@pytest.mark.parametrize("method", METHODS)
@given(data=st.data())
def test_highs_equals_brute_force(method, stages, data):
    question = data.draw(questions(2 if method == "epsilon-constraint" else 3))
    check(question, question.highs(), method=method, stages=stages)


@given(question=questions(draws(3, 4)))
def test_the_certificate_is_confirmed_by_the_other_backend(question):
    for built in (question.cp_sat(), question.highs()):
        front = enumerate_front(*built)
        assert front.verify() == []
        assert front.verify(front.backend) == []
