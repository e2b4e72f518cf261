"""What tests of quality over many epochs share: small horizons, and what a run's log says of a horizon's objectives."""

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from mlsched.core.fields import UNLIMITED, ints
from mlsched.instances.quality import Horizon
from mlsched.simulation.quality.rollout import NANO_PER_PPM


@st.composite
def horizons(draw, *, jobs=4, cores=4, iterations=3):
    """Plateaus, sudden falls, waiting jobs, caps, weights; an epoch does from a fraction of an iteration to many."""
    count = draw(st.integers(0, jobs))

    def column(*entries):
        return ints(draw(st.lists(st.sampled_from(entries), min_size=count, max_size=count)))

    falls = draw(
        st.lists(st.sampled_from([0, 0, 1, 2, 5, 50]), min_size=count * iterations, max_size=count * iterations)
    )
    falling = np.cumsum(np.array(falls, dtype=np.int64).reshape(count, iterations), axis=1)
    loss = 50 * iterations - np.hstack([np.zeros((count, 1), dtype=np.int64), falling])
    steps = column(*range(1, iterations + 1))
    least = draw(st.sampled_from([1, 1, 2]))
    return Horizon(
        cores=draw(st.integers(least, cores)),
        epoch=draw(st.sampled_from([1, 3])),
        submit=np.sort(column(0, 0, 1, 3, 5, 9)),
        work=column(700, 1000, 3000, 5000),
        iterations=steps,
        goal=ints(draw(st.integers(1, int(k))) for k in steps),
        loss=loss.reshape(count, iterations + 1),
        family=column(0, 1, 2),
        weight=column(1, 1, 0, 3),
        most=column(2, 3, UNLIMITED),
        least=least,
        information=draw(st.sampled_from(["oracle", "observed"])),
        normalise=draw(st.sampled_from(["change", "range"])),
    )


def values_of(horizon, log):
    """Objectives of a run from its log alone: losses as the world reported them, goals from the work it credited."""
    rows = sorted(log.rows, key=lambda row: (row[1], row[0]))
    last = {}
    ends = {job: max(row[2] for row in rows if row[0] == job) for job in range(len(horizon.submit))}
    total = worst = goals = 0
    for start in range(0, max(ends.values(), default=0), horizon.epoch):
        there = [j for j, end in ends.items() if horizon.submit[j] <= start < end]
        losses = [int(horizon.weight[j]) * last.get(j, int(horizon.loss[j, 0]) * NANO_PER_PPM) for j in there]
        total, worst = total + sum(losses), worst + max(losses, default=0)
        last |= {row[0]: row[5] for row in rows if row[1] == start}
    for job in ends:
        needed, before = int(horizon.goal[job]) * int(horizon.work[job]), 0
        for _, start, _, cores, served, _ in (row for row in rows if row[0] == job):
            if before < needed <= served:
                goals += horizon.weight[job] * (1000 * (start - horizon.submit[job]) - (before - needed) // cores)
            before = served
    return Fraction(total, NANO_PER_PPM), Fraction(worst, NANO_PER_PPM), int(goals)
