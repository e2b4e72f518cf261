"""Loss histories of many jobs, cut to their latest observations and packed into one rectangle.

The rectangle has one row an age and one column per job, the latest observation in the last row, so that a sum over a
history runs along contiguous memory for all jobs at once. Shorter histories are padded at the top and masked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mlsched.core.errors import InvalidInput
from mlsched.core.losses.curves import FloatArray

MOST_LOSS = 1e300
"""Largest magnitude of a loss, and of an iteration number: differences of two must not overflow."""


@dataclass(frozen=True, eq=False)
class Window:
    """The latest `H` observations of `N` jobs.

    Attributes:
        iterations: (H, N) iteration numbers, strictly increasing down each column; padding repeats the first one.
        losses: (H, N) losses at those iterations, in each job's own unit; padding repeats the first one.
        lengths: (N,) how many observations of a job are held, 1..H: the last rows.
    """

    iterations: FloatArray
    losses: FloatArray
    lengths: npt.NDArray[np.int64]

    @classmethod
    def pack(cls, iterations: Sequence[npt.ArrayLike], losses: Sequence[npt.ArrayLike], length: int = 32) -> Window:
        """The last `length` observations of ragged histories, one sequence a job.

        Raises:
            InvalidInput: a history is empty, its two parts differ in length, or it holds NaN, an infinity, a
                magnitude above 1e300, or iteration numbers that do not increase. Only what the window keeps is checked.
        """
        if length < 1:
            raise InvalidInput(f"window = {length}: must be at least 1")
        if len(iterations) != len(losses):
            raise InvalidInput(f"losses: has {len(losses)} histories: must be {len(iterations)}, as iterations has")
        steps, values = ([np.asarray(h, dtype=np.float64) for h in part] for part in (iterations, losses))
        for j, (step, value) in enumerate(zip(steps, values, strict=True)):
            if step.ndim != 1 or step.shape != value.shape or not step.size:
                raise InvalidInput(
                    f"losses[{j}]: has shape {value.shape} beside iterations of shape {step.shape}: "
                    "must be two equally long lists of at least one number"
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
        """N, the number of jobs."""
        return int(self.losses.shape[1])

    @cached_property
    def held(self) -> npt.NDArray[np.bool_]:
        """(H, N) False on padding."""
        height = len(self.losses)
        return np.asarray(np.arange(height)[:, None] >= height - self.lengths)

    @property
    def last_iteration(self) -> FloatArray:
        """(N,) the iteration of each job's latest observation."""
        return np.asarray(self.iterations[-1])

    @property
    def last_loss(self) -> FloatArray:
        """(N,) each job's latest loss."""
        return np.asarray(self.losses[-1])

    def take(self, jobs: npt.NDArray[np.int64]) -> Window:
        """The columns `jobs` (indices)."""
        return Window(self.iterations[:, jobs], self.losses[:, jobs], self.lengths[jobs])

    def check(self) -> None:
        """Refuse what cannot be fitted, in one sentence that names the job."""
        for name, values in (("iterations", self.iterations), ("losses", self.losses)):
            wrong = ~(np.abs(values) <= MOST_LOSS)
            if wrong.any():
                job = int(wrong.any(axis=0).argmax())
                value = values[wrong[:, job].argmax(), job]
                raise InvalidInput(f"{name}[{job}]: holds {value}: must be finite and at most 1e300 in magnitude")
        falls = (np.diff(self.iterations, axis=0) <= 0) & self.held[:-1]
        if falls.any():
            job = int(falls.any(axis=0).argmax())
            raise InvalidInput(f"iterations[{job}]: does not increase: must be strictly increasing; drop repeated rows")
