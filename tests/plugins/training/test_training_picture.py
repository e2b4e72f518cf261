"""The picture of a training says which weights are kept, and can be read where it is long and noisy."""

from __future__ import annotations

import numpy as np

from mlsched_training.picture import training_picture

SCORES = {"best_iteration": 20, "validation": 5.0, "untrained_validation": 9.0}


def test_panels_marks_and_whole_iterations():
    noise = np.random.default_rng(0).normal(size=100)
    curve = [{"iteration": k + 1, "reward": float(noise[k])} for k in range(100)]
    for k in range(9, 100, 10):
        curve[k] |= {"validation": 5.0 + abs(k + 1 - 20) / 10, "validation_reward": 1.0}
    made = training_picture("chic", curve, SCORES)
    made.draw_without_rendering()
    score, reward = [ax for ax in made.axes if ax.get_visible()]
    assert score.get_title() == "validation score (less is better)"
    assert "kept: 5, iteration 20" in {text.get_text() for text in score.get_legend().get_texts()}
    assert [line.get_ydata()[0] for line in score.lines if line.get_linestyle() == "--"] == [9.0]
    raw, mean = reward.lines
    assert np.ptp(mean.get_ydata()[20:]) < np.ptp(raw.get_ydata()), "the mean is calmer than what it is of"
    assert np.isclose(mean.get_ydata()[-1], noise[-10:].mean())
    assert all(float(tick).is_integer() for ax in (score, reward) for tick in ax.get_xticks())
