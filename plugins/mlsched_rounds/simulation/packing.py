"""Rates of pairs of jobs that share their GPUs, as measured by Gavel."""

from __future__ import annotations

import dataclasses
import functools
from typing import ClassVar

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import FloatArray, IntArray, array
from mlsched.core.record import Record
from mlsched_rounds.simulation.adaptation import PICO


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Packing(Record):
    """Groups of jobs, and the rate of a job of one group while a job of another shares its GPUs.

    Two jobs share all their GPUs or none, so both have the same number. A pair does not fit on a type if either rate
    there is 0; then both are.
    """

    kind: ClassVar[str] = "rounds.packing"

    group: IntArray = array("jobs", doc="group of the job: one model on one number of GPUs")
    rate: IntArray = array(
        "groups",
        "groups",
        "types",
        doc="10^-12 steps per second of a job of the first group beside one of the second; 0: they do not fit",
    )
    fine: IntArray = array(
        "groups", "groups", "types", high=PICO, doc="what `rate` leaves out, 10^-24 steps per second"
    )

    def check(self) -> None:
        if self.group.max(initial=0) >= len(self.rate):
            raise InvalidInput(f"group: expected the number of a group, below {len(self.rate)}")
        fits = (self.rate > 0) | (self.fine > 0)
        if (fits != fits.transpose(1, 0, 2)).any():
            raise InvalidInput("rate: both jobs of a pair must have a rate on a type, or neither")

    @functools.cached_property
    def rates(self) -> FloatArray:
        """Return the steps per second, shape (groups, groups, types)."""
        exact = [int(rate) * PICO + int(fine) for rate, fine in zip(self.rate.flat, self.fine.flat, strict=True)]
        result: FloatArray = np.array([digits / PICO**2 for digits in exact], dtype=np.float64).reshape(self.rate.shape)
        return result

    def together(self, first: int, second: int) -> FloatArray:
        """Return the steps per second of two jobs that share their GPUs, shape (2, types); 0 if they do not fit."""
        a, b = int(self.group[first]), int(self.group[second])
        return np.stack([self.rates[a, b], self.rates[b, a]])

    @functools.cached_property
    def best(self) -> FloatArray:
        """Return the steps per second of each job beside its best partner among the other jobs, shape (jobs, types)."""
        members = np.bincount(self.group, minlength=len(self.rate))
        result = np.zeros((len(self.group), self.rate.shape[2]))
        for group in np.unique(self.group).tolist():
            partners = np.flatnonzero(members - (np.arange(len(members)) == group) > 0)
            result[self.group == group] = self.rates[group, partners].max(axis=0, initial=0.0)
        return result
