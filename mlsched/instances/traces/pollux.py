"""Pollux: validation curves of six applications at several batch sizes.

Source: github.com/petuum/adaptdl, branch osdi21-artifact, simulator/traces (Apache-2.0); Qiao et al., "Pollux:
Co-adaptive Cluster Scheduling for Goodput-Optimized Deep Learning", OSDI 2021. `<app>/validation-<batch>.csv` has one
row per epoch: `progress` (in steps of the smallest batch), `iteration` (steps done) and `metric`, a score or an error
by application. A score becomes an error here, because a loss has to fall.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from mlsched.core.errors import InvalidFile
from mlsched.instances.traces.curve import Curve, Points, members, parts
from mlsched.instances.traces.source import Text, csv_rows

STEP, METRIC = "iteration", "metric"

BEST_SCORE: Mapping[str, float | None] = {
    "bert": 100.0,  # F1 on SQuAD, %
    "cifar10": 1.0,  # accuracy
    "deepspeech2": None,  # word error rate, %
    "imagenet": 1.0,  # accuracy
    "ncf": 1.0,  # hit rate
    "yolov3": None,  # validation loss
}
"""Application -> the score from which its metric is subtracted to make an error; None: the metric falls as it is.

What the metrics are is inferred from their values and the applications; the files do not say.
"""

_MEMBER = re.compile(r"(.*/)?validation-[0-9]+\.csv")


def read_curves(path: str | os.PathLike[str], *, application: str | None = None) -> Iterator[Curve]:
    """Read the curves in an archive (.tar, .tar.gz) of traces, or in one `validation-<batch>.csv`, in file order.

    Args:
        path: The archive, or one CSV file, plain or gzip.
        application: Application of `BEST_SCORE` that the metric belongs to; None takes the name of the file's folder.

    Yields:
        Curves named "<application>/validation-<batch>", without times: rows do not record the placement.

    Raises:
        InvalidFile: The file is missing, unreadable, without a curve, of an unknown application, or has a bad row.
    """
    for inside, text in members(path, _MEMBER):
        folders = parts(inside)
        app = application or (folders[1] if len(folders) > 1 else "")
        if app not in BEST_SCORE:
            raise InvalidFile(
                f"{text.name}: application {app!r} is unknown; give application= ({', '.join(BEST_SCORE)})"
            )
        with text:
            yield _read_curve(text, f"{app}/{folders[0].partition('.')[0]}", app)


def _read_curve(text: Text, name: str, app: str) -> Curve:
    best = BEST_SCORE[app]
    points = Points(text)
    for step, metric in csv_rows(text, (STEP, METRIC), {}):
        if best is not None:
            score = points.number(METRIC, metric)
            if not 0 <= score <= best:
                text.bad(METRIC, metric, f"expected between 0 and {best:g}, a score of {app}")
            metric = repr(best - score)
        points.add((STEP, step), (METRIC, metric))
    return points.build(name, app)
