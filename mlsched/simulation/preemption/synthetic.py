"""The FitGpp paper's synthetic workload: truncated normal jobs, arrivals from a closed loop under FIFO (Section 4.2).

"The jobs were submitted at such a rate that the cluster load would be kept at 2.0 if they were scheduled by FIFO". At
every minute, after releases and before scheduling, jobs are submitted while the mean over the resources of (running +
queued demand) / capacity is below the load. The resulting submission times are fixed and replayed for every policy. The
paper prints its demand distributions only as an image. A calibration is a set of distributions that reproduces its
tables; it does not recover the paper's data.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Literal

import numpy as np

from mlsched.core.arguments import validate_arguments
from mlsched.core.fields import IntArray
from mlsched.core.params import NotNegative, Positive, Range, Share
from mlsched.instances.preemption.demand import (
    BE_MINUTES,
    GRACE_MINUTES,
    NODE,
    RESOURCES,
    TE_MINUTES,
    draw_demand,
    truncated_normal,
)
from mlsched.simulation.preemption.options import Options
from mlsched.simulation.preemption.workload import Workload
from mlsched.simulation.preemption.world import PreemptionWorld

Moments = tuple[tuple[float, float], ...]


@dataclasses.dataclass(frozen=True)
class Calibration:
    """(Mean, standard deviation) per resource of TE and BE demands, before truncation to a node and rounding."""

    te: Moments
    be: Moments
    during_grace: str


#: Z: work continues during the grace period. A: it pauses. Fitted to Table 1 (see docs/problems/preemption.md).
CALIBRATIONS: Mapping[str, Calibration] = {
    "z": Calibration(((4.4, 14.9), (73.5, 21.4), (0.34, 1.36)), ((-1.0, 6.5), (-2.5, 26.6), (2.8, 1.0)), "work"),
    "a": Calibration(((1.0, 2.0), (64.0, 50.0), (2.3, 4.8)), ((8.0, 9.0), (20.0, 38.0), (1.25, 0.4)), "paused"),
}
TICK = 60


@validate_arguments
def synthetic(
    *,
    calibration: Annotated[str, CALIBRATIONS] = "z",
    jobs: Annotated[int, Range(1, 10**7)] = 65536,
    seed: int = 0,
    nodes: Annotated[int, Range(1, 10**5)] = 84,
    te_share: Share = 0.3,
    load: Positive = 2.0,
    grace_scale: NotNegative = 1.0,
    rounding: Literal["last", "first"] = "last",
) -> Workload:
    """Draw the paper's synthetic workload.

    Args:
        calibration: Name of the demand distributions.
        jobs: Number of jobs.
        seed: Seed of the draws.
        nodes: Number of nodes.
        te_share: Share of TE jobs.
        load: Cluster load that the closed loop keeps.
        grace_scale: Factor on mean, deviation and truncation of grace periods (Fig. 7).
        rounding: "last": reject demands outside a node's range, then round. "first": round before the test, so that
            demands down to half a unit below the smallest pass. The paper leaves this open.
    """
    rng = np.random.default_rng([seed, jobs])
    te = np.zeros(jobs, dtype=np.int64)
    te[rng.permutation(jobs)[: round(jobs * te_share)]] = 1
    execution = np.empty(jobs)
    demand = np.empty((jobs, len(RESOURCES)), dtype=np.int64)
    distributions = CALIBRATIONS[calibration]
    for kind, minutes, moments in ((1, TE_MINUTES, distributions.te), (0, BE_MINUTES, distributions.be)):
        rows = np.flatnonzero(te == kind)
        execution[rows] = truncated_normal(rng, *minutes, len(rows)) * 60
        demand[rows] = draw_demand(rng, moments, len(rows), 0.5 if rounding == "first" else 0.0)
    mean, sd, low, high = (grace_scale * x for x in GRACE_MINUTES)
    grace = np.ceil(truncated_normal(rng, mean, sd, low, high, jobs)) * TICK
    draft = Workload(
        resources=RESOURCES,
        node_capacity=np.tile(np.array(NODE), (nodes, 1)),
        submit=np.zeros(jobs, dtype=np.int64),
        te=te,
        execution=np.maximum(np.rint(execution), 1).astype(np.int64),
        demand=demand,
        grace=grace.astype(np.int64),
        source=f"synthetic:{calibration} jobs={jobs} seed={seed} te_share={te_share} load={load} "
        f"grace_scale={grace_scale} rounding={rounding}",
    )
    return draft.replace(submit=closed_loop(draft, load))


class _ClosedLoop(PreemptionWorld):
    """FIFO world whose next job arrives as soon as the load leaves room for it."""

    def __init__(self, workload: Workload, load: float) -> None:
        super().__init__(workload, Options(te_first=False))
        self.submitted = np.zeros(len(workload.submit), dtype=np.int64)
        total = workload.node_capacity.sum(axis=0)
        self._share = (workload.demand / total).mean(axis=1).tolist()
        self._target, self._load = load, 0.0

    def next_event(self) -> int | None:
        # Between completions the load cannot fall, so arrivals cause only the very first scheduling event.
        self._drop_stale_events()
        return self._events[0][0] if self._events else 0

    def _arrive(self) -> None:
        while self._arrived < len(self.submitted) and self._load < self._target:
            self.submitted[self._arrived] = self.now
            self._load += self._share[self._arrived]
            self._enqueue(self._arrived)
            self._arrived += 1

    def _finish(self, job: int, time: int) -> None:
        super()._finish(job, time)
        self._load -= self._share[job]


def closed_loop(workload: Workload, load: float) -> IntArray:
    """Return submission times, s, at which FIFO keeps the load at `load`. FIFO only waits and poses no questions."""
    world = _ClosedLoop(workload, load)
    now = 0
    while world._arrived < len(world.submitted):
        world.advance(now)
        event = world.next_event()
        assert event is not None  # jobs still queue or run while the load is at its target
        now = -(-max(event, now + 1) // TICK) * TICK
    return world.submitted
