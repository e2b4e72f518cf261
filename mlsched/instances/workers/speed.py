"""Speed models: the time of an iteration with w workers and p PSs, and the only rounding of times.

A model gives g(w, p) in seconds as an exact rational: its parameters are read as their printed decimals (0.15 is
15/100). `Times` has a model's complete table of g as fractions of a millisecond, so that derived integers are exact:
`cost` is ceil(B g), `iterations` is floor(t / g), and each value is rounded only once.

Paper: Peng, Bao, Chen, Wu, Guo, "Optimus", EuroSys 2018, Section 3.2.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import EXACT, IntArray
from mlsched.core.params import check_range
from mlsched.instances.workers.instance import NEVER

#: A parameter of a model: seconds, read as the decimal number it prints as.
Seconds = int | float | Fraction
#: Products up to here are exact in int64.
_INT64 = 2**63 - 1


def exact(value: Seconds) -> Fraction:
    """Convert `value` to the fraction of its shortest decimal: 0.15 is 15/100, not the nearest binary float."""
    return value if isinstance(value, Fraction) else Fraction(str(value))


@dataclasses.dataclass(frozen=True)
class SpeedModel(ABC):
    """Time of an iteration by numbers of workers and PSs. Equal models share their tables."""

    @abstractmethod
    def seconds(self, workers: int, ps: int) -> Fraction | None:
        """Return g(w, p) > 0 in seconds, exact, for w, p >= 1; None if the job cannot train so."""

    def times(self, workers: int, ps: int) -> Times:
        """Return the cached table of g for 1..`workers` workers and 1..`ps` PSs."""
        for name, size in (("workers", workers), ("ps", ps)):
            check_range(name, size, 1, 10**6)
        return _table_of_times(self, workers, ps)

    def _check_parameters(self, **parameters: Seconds) -> None:
        """Reject parameters that are not finite numbers >= 0, and models whose iterations can take 0 seconds."""
        for name, value in parameters.items():
            if isinstance(value, bool) or not isinstance(value, (int, float, Fraction)) or not 0 <= value < math.inf:
                raise InvalidInput(f"{name}: {value!r}, expected a finite number of seconds >= 0")
        if not any(parameters.values()):
            raise InvalidInput(f"{', '.join(parameters)}: must not all be 0: an iteration takes time")


@dataclasses.dataclass(frozen=True)
class Synchronous(SpeedModel):
    """Optimus, synchronous training: g = theta0_m / w + theta1 + theta2 w / p + theta3 w + theta4 p seconds.

    theta0_m: forward propagation of a complete batch of M samples, shared by the workers (theta0 M). theta1: backward
    propagation and other constant parts. theta2: transfer of the model to and from a PS that serves w / p workers.
    theta3, theta4: overhead for every worker and every PS.
    """

    theta0_m: Seconds
    theta1: Seconds
    theta2: Seconds
    theta3: Seconds
    theta4: Seconds

    def __post_init__(self) -> None:
        self._check_parameters(**dataclasses.asdict(self))

    def seconds(self, workers: int, ps: int) -> Fraction:
        t0, t1, t2, t3, t4 = _exact_parameters(self)
        return t0 / workers + t1 + t2 * workers / ps + t3 * workers + t4 * ps


@dataclasses.dataclass(frozen=True)
class Asynchronous(SpeedModel):
    """Optimus, asynchronous training: w / (theta0 + theta1 w / p + theta2 w + theta3 p) steps per second.

    Workers do not wait for each other: each makes a step in theta0 + ... seconds, the job w of them meanwhile.
    """

    theta0: Seconds
    theta1: Seconds
    theta2: Seconds
    theta3: Seconds

    def __post_init__(self) -> None:
        self._check_parameters(**dataclasses.asdict(self))

    def seconds(self, workers: int, ps: int) -> Fraction:
        t0, t1, t2, t3 = _exact_parameters(self)
        return (t0 + t1 * workers / ps + t2 * workers + t3 * ps) / workers


@dataclasses.dataclass(frozen=True)
class Table(SpeedModel):
    """Times as measured: `rows[w - 1][p - 1]` seconds; None, or beyond the table: the job cannot train so."""

    rows: tuple[tuple[Seconds | None, ...], ...]

    def __post_init__(self) -> None:
        rows: Sequence[Sequence[Seconds | None]] = self.rows
        # Lists are welcome; tuples make equal models hash alike.
        object.__setattr__(self, "rows", tuple(tuple(row) for row in rows))
        if len({len(row) for row in self.rows}) > 1:
            raise InvalidInput(
                "rows: have different lengths; every number of workers needs a time for each number of PSs"
            )
        for w, row in enumerate(self.rows, 1):
            for p, value in enumerate(row, 1):
                if value is not None and not 0 < value < math.inf:
                    raise InvalidInput(f"rows: {value!r} s with {w} workers and {p} PSs: expected a finite number > 0")

    def seconds(self, workers: int, ps: int) -> Fraction | None:
        if workers > len(self.rows) or ps > len(self.rows[workers - 1]):
            return None
        value = self.rows[workers - 1][ps - 1]
        return None if value is None else exact(value)


@dataclasses.dataclass(frozen=True, eq=False)
class Times:
    """g as exact fractions of a millisecond: numerator / denominator by [w - 1, p - 1]; 0 / 1 if it cannot train.

    The arrays are int64, or of Python integers if int64 is too small for the entries.
    """

    numerator: Any
    denominator: Any

    @functools.cached_property
    def allowed(self) -> Any:
        """Return the configurations in which the job can train: booleans by [w - 1, p - 1]."""
        return self.numerator > 0

    @functools.cached_property
    def _largest_parts(self) -> tuple[int, int]:
        return max(map(int, self.numerator.flat)), max(map(int, self.denominator.flat))

    def cost(self, remaining: int) -> IntArray:
        """Return ceil(B g) in ms by [w - 1, p - 1] for B = `remaining` iterations; `NEVER` if the job cannot train."""
        check_range("remaining", remaining, 1, EXACT)
        top = self.numerator if self._largest_parts[0] * remaining <= _INT64 else self.numerator.astype(object)
        value = -((-remaining * top) // self.denominator)
        if (value >= NEVER).any():
            raise InvalidInput(f"remaining = {remaining}: takes {max(map(int, value.flat))} ms, expected below 2^53")
        return np.where(self.allowed, value, NEVER).astype(np.int64)

    def iterations(self, milliseconds: int, workers: int, ps: int) -> int:
        """Return floor(t / g): complete iterations in this time with these workers and PSs; 0 without either."""
        if not workers or not ps or not self.allowed[workers - 1, ps - 1]:
            return 0
        g = Fraction(int(self.numerator[workers - 1, ps - 1]), int(self.denominator[workers - 1, ps - 1]))
        return milliseconds // g

    def milliseconds(self) -> Any:
        """Return g in ms as floats, infinite if the job cannot train."""
        return np.where(self.allowed, self.numerator / self.denominator, np.inf).astype(np.float64)

    def nanoseconds(self) -> IntArray:
        """Return ceil(g) in ns, `NEVER` if the job cannot train: a table of integers."""
        value = -((-(10**6) * self.numerator.astype(object)) // self.denominator)
        if (value >= NEVER).any():
            raise InvalidInput(f"an iteration takes {max(map(int, value.flat))} ns, expected below 2^53")
        return np.where(self.allowed, value, NEVER).astype(np.int64)


def _exact_parameters(model: SpeedModel) -> tuple[Fraction, ...]:
    return tuple(exact(getattr(model, field.name)) for field in dataclasses.fields(model))


@functools.lru_cache(maxsize=1024)
def _table_of_times(model: SpeedModel, workers: int, ps: int) -> Times:
    seconds = [[model.seconds(w, p) for p in range(1, ps + 1)] for w in range(1, workers + 1)]
    ms = [[Fraction(0) if g is None else 1000 * g for g in row] for row in seconds]
    wide = any(max(g.numerator, g.denominator) > _INT64 for row in ms for g in row)
    kind = object if wide else np.int64
    parts = [
        np.array([[getattr(g, name) for g in row] for row in ms], dtype=kind) for name in ("numerator", "denominator")
    ]
    for part in parts:
        part.flags.writeable = False
    return Times(*parts)
