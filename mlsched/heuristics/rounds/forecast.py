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

from collections import Counter
from collections.abc import Sequence

import numpy as np

#: By how much samples may differ from the profile's before its durations are stretched.
TOLERATED = 0.4


class Forecast:
    """One job. regimes: of its epochs; seconds: of its epochs, as profiled; samples: of an epoch."""

    def __init__(self, regimes: Sequence[int], seconds: Sequence[float], samples: float) -> None:
        self.regimes, self.samples, self.epochs = list(regimes), samples, len(regimes)
        self.profiled = [max(1.0, float(round(one))) for one in seconds]
        self.seconds = list(self.profiled)
        self.done = 0  # epochs
        self._first = Counter(self.regimes)
        self._first = Counter(dict.fromkeys(sorted(self._first), self.epochs / len(self._first)))

    def epoch(self) -> float:
        """Seconds of an epoch: the mean of those so far, with the one that the job is in."""
        return float(np.mean(self.seconds[: self.done + 1]))

    def past(self) -> float:
        """Seconds of the epochs that are over."""
        return sum(self.seconds[: self.done])

    def remaining(self) -> float:
        """Seconds that the job has still to run, as expected."""
        left = self.epochs - self.done
        if left <= 0:
            return 1.0
        seen = Counter(self.regimes[: self.done + 1])
        total = sum(self._first.values()) + seen.total()
        spread = {one: self.epochs * (weight + seen[one]) / total for one, weight in self._first.items()}
        for one in self.regimes[: self.done + 1]:
            spread[one] -= spread[one] >= 1
        inflated = max(int(sum(spread.values()) + 1), left)
        mean = {
            one: float(np.mean([s for r, s in zip(self.regimes, self.seconds, strict=True) if r == one]))
            for one in spread
        }
        return sum(epochs * mean[one] for one, epochs in spread.items()) * left / inflated

    def calibrate(self, measured: float, until: float) -> None:
        """Stretch the profile where the job has done `measured` samples within the first `until` seconds of the run."""
        expected, time, at = 0.0, 0.0, 0
        for at, one in enumerate(self.profiled):  # noqa: B007 - the epoch that does not fit is needed below
            if time + one > until:
                break
            time, expected = time + one, expected + self.samples
        if until > time:
            expected += self.samples * (until - time) / self.seconds[at]
        if measured > 0 and expected > 0 and abs(measured - expected) / expected > TOLERATED:
            self.seconds = [one * expected / measured for one in self.profiled]
