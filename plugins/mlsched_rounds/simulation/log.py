"""What happened in a run of rounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from mlsched.simulation import log
from mlsched_rounds.simulation.simulator import Slice
from mlsched_rounds.simulation.workload import in_micro


class Log(log.Log):
    """One row for each job in each round: [start, end) in 10^-6 s, on which type, the steps it did; `kept`: on the GPUs
    it held in the round before; `failed`: the slice failed, and the steps do not count; `partner`: the job that shares
    its GPUs, -1 if it runs alone.
    """

    names = ("round", "job", "type", "start", "end", "steps", "kept", "failed", "partner")
    fill: ClassVar[Mapping[str, int]] = {"partner": -1}

    def add(self, one: Slice) -> None:
        """Note a slice."""
        times = in_micro(one.start), in_micro(one.end)
        flags = int(one.kept), int(one.failed)
        self.rows.append((one.round, one.job, one.kind, *times, one.steps, *flags, one.partner))
