"""Best schedule by ranks with pauses: several powers, then changes of single ranks.

A move changes the ranks of a waiting job and of a few jobs present during its wait, mostly large and long ones. The
complete log is run again, and the change is kept if the weighted sum of completion times does not rise. On 730 small
horizons that were not used to develop it, brute force has no better schedule on 659 without moves, on 691 after 20 and
on 698 after 60 moves. The mean distance falls from 1.5 to .8 and .6 %. On 2,000 jobs, for which the powers are already
within half a percent of the bound, 50 moves gain .01 to .04 points.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mlsched.core.fields import FloatArray, IntArray
from mlsched.simulation.taskgraph.iterations.reference.by_rank import ByRank
from mlsched.simulation.taskgraph.iterations.reference.question import Question

#: Powers of a job's share in its rank; fixed on Philly (2,000 jobs on 256, 320 and 400 GPUs).
POWERS = (2.5, 1.0, 1.7, 2.0, 3.0)
#: Most jobs whose ranks a move changes, and the spread of the changes (standard deviation of the logarithm).
MOST_JOBS, SPREAD = 9, 0.8
Told = Callable[[str, int, int], bool]  # (stage, moves made, value) -> whether to stop now
Kept = Callable[[ByRank, int], None]  # (a schedule better than all before, number of steps made)


def search(asked: Question, moves: int, seed: int, told: Told, kept: Kept) -> int:
    """Search schedules by ranks, and call `kept` with each new best schedule.

    Each power of the ranks is one step; then each move is one step. Returns the number of steps.
    """
    even = np.ones(len(asked.release))
    best: tuple[int, float, ByRank] | None = None
    for steps, power in enumerate(POWERS, start=1):
        schedule = ByRank(asked, power, even)
        value = schedule.value()
        if best is None or value < best[0]:
            best = value, power, schedule
            kept(schedule, steps)
        if told(f"ranks of power {power:g}", steps, best[0]):
            return steps
    assert best is not None, "POWERS has an entry"
    value, power, schedule = best
    factor, rng = even, np.random.default_rng([seed, len(even)])
    for steps in range(len(POWERS) + 1, len(POWERS) + moves + 1):
        waits = asked.weight * (schedule.completion - asked.release - asked.length)
        if not (waits > 0).any():
            return len(POWERS) + moves  # without waiting jobs the schedule is optimal
        changed = _changed_trace(asked, schedule, factor, waits, rng)
        other = ByRank(asked, power, changed)
        if (total := other.value()) <= value:
            factor, schedule = changed, other
            if total < value:
                value = total
                kept(schedule, steps)
        if told("changes of ranks", steps, value):
            return steps
    return len(POWERS) + moves


def _changed_trace(
    requests: Question, schedule: ByRank, factor: FloatArray, waits: IntArray, rng: np.random.Generator
) -> FloatArray:
    """Return changed factors for a waiting job and some jobs present during its wait."""
    waiting = np.flatnonzero(waits > 0)
    first = int(rng.choice(waiting, p=waits[waiting] / waits[waiting].sum()))
    there = (requests.release < schedule.completion[first]) & (schedule.completion > requests.release[first])
    near = np.flatnonzero(there)
    area = np.maximum(requests.length[near] * schedule.need[near].max(axis=1, initial=0), 1).astype(np.float64)
    many = min(int(rng.integers(1, MOST_JOBS)), len(near))
    selection = np.append(rng.choice(near, many, replace=False, p=area / area.sum()), first)
    changed = factor.copy()
    changed[selection] *= np.exp(rng.normal(0, SPREAD, len(selection)))
    return changed
