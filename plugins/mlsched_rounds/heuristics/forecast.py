"""How long a job that changes its batch size will take: Shockwave's estimate (Zheng et al., NSDI 2023).

A job's user says which batch sizes (regimes) it may have, and a profile says how long an epoch takes in each; which
epoch has which is learnt as the job goes on. A Dirichlet distribution over the regimes begins with the same weight for
each, E epochs in all, and gains one for each epoch that was seen; its mean says how the remaining epochs are spread.

From the authors' program (uw-mad-dash/shockwave, `scheduler/JobMetaData.py`: `dirichlet_posterior_remaining_runtime`,
`calibrate_profiled_epoch_duration`): what it does is done here, also where that is odd. The profile's durations are
rounded to whole seconds. They are stretched where the samples done since the start of the run differ by more than two
fifths from those that the profile has for that time - as if the job had run all the time.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Sequence

import numpy as np

#: By how much samples may differ from the profile's before its durations are stretched.
TOLERATED = 0.4


class Forecast:
    """One job. regimes: of its epochs; seconds: of its epochs, as profiled; samples: of an epoch."""

    def __init__(self, regimes: Sequence[int], seconds: Sequence[float], samples: float) -> None:
        self.samples, self.epochs = samples, len(regimes)
        self.profiled = np.array([max(1.0, float(round(one))) for one in seconds])
        self.seconds = self.profiled
        self.done = 0  # epochs
        self._regimes = np.array(regimes, dtype=np.int64)
        self._of = {one: np.flatnonzero(self._regimes == one) for one in sorted(set(regimes))}
        # Seconds and samples of the first so many epochs, added up one after another.
        self._until = [0.0, *itertools.accumulate(self.profiled.tolist())]
        self._samples = [0.0, *itertools.accumulate(itertools.repeat(samples, self.epochs))]

    def epoch(self) -> float:
        """Seconds of an epoch: the mean of those so far, with the one that the job is in."""
        return float(np.mean(self.seconds[: self.done + 1]))

    def past(self) -> float:
        """Seconds of the epochs that are over."""
        return float(sum(self.seconds[: self.done].tolist()))

    def remaining(self) -> float:
        """Seconds that the job has still to run, as expected."""
        left = self.epochs - self.done
        if left <= 0:
            return 1.0
        first = self.epochs / len(self._of)
        seen = {one: int(epochs.searchsorted(self.done + 1)) for one, epochs in self._of.items()}
        total = sum(itertools.repeat(first, len(self._of))) + sum(seen.values())
        spread = {one: self.epochs * (first + count) / total for one, count in seen.items()}
        for one, count in seen.items():  # each epoch that was seen counts one off, as long as there is one
            spread[one] -= min(count, math.floor(spread[one]))
        inflated = max(int(sum(spread.values()) + 1), left)
        expected = sum(epochs * float(np.mean(self.seconds[self._of[one]])) for one, epochs in spread.items())
        return expected * left / inflated

    def calibrate(self, measured: float, until: float) -> None:
        """Segment the profile where the job has done `measured` samples within the first `until` seconds of the run."""
        over = bisect_right(self._until, until) - 1  # epochs
        expected, time = self._samples[over], self._until[over]
        if until > time:
            expected += self.samples * (until - time) / float(self.seconds[min(over, self.epochs - 1)])
        if measured > 0 and expected > 0 and abs(measured - expected) / expected > TOLERATED:
            self.seconds = self.profiled * expected / measured
