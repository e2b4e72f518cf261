"""OptStop: on curves whose end is known, and the secretary rule by hand."""

from __future__ import annotations

import numpy as np
import pytest
from mlf_examples import snapshot

from mlsched.heuristics.taskgraph import _mlf_stop
from mlsched.heuristics.taskgraph._mlf_stop import by_curves, by_secretary, may_ask


def seen(losses, most=200, **columns):
    """A job that has reported these losses, after 0, 1, ... iterations."""
    rows = [(0, i, round(10**6 * loss)) for i, loss in enumerate(losses)]
    job = {"finished": len(losses) - 1, "max_iterations": most} | columns
    return snapshot(5, [(job, [((1,), {"node": 0})])], nodes=[(1,)], losses=rows)


def stops(losses, give_up=False, **columns):
    return bool(by_curves(seen(losses, **columns), np.array([0]), give_up)[0])


@pytest.mark.parametrize(
    "curve",
    [
        lambda k: 0.2 + 0.8 * np.exp(-k / 8),
        lambda k: 0.1 + 0.9 / (1 + 0.5 * k) ** 2,
        lambda k: 0.3 + 0.7 * np.exp(-np.sqrt(k)),
    ],
)
def test_it_stops_soon_after_all_but_a_hundredth_is_learnt_and_not_before(curve):
    k = np.arange(61)
    loss = curve(k)
    enough = int(np.argmax(loss - curve(200.0) <= 0.01 * (1 - curve(200.0))))
    said = next(n for n in range(6, 61) if stops(loss[: n + 1]))
    assert enough <= said <= enough + 3


def test_a_line_does_not_end():
    assert not any(stops(1 - 0.004 * np.arange(n)) for n in (6, 60))


def test_unsure_it_waits(monkeypatch):
    """Of a loss that only falls on average nothing is said after ten reports; the same, sure to 1 %, stops."""
    noisy = 0.5 + 0.5 * np.exp(-np.arange(10) / 2) + 0.1 * (-1.0) ** np.arange(10)
    assert not stops(noisy)
    monkeypatch.setattr(_mlf_stop, "CONFIDENCE", 0.001)
    assert stops(noisy)


def test_it_gives_up_only_where_told_to():
    """The loss goes to .6, and accuracy so far to 36 of the 40 % that all of it will bring; 90 % are required."""
    loss = 0.6 + 0.4 * np.exp(-np.arange(20) / 8)
    given = {"accuracy_seen": 360_000, "required": 900_000}
    assert not stops(loss, **given)
    assert stops(loss, give_up=True, **given)
    assert not stops(loss, give_up=True, **given | {"required": 380_000})


def test_six_losses_are_the_least():
    assert may_ask(seen([1, 0.9, 0.8, 0.7, 0.6])).tolist() == [False]
    assert may_ask(seen([1, 0.9, 0.8, 0.7, 0.6, 0.5])).tolist() == [True]


def test_the_secretary_watches_a_third_after_the_first_rise():
    """The loss rises after 2; of the 18 iterations left of 20, ceil(18/e) = 7 are watched: up to 9. The first no higher
    than all since the rise is that of 11.
    """
    losses = [10, 8, 9, 7, 6, 6.5, 6.5, 7, 7, 6.2, 6.1, 5.9]
    for count in range(1, 12):
        assert not by_secretary(seen([x / 10 for x in losses[:count]], most=20), np.array([0]))[0]
    assert by_secretary(seen([x / 10 for x in losses], most=20), np.array([0]))[0]
    assert not by_secretary(seen(np.linspace(1, 0.1, 15), most=20), np.array([0]))[0]
