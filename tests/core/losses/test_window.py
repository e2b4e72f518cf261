"""Packing ragged histories."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlsched.core.errors import InvalidInput
from mlsched.core.losses.window import Window


@given(st.lists(st.lists(st.integers(-99, 99), min_size=1, max_size=9), max_size=5), st.integers(1, 6))
def test_pack_keeps_the_latest(losses: list[list[int]], length: int) -> None:
    window = Window.pack([range(len(h)) for h in losses], losses, length)
    assert len(window) == len(losses)
    for j, history in enumerate(losses):
        kept = history[-length:]
        assert window.losses[window.observed[:, j], j].tolist() == kept
        assert (window.losses[~window.observed[:, j], j] == kept[0]).all()
        assert (window.lengths[j], window.last_loss[j], window.last_iteration[j]) == (
            len(kept),
            history[-1],
            len(history) - 1,
        )


def test_part_of_a_window() -> None:
    window = Window.pack([[0, 1, 2], [5, 6]], [[9, 8, 7], [4, 3]], 3)
    assert window.take(np.array([1])).last_loss.tolist() == [3]


BAD = {
    "nan": ([[0, 1]], [[1, np.nan]], r"losses\[0\]: nan, expected finite"),
    "infinite": ([[0], [0]], [[1], [np.inf]], r"losses\[1\]: inf, expected finite"),
    "huge": ([[0]], [[-1e301]], r"losses\[0\]: -1e\+301, expected finite and at most 1e300"),
    "nan iteration": ([[np.nan]], [[1]], r"iterations\[0\]: nan"),
    "repeated": ([[0], [1, 1]], [[1], [2, 3]], r"iterations\[1\]: does not increase: .*; drop repeated rows"),
    "empty": ([[]], [[]], r"losses\[0\]: has shape \(0,\) .* at least one number"),
    "lengths": ([[0, 1]], [[1]], r"losses\[0\]: has shape \(1,\) beside iterations of shape \(2,\)"),
    "nested": ([[[0]]], [[[1]]], r"losses\[0\]: has shape \(1, 1\)"),
    "jobs": ([[0], [1]], [[1]], "losses: has 1 histories, expected 2"),
}


@pytest.mark.parametrize(("iterations", "losses", "rule"), BAD.values(), ids=BAD)
def test_bad_histories(iterations: list[list[float]], losses: list[list[float]], rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule) as caught:
        Window.pack(iterations, losses)
    assert "\n" not in str(caught.value)


def test_window_of_nothing() -> None:
    with pytest.raises(InvalidInput, match="window: 0, expected at least 1"):
        Window.pack([[0]], [[0]], 0)
    assert len(Window.pack([], [])) == 0
