"""Prediction errors on recorded learning curves, beside the stand-in curves.

The stand-ins of Table 1 are drawn from the very families that the predictor fits, so their errors are assumed, not
measured. Recorded curves are of deep networks, which are not in Table 1 and whose training is not convex: the paper
supports such jobs by hints only (Section 7). They are declared sublinear, as first-order optimisers are (4.2.2).
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.instances.traces import algoperf, pollux
from mlsched.instances.traces.curve import Curve
from mlsched_papers.slaq.errors import ErrorRow, prediction_errors
from mlsched_papers.view import Values, ratio_of_means

#: Prefix of a recorded file -> the kinds of curves in it.
LAYOUTS: Mapping[str, Mapping[str, Callable[[str], Iterable[Curve]]]] = {
    "algoperf": {
        "AlgoPerf, training loss": lambda path: algoperf.read_curves(path),
        "AlgoPerf, validation loss": lambda path: algoperf.read_curves(path, split="validation"),
    },
    "pollux": {"Pollux, validation error": pollux.read_curves},
}


@dataclasses.dataclass(frozen=True)
class RecordedErrors:
    """Errors of the predictions on one kind of recorded curves, in percent of the true value.

    Attributes:
        workloads: Name -> one row per curve of that workload, each the mean error and the number of its predictions.
    """

    workloads: Mapping[str, tuple[ErrorRow, ...]]

    def overall(self, method: str) -> Values:
        """Return the mean error over all predictions, as one pseudo-value per workload; method: "fit" or "strawman"."""
        return _mean_over_predictions([list(rows) for rows in self.workloads.values()], method)

    def of(self, workload: str, method: str) -> Values:
        """Return the mean error over the predictions of one workload, as one pseudo-value per curve."""
        return _mean_over_predictions([[row] for row in self.workloads[workload]], method)


def recorded_errors(files: str | None, *, ahead: int) -> dict[str, RecordedErrors]:
    """Return the prediction errors `ahead` observations ahead on the curves of some files.

    files: "LAYOUT:PATH" joined by commas; None: the result is empty.
    """
    result = {}
    for file in (files or "").split(",") if files else ():
        layout, _, path = file.partition(":")
        if layout not in LAYOUTS or not path:
            raise InvalidInput(
                f"trace = {file!r}: for slaq, give files of recorded learning curves as LAYOUT:PATH, joined by commas; "
                f"layouts: {', '.join(LAYOUTS)}"
            )
        for name, read in LAYOUTS[layout].items():
            result[name] = _errors(list(read(path)), ahead)
    return result


def _errors(curves: list[Curve], ahead: int) -> RecordedErrors:
    """Group the errors by workload; `prediction_errors` gets every curve as a workload of its own."""
    names = {str(n): curve for n, curve in enumerate(curves)}
    alone = [dataclasses.replace(curve, workload=n) for n, curve in names.items()]
    groups: dict[str, list[ErrorRow]] = defaultdict(list)
    for row in prediction_errors(alone, family="sublinear", ahead=ahead)[:-1]:
        groups[names[row.workload].workload].append(row)
    return RecordedErrors({name: tuple(rows) for name, rows in sorted(groups.items())})


def _mean_over_predictions(groups: list[list[ErrorRow]], method: str) -> Values:
    """Return 100 x mean error over the predictions of all groups, as one pseudo-value per group."""
    count = np.array([sum(row.predictions for row in rows) for rows in groups], dtype=np.float64)
    total = np.array([sum(row.predictions * getattr(row, method) for row in rows) for rows in groups])
    return 100 * ratio_of_means(total, count)
