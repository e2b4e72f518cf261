"""The Gittins index of a job by the distribution of sizes and what it has had (Tiresias, NSDI 2019, Section 3.3).

A distribution is a sorted array of sizes, of which each is as likely.
"""

from __future__ import annotations

import numpy as np

from mlsched.heuristics.taskgraph.measures import Floats


def index(sizes: Floats, attained: Floats, quantum: Floats) -> Floats:
    """For each job, the chance that it ends within a quantum more, over what it is expected to use of that quantum.

        P(S - a <= D | S > a) / E[min(S - a, D) | S > a]

    a: what it has attained; D: its quantum (may be infinite). 0 where no size is larger than a, as the authors'
    simulator has it.
    """
    total = np.concatenate([[0.0], np.cumsum(sizes)])
    above = np.searchsorted(sizes, attained, side="right")
    within = np.searchsorted(sizes, attained + quantum, side="right")
    ends, left = within - above, len(sizes) - above
    beyond = len(sizes) - within
    used = total[within] - total[above] - ends * attained + np.where(beyond > 0, beyond * np.minimum(quantum, 1e18), 0)
    return np.asarray(np.where(left > 0, ends / np.where(used > 0, used, 1.0), 0.0))
