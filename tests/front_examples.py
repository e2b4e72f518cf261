"""Random integer programs for fronts, as Hypothesis draws them."""

from __future__ import annotations

import numpy as np
from front_data import Question
from hypothesis import strategies as st


@st.composite
def questions(draw, most=4, least=2):
    n, m, p = draw(st.integers(1, 4)), draw(st.integers(0, 3)), draw(st.integers(least, most))
    matrix = lambda rows, span: np.array(  # noqa: E731
        draw(st.lists(st.lists(st.integers(-span, span), min_size=n, max_size=n), min_size=rows, max_size=rows))
    ).reshape(rows, n)
    low = np.array(draw(st.lists(st.integers(-3, 1), min_size=n, max_size=n)))
    high = low + np.array(draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)))
    return Question(
        matrix(p, 5),
        tuple(draw(st.lists(st.sampled_from(["min", "max"]), min_size=p, max_size=p))),
        matrix(m, 4),
        tuple(draw(st.lists(st.sampled_from([-1, -1, 1, 0]), min_size=m, max_size=m))),
        tuple(draw(st.lists(st.integers(-6, 10), min_size=m, max_size=m))),
        low,
        high,
    )
