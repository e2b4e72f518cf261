"""Running times of jobs that change their batch size: Shockwave's estimate (Zheng et al., NSDI 2023).

The user of a job lists its possible batch sizes (regimes), and a profile gives the duration of an epoch in each. The
regime of each epoch is learnt as the job proceeds. A Dirichlet distribution over the regimes begins with equal weights
that sum to E epochs, and gains one for each observed epoch. Its mean spreads the remaining epochs over the regimes.

From the authors' program (uw-mad-dash/shockwave, `scheduler/JobMetaData.py`: `dirichlet_posterior_remaining_runtime`,
`calibrate_profiled_epoch_duration`). Its behaviour is kept, odd parts included. The profile's durations are rounded to
full seconds. They are stretched if the samples since the start of the run differ from the profile by more than two
fifths. The profile counts as if the job had run all the time.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Sequence

import numpy as np

#: Relative difference between samples and profile above which durations are stretched.
TOLERATED = 0.4


class Forecast:
    """Forecast of one job.

    Attributes:
        regimes: Regime of each epoch.
        seconds: Profiled duration of each epoch.
        samples: Samples of an epoch.
    """

    def __init__(self, regimes: Sequence[int], seconds: Sequence[float], samples: float) -> None:
        self.samples, self.epochs = samples, len(regimes)
        self.profiled = np.array([max(1.0, float(round(one))) for one in seconds])
        self.seconds = self.profiled
        self.done = 0  # epochs
        self._regimes = np.array(regimes, dtype=np.int64)
        self._of = {one: np.flatnonzero(self._regimes == one) for one in sorted(set(regimes))}
        # Seconds and samples of the first n epochs, added up in order.
        self._until = [0.0, *itertools.accumulate(self.profiled.tolist())]
        self._samples = [0.0, *itertools.accumulate(itertools.repeat(samples, self.epochs))]

    def epoch(self) -> float:
        """Return the mean seconds of an epoch, over the epochs so far and the current one."""
        return float(np.mean(self.seconds[: self.done + 1]))

    def past(self) -> float:
        """Return the seconds of the completed epochs."""
        return float(sum(self.seconds[: self.done].tolist()))

    def remaining(self) -> float:
        """Return the expected seconds that the job has still to run."""
        rest = self.epochs - self.done
        if rest <= 0:
            return 1.0
        first = self.epochs / len(self._of)
        history = {one: int(epochs.searchsorted(self.done + 1)) for one, epochs in self._of.items()}
        total = sum(itertools.repeat(first, len(self._of))) + sum(history.values())
        spread = {one: self.epochs * (first + count) / total for one, count in history.items()}
        for one, count in history.items():  # each observed epoch counts one off, as long as there is one
            spread[one] -= min(count, math.floor(spread[one]))
        inflated = max(int(sum(spread.values()) + 1), rest)
        target = sum(epochs * float(np.mean(self.seconds[self._of[one]])) for one, epochs in spread.items())
        return target * rest / inflated

    def calibrate(self, measured: float, until: float) -> None:
        """Segment the profile if the job has done `measured` samples within the first `until` seconds of the run."""
        over = bisect_right(self._until, until) - 1  # epochs
        target, time = self._samples[over], self._until[over]
        if until > time:
            target += self.samples * (until - time) / float(self.seconds[min(over, self.epochs - 1)])
        if measured > 0 and target > 0 and abs(measured - target) / target > TOLERATED:
            self.seconds = self.profiled * target / measured
