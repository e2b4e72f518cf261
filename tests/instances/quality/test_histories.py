"""Presets of Table 1, and histories made from them and from records."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlsched.core.errors import InvalidInput, UnknownName
from mlsched.instances.quality.histories import recorded, synthetic, synthetic_mix
from mlsched.instances.quality.table1 import TABLE_1, algorithm
from mlsched.instances.traces.curve import Curve

FAMILIES = {row.acronym: row.family for row in TABLE_1}


def test_table_1_is_the_papers() -> None:
    assert [row.acronym for row in TABLE_1] == [
        "K-Means",
        "LogReg",
        "SVM",
        "SVMPoly",
        "GBT",
        "GBTReg",
        "MLPC",
        "LDA",
        "LinReg",
    ]
    assert {row.acronym for row in TABLE_1 if row.optimiser == "L-BFGS"} == {"MLPC", "LinReg"}
    assert algorithm("SVM").dataset == "Epsilon"
    with pytest.raises(UnknownName, match="'CNN' is not in Table 1; it has K-Means, LogReg"):
        algorithm("CNN")


@pytest.mark.parametrize("row", TABLE_1, ids=lambda row: row.acronym)
def test_presets_fall_from_initial_towards_final(row) -> None:
    losses = row.losses(np.arange(101.0))
    assert losses[0] == row.initial
    assert (np.diff(losses) <= 0).all()
    assert row.losses(np.array([row.half_life])) == pytest.approx((row.initial + row.final) / 2)
    assert (losses[-1] - row.final) / (row.initial - row.final) < 0.07, "close to converged at iteration 100 (6.2.1)"
    assert row.losses(np.array([1e300])) == pytest.approx(row.final, abs=1e-9)


@given(seed=st.integers(0, 2**32 - 1), row=st.sampled_from(TABLE_1), noise=st.floats(0, 0.2))
def test_histories(seed: int, row, noise: float) -> None:
    history = synthetic(row, np.random.default_rng(seed), noise=noise)
    again = synthetic(row, np.random.default_rng(seed), noise=noise)
    assert history.losses.tolist() == again.losses.tolist(), "same seed, same history"
    assert np.isfinite(history.losses).all()
    assert history.core_seconds > 0
    steps, losses = history.until(7.5)
    assert (steps.tolist(), losses.tolist()) == (list(range(8)), history.losses[:8].tolist())
    assert len(history.until(-1)[0]) == 1
    assert history.at([3, 3.5, 1e9]).tolist() == pytest.approx(
        [history.losses[3], history.losses[3:5].mean(), history.losses[-1]]
    )


def test_recorded_curves() -> None:
    curve = Curve("r", "w", np.array([1.0, 3.0, 5.0]), np.array([8.0, 4.0, 2.0]))
    assert recorded(curve).steps.tolist() == [1, 3, 5]
    resampled = recorded(curve, iterations=4, core_seconds=2.5)
    assert resampled.steps.tolist() == [0, 1, 2, 3, 4]
    assert resampled.losses.tolist() == [8, 6, 4, 3, 2]
    assert (resampled.workload, resampled.family, resampled.core_seconds) == ("w", "sublinear", 2.5)
    with pytest.raises(InvalidInput, match="iterations: 0"):
        recorded(curve, iterations=0)


def test_a_mix_is_of_all_algorithms() -> None:
    mix = synthetic_mix(200, np.random.default_rng(0), iterations=5)
    assert {history.workload for history in mix} == set(FAMILIES)
