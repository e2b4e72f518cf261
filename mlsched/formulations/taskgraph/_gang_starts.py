"""Modes and starts of gangs that matter to the objectives: the columns of the time-indexed MIP.

Deadlines and accuracies: a *late* job contributes the same after every deadline. Late jobs can always follow, one by
one, at the end, so they need neither time nor room in the model. A start that is not better than a late job of the
same kind is skipped. Traffic and final accuracies do not depend on time: all jobs are late. total_jct or makespan
only: in a best plan, jobs end at the latest as a list schedule's value allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mlsched.core.errors import TooLarge
from mlsched.formulations.taskgraph._columns import Moulded
from mlsched.formulations.taskgraph._gang_schedule import TIMED, latest_ends, list_schedules
from mlsched.formulations.taskgraph._gang_values import Values, share_of

#: Most starts, a binary variable each; at twice as many, writing the model took 15 s.
MOST_STARTS = 20_000


class Start(NamedTuple):
    """A job that starts in a mode (an index of its modes) at a time, None: late; and its share of each objective."""

    job: int
    mode: int
    time: int | None
    shares: tuple[int, ...]


def starts(moulded: Moulded, values: Values, objectives: Sequence[str]) -> list[Start]:
    """Return starts that include, for each job, its start in a best plan; TooLarge beyond `MOST_STARTS`."""
    share = [share_of(name)[0] for name in objectives]
    signs = [1 if moulded.layout.instance.objective(name).sense == "min" else -1 for name in objectives]
    after = max([moulded.end, *moulded.layout.deadline]) + 1
    may_be_late = not set(TIMED) & set(objectives)
    present = [] if may_be_late else list_schedules(moulded)
    result: list[Start] = []
    for j, (modes, until) in enumerate(zip(moulded.modes, latest_ends(moulded, objectives, present), strict=True)):
        late: list[Start] = []
        if may_be_late:
            for m, mode in enumerate(modes):
                one = Start(j, m, None, tuple(of(values, mode, after) for of in share))
                if not any(_nowhere_worse(other.shares, one.shares, signs) for other in late):
                    late = [other for other in late if not _nowhere_worse(one.shares, other.shares, signs)] + [one]
        result += late
        for m, mode in enumerate(modes):
            release = moulded.release(mode)
            last = release if mode.column is None else until - mode.duration
            for time in range(release, last + 1):
                shares = tuple(of(values, mode, time) for of in share)
                if any(_nowhere_worse(other.shares, shares, signs) for other in late):
                    break  # a later start is not better
                result.append(Start(j, m, time, shares))
            if len(result) > MOST_STARTS:
                raise TooLarge(f"moulded-highs: more than {MOST_STARTS} binary variables: use moulded or cp-sat")
    return result


def _nowhere_worse(some: Sequence[int], other: Sequence[int], signs: Sequence[int]) -> bool:
    """Return if shares are nowhere worse than others."""
    return all(sign * a <= sign * b for a, b, sign in zip(some, other, signs, strict=True))
