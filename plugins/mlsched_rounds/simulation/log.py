"""The log of a simulation of rounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from mlsched.simulation import log
from mlsched_rounds.simulation.simulator import Slice
from mlsched_rounds.simulation.workload import in_micro


class Log(log.Log):
    """One row for each job in each round: [start, end) in 10^-6 s, its type, and its steps.

    Attributes:
        kept: The job keeps the GPUs of the round before.
        failed: The slice failed, and the steps do not count.
        partner: Job that shares its GPUs; -1: it does not share.
    """

    names = ("round", "job", "type", "start", "end", "steps", "kept", "failed", "partner")
    fill: ClassVar[Mapping[str, int]] = {"partner": -1}

    def add(self, one: Slice) -> None:
        """Append a slice."""
        times = in_micro(one.start), in_micro(one.end)
        flags = int(one.kept), int(one.failed)
        self.rows.append((one.round, one.job, one.kind, *times, one.steps, *flags, one.partner))
