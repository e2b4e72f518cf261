"""Which modes and starts of gangs matter to what is asked: the columns of the time-indexed MIP.

Deadlines and accuracies: a job that is *late* adds what it adds after every deadline. Late jobs can always follow, one
by one, when all else is over, so that they need neither time nor room in the model; and whatever adds no more than a
late job of the same kind need not be looked at. Traffic and final accuracies know no time: all jobs are late.
total_jct or makespan alone: no best plan has a job end later than a list schedule's value allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mlsched.core.errors import TooLarge
from mlsched.formulations.taskgraph._columns import Moulded
from mlsched.formulations.taskgraph._gang_schedule import TIMED, latest_ends, list_schedules
from mlsched.formulations.taskgraph._gang_values import Values, share_of

#: Most starts, a binary variable each; at twice as many, writing the model down alone took 15 s.
MOST_STARTS = 20_000


class Start(NamedTuple):
    """A job that starts in a mode (an index of its modes) at a time, None: late; and its share of each objective."""

    job: int
    mode: int
    time: int | None
    shares: tuple[int, ...]


def starts(moulded: Moulded, values: Values, objectives: Sequence[str]) -> list[Start]:
    """The starts among which there is one for each job in a best plan; TooLarge beyond `MOST_STARTS`."""
    share = [share_of(name)[0] for name in objectives]
    signs = [1 if moulded.layout.instance.objective(name).sense == "min" else -1 for name in objectives]
    after = max([moulded.end, *moulded.layout.deadline]) + 1
    may_be_late = not set(TIMED) & set(objectives)
    known = [] if may_be_late else list_schedules(moulded)
    found: list[Start] = []
    for j, (modes, until) in enumerate(zip(moulded.modes, latest_ends(moulded, objectives, known), strict=True)):
        late: list[Start] = []
        if may_be_late:
            for m, mode in enumerate(modes):
                one = Start(j, m, None, tuple(of(values, mode, after) for of in share))
                if not any(_as_good(other.shares, one.shares, signs) for other in late):
                    late = [other for other in late if not _as_good(one.shares, other.shares, signs)] + [one]
        found += late
        for m, mode in enumerate(modes):
            release = moulded.release(mode)
            last = release if mode.column is None else until - mode.duration
            for time in range(release, last + 1):
                shares = tuple(of(values, mode, time) for of in share)
                if any(_as_good(other.shares, shares, signs) for other in late):
                    break  # a later start is no better
                found.append(Start(j, m, time, shares))
            if len(found) > MOST_STARTS:
                raise TooLarge(f"moulded-highs: more than {MOST_STARTS} binary variables: use moulded or cp-sat")
    return found


def _as_good(some: Sequence[int], other: Sequence[int], signs: Sequence[int]) -> bool:
    """Whether shares are nowhere worse than others."""
    return all(sign * a <= sign * b for a, b, sign in zip(some, other, signs, strict=True))
