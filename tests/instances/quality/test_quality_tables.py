"""The tables against the paper's formulas at 50 digits, and the rules of the constructors."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from mlsched.core.errors import InvalidInput
from mlsched.instances.quality.generate import draw_curves
from mlsched.instances.quality.tables import NOISE, Curves, Epoch, from_curves, from_histories, from_predictions


def exact_loss(family: str, p: list[float], k: mpmath.mpf) -> mpmath.mpf:
    """f(k) of 4.2.2 in high precision."""
    a, b, c, d = (mpmath.mpf(v) for v in p)
    return 1 / (a * k * k + b * k + c) + d if family == "sublinear" else a ** (k - b) + c


def rounds_to(exact: mpmath.mpf, made: int, up: bool) -> bool:
    """Whether `made` is floor (or ceil) of `exact`, or the integer next to it within twice the tolerated noise."""
    right = int(mpmath.ceil(exact) if up else mpmath.floor(exact))
    return made == max(0, right) or abs(exact - made) <= 2 * NOISE


@pytest.mark.parametrize("rounding", ["floor", "fluid"])
@pytest.mark.parametrize("seed", range(6))
def test_tables_agree_with_the_paper_in_high_precision(seed, rounding):
    rng = np.random.default_rng(seed)
    curves, halving = draw_curves(rng, 12, 0.5)
    iteration = np.floor(halving * rng.exponential(2, 12))
    work = rng.integers(20, 20_000, 12)
    inst = from_curves(curves, Epoch(30, 3000, rounding), iteration=iteration, work=work)
    with mpmath.workdps(50):
        for j, family in enumerate(curves.families):
            p, k = curves.parameters[j].tolist(), int(iteration[j])
            f = [exact_loss(family, p, mpmath.mpf(i)) for i in range(max(k, 1) + 1)]
            largest = max(a - b for a, b in zip(f, f[1:], strict=False))
            final = mpmath.mpf(p[3] if family == "sublinear" else p[2])
            for cores in range(inst.gain.shape[1]):
                done = mpmath.mpf(cores * 3000) / int(work[j])
                done = mpmath.floor(done) if rounding == "floor" else done
                later = exact_loss(family, p, k + done)
                gain, loss = 10**6 * (f[k] - later) / largest, 10**6 * (later - final) / (f[0] - final)
                assert rounds_to(gain, int(inst.gain[j, cores]), up=False), (j, cores)
                assert rounds_to(loss, int(inst.loss[j, cores]), up=True), (j, cores)


@pytest.mark.parametrize("seed", range(20))
def test_the_largest_change_is_the_largest_of_all(seed):
    rng = np.random.default_rng(seed)
    curves, halving = draw_curves(rng, 30, 0.7)
    iteration = np.floor(halving * rng.exponential(2, 30))
    every = curves.loss_at(np.tile(np.arange(400.0), (30, 1)))
    changes = -np.diff(every, axis=1)
    for j, k in enumerate(iteration.astype(int).tolist()):
        assert curves.largest_change(iteration)[j] == pytest.approx(changes[j, : max(k, 1)].max(), rel=1e-12)


def test_fluid_gains_of_convex_curves_are_concave_up_to_rounding():
    """Exponential curves always; sublinear ones if and only if b^2 >= a c (docs/problems/quality.md)."""
    parameters = np.array([[0.8, 1.0, 0.2, 0.0], [0.01, 0.2, 1.0, 0.1], [1.0, 0.1, 1.0, 0.1]])
    curves = Curves(["superlinear", "sublinear", "sublinear"], parameters)
    inst = from_curves(curves, Epoch(40, 1000, "fluid"), iteration=[0, 0, 0], work=[2000, 2000, 2000])
    bends = np.diff(inst.gain, n=2, axis=1)
    assert (bends[:2] <= 2).all(), "rounding down moves a second difference by at most 2 ppm"
    assert bends[2].max() > 1000
    floored = from_curves(curves, Epoch(40, 1000, "floor"), iteration=[0, 0, 0], work=[2000, 2000, 2000])
    assert (np.diff(floored.gain, n=2, axis=1).max(axis=1) > 1000).all()


def test_whole_iterations_by_hand():
    # Loss 1 - k / 10 until 0; two cores do an iteration of 2 core-seconds in an epoch of 1 s.
    def loss_at(k):
        return np.maximum(0.0, 1 - k / 10)

    options = {"iteration": [3], "work": [2000], "largest_change": [0.1], "first": [1.0], "final": [0.0]}
    floored = from_predictions(loss_at, Epoch(5, 1000), **options)
    fluid = from_predictions(loss_at, Epoch(5, 1000, "fluid"), **options)
    assert floored.gain.tolist() == [[0, 0, 10**6, 10**6, 2 * 10**6, 2 * 10**6]]
    assert floored.loss.tolist() == [[700_000, 700_000, 600_000, 600_000, 500_000, 500_000]]
    assert fluid.gain.tolist() == [[0, 500_000, 10**6, 1_500_000, 2 * 10**6, 2_500_000]]
    assert fluid.loss.tolist() == [[700_000, 650_000, 600_000, 550_000, 500_000, 450_000]]


def test_a_rising_prediction_is_made_monotone_and_never_negative():
    def loss_at(k):
        return np.where(k >= 2, 0.9, np.where(k >= 1, 0.2, 0.5)) + 0 * k

    inst = from_predictions(
        loss_at, Epoch(3, 1000), iteration=[0], work=[1000], largest_change=[1.0], first=[1.0], final=[0.3]
    )
    assert inst.gain.tolist() == [[0, 300_000, 300_000, 300_000]]
    assert inst.loss.tolist() == [[285_715, 0, 0, 0]]


def test_a_job_with_nothing_to_gain_gains_nothing():
    inst = from_predictions(
        lambda k: np.full(k.shape, 0.5),
        Epoch(3, 1000),
        iteration=[4],
        work=[1],
        largest_change=[0.0],
        first=[0.5],
        final=[0.5],
    )
    assert inst.gain.max() == inst.loss.max() == 0


def test_histories_are_predicted():
    k = np.arange(20.0)
    losses = [1 / (0.1 * k + 1) + 0.2, 0.8**k + 0.1, np.array([2.0])]
    inst = from_histories(
        [k, k, np.array([0.0])], losses, ["sublinear", "superlinear", "unknown"], Epoch(12, 2000), work=[1000, 500, 800]
    )
    assert inst.predictor == "weighted fits, floor"
    assert inst.gain.shape == (3, 11)
    ahead = 1e6 * (losses[0][19] - (1 / (0.1 * 39 + 1) + 0.2)) / (losses[0][0] - losses[0][1])
    assert inst.gain[0, 10] == pytest.approx(ahead, rel=0.05), "20 iterations ahead"


REFUSED = [
    (lambda: Epoch(-1, 1000), "cores: -1, expected at least 0"),
    (lambda: Epoch(4, 0), "milliseconds: 0, expected at least 1"),
    (lambda: Epoch(4, 1000, reserved=5), "reserved: 5, expected at most 4"),
    (lambda: Epoch(4, 1000, "ceil"), "rounding: 'ceil', expected one of floor, fluid"),
    (lambda: Curves(["unknown"], np.ones((1, 4))), "families[0]: 'unknown', expected sublinear or superlinear"),
    (lambda: Curves(["sublinear"], np.ones((1, 3))), "parameters: has shape (1, 3), expected (1, 4)"),
    (
        lambda: from_curves(Curves(["sublinear"], np.ones((1, 4))), Epoch(4, 1000), iteration=[0], work=[0]),
        "expected integers >= 1 (core-milliseconds per iteration)",
    ),
    (
        lambda: from_curves(Curves(["sublinear"], np.ones((1, 4))), Epoch(4, 1000), iteration=[0], work=[1.5]),
        "expected integers >= 1 (core-milliseconds per iteration)",
    ),
    (
        lambda: from_predictions(
            lambda k: np.nan * k,
            Epoch(4, 1000),
            iteration=[0],
            work=[5],
            largest_change=[1.0],
            first=[1.0],
            final=[0.0],
        ),
        "gain[0][0]: nan, expected at most 2^53",
    ),
]


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=range(len(REFUSED)))
def test_each_bad_argument_is_refused_by_its_rule(make, message):
    with pytest.raises(InvalidInput) as caught:
        make()
    assert message in str(caught.value)


def test_widths_and_waiting():
    flat = Curves(["superlinear"] * 4, np.tile([0.5, 0.0, 0.0, 0.0], (4, 1)))
    options = {"iteration": [0] * 4, "work": [1000] * 4}
    assert from_curves(flat, Epoch(9, 1000), **options).gain.shape == (4, 7)
    assert from_curves(flat, Epoch(9, 1000, reserved=2), **options).gain.shape == (4, 5)
    assert from_curves(flat, Epoch(9, 1000, width=3), **options, most=[1, 2, 3, 9]).most.tolist() == [1, 2, 3, 3]
    crowded = from_curves(flat, Epoch(3, 1000), **options)
    assert (crowded.waiting.tolist(), crowded.gain.shape) == ([0, 0, 0, 1], (4, 2))
    assert from_curves(flat, Epoch(3, 1000), **options, waiting=[1, 1, 0, 0]).running.tolist() == [2, 3]
