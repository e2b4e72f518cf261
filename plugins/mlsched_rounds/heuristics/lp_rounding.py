"""Rounding of the fractional optimum, as in Gavel (Narayanan et al., OSDI 2020, Section 5).

The job and type of the largest share come first, and every job that fits is taken. The shares are those of the round's
own relaxation (`solvers/rounds/relaxation.py`). Gavel divides shares by the past time; here past time is in the
objective. Remaining GPUs go to jobs by age.
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
    """Run the largest shares of the fractional optimum that fit, then every other job that fits, by age."""
    room = Room(instance)
    shares = fractional(instance, by).shares
    jobs, configs = np.nonzero(shares > 1e-9)
    order = np.argsort(-shares[jobs, configs], kind="stable")
    room.take_in_order(jobs[order], configs[order])
    room.fill_by_age()
    return room.plan()
