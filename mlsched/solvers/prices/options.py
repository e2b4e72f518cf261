"""What the prover asks of a problem."""

from __future__ import annotations

from typing import Any, Protocol

from mlsched.certificates.prices import core
from mlsched.certificates.prices.core import Price, Sides
from mlsched.core.contract import Plan
from mlsched.solvers.backends.columns import Column

#: A branch: block, row, most.
Branch = tuple[int, str, int]


class Options(Protocol):
    """What the prover asks of a problem: its claim, and its options as columns. See `listed.py`."""

    claim: Any
    counts: list[int]
    capacities: Any
    beyond: float

    def start(self) -> list[Column]:
        """Columns that there are whatever the prices."""

    def named(self, price: Any) -> dict[str, float]:
        """The prices of the claim's rows, given those of the linear program's."""

    def worth(self, price: Any, of_block: Any, sides: dict[int, Sides]) -> tuple[Any, list[Column]]:
        """The least priced cost in each block, in floats, and columns worth adding."""

    def bound(self, price: Price, sides: dict[int, Sides]) -> int:
        """What prices prove, exactly: by the checker's own code."""
        return core.bound(self.claim, price, sides)[1]

    def admitted(self, sides: dict[int, Sides]) -> Any:
        """Which of the columns handed out so far the branches admit."""

    def branch(self, taken: Any, price: Any) -> Branch | None:
        """What to branch on, given how often each column is taken; None: nothing is fractional."""

    def plan(self, taken: Any) -> Plan | None:
        """The plan of columns that are all taken whole, not judged; None where the options tell none."""
        return None
