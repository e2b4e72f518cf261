"""Errors of predicted losses: weighted curve fitting against the strawman.

Paper: SLAQ (Zhang et al., SoCC 2017), Figures 6 and 10(a): the error relative to the true value, ten iterations ahead.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import FloatArray
from mlsched.core.losses.curves import Family
from mlsched.core.losses.predict import Predictor, strawman
from mlsched.core.losses.window import Window


class Run(Protocol):
    """A run with a workload and its losses: `traces.curve.Curve`, `quality.histories.History`."""

    @property
    def workload(self) -> str:
        """Return the trained workload."""

    @property
    def steps(self) -> FloatArray:
        """Return the iterations, shape (n,)."""

    @property
    def losses(self) -> FloatArray:
        """Return the losses at those iterations, shape (n,)."""


@dataclass(frozen=True)
class ErrorRow:
    """Prediction errors of one workload, each |predicted - true| / |true|; 0.05 is 5 %.

    Attributes:
        workload: its name, or "all": every prediction counts once.
        curves: runs that were long enough.
        predictions: number of (run, moment) pairs behind the errors.
        fit, strawman: the mean error of the weighted fit, and of the last reduction repeated.
        fit_median, strawman_median: the median error.
    """

    workload: str
    curves: int
    predictions: int
    fit: float
    strawman: float
    fit_median: float
    strawman_median: float


def prediction_errors(
    runs: Iterable[Run],
    *,
    predictor: Predictor | None = None,
    family: Family = "unknown",
    families: dict[str, Family] | None = None,
    ahead: int = 10,
    history: int = 5,
) -> list[ErrorRow]:
    """Return the error `ahead` observations ahead, a row per workload in order of name and a last row "all".

    At every moment of every run with at least `history` observations before it and `ahead` after it, the loss `ahead`
    observations later is predicted from the past. A run too short for one prediction is left out. So is a true value of
    0, which lacks a relative error. The strawman, too, uses that losses are not negative.

    Args:
        runs: learning curves.
        predictor: None: the default one.
        family: the runs' family, unless `families` (by workload) has it.
        families: workload -> family.
        ahead, history: see above.

    Raises:
        InvalidInput: all runs are too short.
    """
    usable = [run for run in runs if len(run.losses) >= history + ahead]
    moments = [(run, n) for run in usable for n in range(history, len(run.losses) - ahead + 1)]
    moments = [(run, n) for run, n in moments if run.losses[n + ahead - 1] != 0]
    if not moments:
        raise InvalidInput(
            f"every run has fewer than {history} + {ahead} observations; give longer runs, or a smaller ahead"
        )
    declarations = [(families or {}).get(run.workload, family) for run, _ in moments]
    choice = predictor or Predictor()
    window = Window.pack([run.steps[:n] for run, n in moments], [run.losses[:n] for run, n in moments], choice.window)
    when = np.array([run.steps[n + ahead - 1] for run, n in moments])
    true = np.array([run.losses[n + ahead - 1] for run, n in moments])
    predicted = (
        choice.fit_window(window, declarations).loss_at(when),
        strawman(window, when, nonnegative=choice.nonnegative),
    )
    error = np.abs(np.array(predicted) - true) / np.abs(true)
    names = np.array([run.workload for run, _ in moments])
    rows = [
        _row(name, {id(run) for run, _ in moments if run.workload == name}, error[:, names == name])
        for name in sorted(set(names.tolist()))
    ]
    return [*rows, _row("all", {id(run) for run, _ in moments}, error)]


def _row(name: str, curves: set[int], error: FloatArray) -> ErrorRow:
    mean, middle = error.mean(axis=1), np.median(error, axis=1)
    return ErrorRow(
        name, len(curves), error.shape[1], float(mean[0]), float(mean[1]), float(middle[0]), float(middle[1])
    )
