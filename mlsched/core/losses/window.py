"""Loss histories of many jobs, cut to their latest observations and packed into one rectangle.

The rectangle has one row per age and one column per job, with the latest observation in the last row, so that a sum
over histories reads contiguous memory for all jobs. Shorter histories are padded at the top and masked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import FloatArray

MAX_LOSS = 1e300
"""Largest magnitude of a loss, and of an iteration number: differences of two must not overflow."""


@dataclass(frozen=True, eq=False)
class Window:
    """The latest `H` observations of `N` jobs.

    Attributes:
        iterations: Iteration numbers, shape (H, N), strictly increasing in each column; padding repeats the first.
        losses: Losses at those iterations, shape (H, N), in each job's own unit; padding repeats the first.
        lengths: Number of observations of each job, shape (N,), 1 to H: the last rows.
    """

    iterations: FloatArray
    losses: FloatArray
    lengths: npt.NDArray[np.int64]

    @classmethod
    def pack(cls, iterations: Sequence[npt.ArrayLike], losses: Sequence[npt.ArrayLike], length: int = 32) -> Window:
        """Pack the last `length` observations of ragged histories, one sequence per job.

        Raises:
            InvalidInput: A history is empty, its two parts differ in length, or it has NaN, an infinity, a magnitude
                above 1e300, or iteration numbers that do not increase. Only the observations in the window are checked.
        """
        if length < 1:
            raise InvalidInput(f"window: {length}, expected at least 1")
        if len(iterations) != len(losses):
            raise InvalidInput(f"losses: has {len(losses)} histories, expected {len(iterations)}, as iterations has")
        steps, values = ([np.asarray(h, dtype=np.float64) for h in part] for part in (iterations, losses))
        for j, (step, value) in enumerate(zip(steps, values, strict=True)):
            if step.ndim != 1 or step.shape != value.shape or not step.size:
                raise InvalidInput(
                    f"losses[{j}]: has shape {value.shape} beside iterations of shape {step.shape}: "
                    "expected two equally long lists of at least one number"
                )
        lengths = np.array([min(len(step), length) for step in steps], dtype=np.int64)
        height = int(lengths.max(initial=1))
        row = np.arange(height)[:, None] - (height - lengths)
        index = np.maximum(row, 0) + (np.cumsum(lengths) - lengths)
        tall = [np.concatenate([h[-length:] for h in part]) if part else np.zeros(0) for part in (steps, values)]
        window = cls(tall[0][index], tall[1][index], lengths)
        window.check()
        return window

    def __len__(self) -> int:
        """Return the number of jobs."""
        return int(self.losses.shape[1])

    @cached_property
    def observed(self) -> npt.NDArray[np.bool_]:
        """Mask of observations, shape (H, N); False on padding."""
        height = len(self.losses)
        return np.asarray(np.arange(height)[:, None] >= height - self.lengths)

    @property
    def last_iteration(self) -> FloatArray:
        """Iteration of each job's latest observation, shape (N,)."""
        return np.asarray(self.iterations[-1])

    @property
    def last_loss(self) -> FloatArray:
        """Latest loss of each job, shape (N,)."""
        return np.asarray(self.losses[-1])

    def take(self, jobs: npt.NDArray[np.int64]) -> Window:
        """Select columns by the indices `jobs`."""
        return Window(self.iterations[:, jobs], self.losses[:, jobs], self.lengths[jobs])

    def check(self) -> None:
        """Raise InvalidInput, naming the job, for histories that cannot be fitted."""
        for name, values in (("iterations", self.iterations), ("losses", self.losses)):
            invalid = ~(np.abs(values) <= MAX_LOSS)
            if invalid.any():
                job = int(invalid.any(axis=0).argmax())
                value = values[invalid[:, job].argmax(), job]
                raise InvalidInput(f"{name}[{job}]: {value}, expected finite and at most 1e300 in magnitude")
        not_increasing = (np.diff(self.iterations, axis=0) <= 0) & self.observed[:-1]
        if not_increasing.any():
            job = int(not_increasing.any(axis=0).argmax())
            raise InvalidInput(
                f"iterations[{job}]: does not increase: expected strictly increasing; drop repeated rows"
            )
