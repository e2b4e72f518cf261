"""Predictions from the losses that jobs have reported: the loss after further iterations.

The fits are SLAQ's (Zhang et al., SoCC 2017, Section 4.2.2; `core.losses.predict`), and so are Optimus' in form. They
take time, so rules compute them once per epoch and remember them.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.core.losses.predict import Forecast, Predictor
from mlsched.core.losses.window import Window
from mlsched.instances.taskgraph import Snapshot
from mlsched.instances.taskgraph.columns import FULL_ACCURACY

#: Fewest losses to which a curve is fitted, and the most (the latest).
LEAST, MOST = 3, 32


def forecast(snapshot: Snapshot) -> tuple[IntArray, Window, Forecast] | None:
    """Return (the jobs with enough losses, these losses as shares of the untrained model's, the fitted curves).

    None without such a job, as in runs of logs.
    """
    counts = np.bincount(snapshot.sample_job, minlength=len(snapshot.arrival))
    ends = np.cumsum(counts)
    jobs = np.flatnonzero(counts >= LEAST)
    if not jobs.size:
        return None
    lengths = np.minimum(counts[jobs], MOST)
    height = int(lengths.max())
    row = np.maximum(np.arange(height)[:, None] - (height - lengths), 0) + (ends[jobs] - lengths)
    window = Window(
        snapshot.sample_iteration[row].astype(np.float64), snapshot.sample_loss[row] / FULL_ACCURACY, lengths
    )
    return jobs, window, Predictor(window=MOST).fit_window(window, ["unknown"] * len(jobs))
