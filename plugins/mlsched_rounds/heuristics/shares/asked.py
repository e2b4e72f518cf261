"""Input and interface of Gavel's policies."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import FloatArray, IntArray
from mlsched_rounds.heuristics.accounts import Unit
from mlsched_rounds.heuristics.pairs import Together
from mlsched_rounds.solvers.shares import Optimum


@dataclasses.dataclass(frozen=True)
class Asked:
    """The active jobs at a reset, in order of arrival.

    Attributes:
        jobs: Numbers of the jobs.
        rate: Steps per second on each type, shape (jobs, types).
        gpus: GPUs of each job.
        weight: Weight of each job; 1 is ordinary.
        remaining: Remaining steps.
        age: Seconds since arrival.
        served: GPU-seconds so far.
        capacity: GPUs of each type.
        types: Names of the types, in the order in which they are filled.
        runs: True if the job can run on the type, shape (jobs, types). `fifo` checks it although it ignores rates.
        units: For a policy that packs: jobs and pairs of jobs in the order of the accounts.
        together: For a policy that packs: steps per second of two jobs that share their GPUs, shape (2, types); 0 if
            they do not fit.
    """

    jobs: IntArray
    rate: FloatArray
    gpus: IntArray
    weight: FloatArray
    remaining: FloatArray
    age: FloatArray
    served: FloatArray
    capacity: IntArray
    types: tuple[str, ...]
    runs: npt.NDArray[np.bool_]
    units: Sequence[Unit] = ()
    together: Together | None = None


@dataclasses.dataclass(frozen=True)
class Readings:
    """Options of a run that a policy sees.

    Attributes:
        seed: Seed of the policy's own draws.
        fifo: Type that `fifo` draws. "stale": overwritten by the last type of a loop, as in Gavel's program. "drawn":
            as drawn.
        optimum: See `solvers/rounds/_linear`.
        first: Seconds of the first interval of `fluid_mpc`, usually a round.
    """

    seed: int = 0
    fifo: Literal["stale", "drawn"] = "stale"
    optimum: Optimum = "interior"
    first: float = 360.0


#: Time shares, shape (jobs, types); under a policy that packs, (units, types). A policy with memory lists its fields in
#: `remembers`, each a dictionary by the jobs' numbers.
Shares = Callable[[Asked], FloatArray]


def remembered(shares: Shares) -> dict[str, list[Any]]:
    """Return a policy's memory as JSON data: name of the field -> [[number of the job, value], ...]."""
    return {name: [list(one) for one in getattr(shares, name).items()] for name in getattr(shares, "remembers", ())}


def recall(shares: Shares, memory: Mapping[str, list[Any]]) -> None:
    """Give a new policy the memory of another policy of its kind."""
    for name, entries in memory.items():
        getattr(shares, name).update((job, value) for job, value in entries)


@dataclasses.dataclass(frozen=True)
class Policy:
    """A policy by name; `start(interpretations)` returns its function for one run.

    Attributes:
        aware: It uses rates, and types are filled in their order. Otherwise each round draws a random order. Gavel's
            program decides this by "Perf" in the policy's name.
        strict: Jobs of priority 0 do not run (FIFO).
        packs: Two jobs may share their GPUs; only the simulator of rounds runs such a policy.
    """

    name: str
    start: Callable[[Readings], Shares]
    aware: bool = False
    strict: bool = False
    packs: bool = False
    doc: str = ""
