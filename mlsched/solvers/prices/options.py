"""The prover's interface to a problem."""

from __future__ import annotations

from typing import Any, Protocol

from mlsched.certificates.prices import core
from mlsched.certificates.prices.core import Price, Sides
from mlsched.core.aliases import Array
from mlsched.core.contract import Plan
from mlsched.core.fields import FloatArray
from mlsched.solvers.backends.columns import Column

#: A branch: block, row, upper limit.
Branch = tuple[int, str, int]


class Options(Protocol):
    """A problem's claim, and its options as columns, for the prover. See `listed.py`."""

    claim: Any
    counts: list[int]
    capacities: Any
    beyond: float

    def start(self) -> list[Column]:
        """Return columns that exist for any prices."""

    def named(self, price: Array) -> dict[str, float]:
        """Return the prices of the claim's rows, computed from the linear program's."""

    def worth(self, price: Array, of_block: Array, sides: dict[int, Sides]) -> tuple[Array, list[Column]]:
        """Return the least priced cost in each block, in floats, and columns of negative reduced cost."""

    def bound(self, price: Price, sides: dict[int, Sides]) -> int:
        """Return the exact bound that prices prove, by the checker's own code."""
        return core.bound(self.claim, price, sides)[1]

    def admitted(self, sides: dict[int, Sides]) -> Array:
        """Return which columns so far the branches admit."""

    def branch(self, taken: Array, price: Array) -> Branch | None:
        """Return a branch for a fractional solution, given the amount of each column; None if it is integral."""

    def plan(self, taken: FloatArray) -> Plan | None:
        """Return the plan of integral columns, not judged; None if the options do not give one."""
        return None
