"""Rounds from the fractional optimum, as Gavel makes them (Narayanan et al., OSDI 2020, Section 5): the job and type of
the largest share come first, and whatever fits is taken.

The shares are those of the round's own relaxation (`solvers/rounds/relaxation.py`). Gavel divides shares by the time
that was had; here what was had is in the objective. GPUs that are left go to jobs in the order of their age.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from mlsched.core.registry import solver
from mlsched_rounds.instances import Instance, Plan
from mlsched_rounds.instances.room import Room
from mlsched_rounds.solvers.relaxation import fractional


@solver("lp-rounding", problem="rounds", paper="Gavel, Section 5")
def answer(
    instance: Instance,
    *,
    rng: np.random.Generator,
    by: Literal["goodput_cost", "total_steps", "least_served", "worst_ratio", "last_end"] = "goodput_cost",
) -> Plan:
    """The largest shares of the fractional optimum first, whatever fits; then whatever else fits, by age."""
    room = Room(instance)
    shares = fractional(instance, by).shares
    jobs, configs = np.nonzero(shares > 1e-9)
    order = np.argsort(-shares[jobs, configs], kind="stable")
    room.take_in_order(jobs[order], configs[order])
    room.fill_by_age()
    return room.plan()
