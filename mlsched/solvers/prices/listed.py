"""Claims with listed options for the prover: all options priced at once, in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlsched.certificates.prices.core import NEVER, SCALE, Price, Sides
from mlsched.certificates.prices.listed import Listed
from mlsched.core.aliases import Array
from mlsched.core.fields import BoolArray, FloatArray
from mlsched.solvers.backends.columns import Column
from mlsched.solvers.prices.options import Branch, Options

#: More than every priced cost that is calculated in 64 bits; smaller integers are exact as floats.
NEVER_HERE, EXACT = 2**62, 2**53


class ListedOptions(Options):
    """All options of a claim as arrays, and which of them are in the linear program."""

    def __init__(self, claim: Listed) -> None:
        self.claim, self.rows = claim, list(claim.capacity)
        self.counts = [1] * claim.blocks
        self.capacities = np.array([float(amount) for amount in claim.capacity.values()])
        place = {row: r for r, row in enumerate(self.rows)}
        flat = [(b, cost, use) for b, options in enumerate(claim.options) for cost, use in options]
        self.block = np.array([b for b, _, _ in flat], dtype=np.int64)
        self.cost = np.array([float(cost) for _, cost, _ in flat])
        self.use = np.zeros((len(flat), len(self.rows)))
        for k, (_, _, use) in enumerate(flat):
            for row, amount in use.items():
                self.use[k, place[row]] = amount
        self.first = np.searchsorted(self.block, np.arange(claim.blocks))
        self.number = np.full(len(flat), -1, dtype=np.int64)  # in the linear program
        self.options: list[int] = []  # the linear program's columns
        #: A cost above every choice.
        spread = sum(float(np.ptp(part)) for part in np.split(self.cost, self.first[1:]) if len(part))
        self.beyond = 1.0 + 2.0 * spread + abs(claim.target)

    def start(self) -> list[Column]:
        """Return an empty list: the first prices are 0."""
        return []

    def known(self) -> list[Column]:
        """Return the columns added so far."""
        return [self._column_of_option(k) for k in self.options]

    def add_rows(self, rows: Sequence[tuple[Array, float]]) -> None:
        """Add rows to the linear program that the claim does not have: uses of all options, and capacities."""
        self.rows += [f"cut {len(self.rows) + k}" for k in range(len(rows))]
        self.use = np.column_stack([self.use, *(use for use, _ in rows)])
        self.capacities = np.append(self.capacities, [capacity for _, capacity in rows])

    def named(self, price: FloatArray) -> dict[str, float]:
        """Return the prices of the claim's rows, which are the linear program's."""
        return dict(zip(self.rows, price.tolist(), strict=True))

    def worth(self, price: FloatArray, of_block: FloatArray, sides: dict[int, Sides]) -> tuple[Any, list[Column]]:
        """Return the least priced cost in each block, and the best option per block if its reduced cost is negative."""
        priced = self.cost + self.use @ price
        priced[~self._admitted_options(sides)] = np.inf
        lowest = np.minimum.reduceat(priced, self.first) if len(priced) else np.zeros(0)
        selection = np.flatnonzero(
            (priced <= lowest[self.block]) & (self.number < 0) & (priced < (of_block - tolerance(of_block))[self.block])
        )
        _, once = np.unique(self.block[selection], return_index=True)
        selection = selection[once]
        self.number[selection] = len(self.options) + np.arange(len(selection))
        self.options += selection.tolist()
        return lowest, [self._column_of_option(k) for k in selection.tolist()]

    def _column_of_option(self, k: int) -> Column:
        usage = np.flatnonzero(self.use[k])
        return int(self.block[k]), float(self.cost[k]), usage.tolist(), self.use[k, usage].tolist()

    def bound(self, price: Price, sides: dict[int, Sides]) -> int:
        """Return the checker's `core.bound` for all options at once, if the numbers are small enough."""
        widest = int(np.abs(self.use).max(initial=1))
        most = SCALE * int(np.abs(self.cost).max(initial=0)) + widest * sum(price.values())
        if most >= NEVER_HERE or widest >= EXACT or len(self.rows) != len(self.claim.capacity):
            return super().bound(price, sides)
        of_rows = np.array([price.get(row, 0) for row in self.rows], dtype=np.int64)
        priced = SCALE * self.cost.astype(np.int64) + self.use.astype(np.int64) @ of_rows
        priced[~self._admitted_options(sides)] = NEVER_HERE
        least = np.minimum.reduceat(priced, self.first).tolist() if len(priced) else []
        if NEVER_HERE in least:
            return NEVER
        return int(sum(least)) - sum(p * self.claim.capacity[row] for row, p in price.items())

    def _admitted_options(self, sides: dict[int, Sides]) -> BoolArray:
        """Return which options the branches admit."""
        good = np.ones(len(self.cost), dtype=bool)
        for block, demands in sides.items():
            for row, sign, most in demands:
                mine = slice(*np.searchsorted(self.block, [block, block + 1]))
                good[mine] &= sign * self.use[mine, self.rows.index(row)] <= most
        return good

    def admitted(self, sides: dict[int, Sides]) -> BoolArray:
        """Return which columns of the linear program the branches admit."""
        return self._admitted_options(sides)[self.options]

    def branch(self, taken: FloatArray, price: FloatArray) -> Branch | None:
        """Return the block and row with the most fractional use, in terms of price; None if it is integral."""
        parts = np.flatnonzero((taken > 1e-6) & (taken < 1 - 1e-6))
        best: tuple[float, Branch | None] = (0.0, None)
        by_block: dict[int, list[int]] = {}
        for k in parts.tolist():
            by_block.setdefault(int(self.block[self.options[k]]), []).append(k)
        for block, ks in by_block.items():
            use, share = self.use[[self.options[k] for k in ks]], taken[ks]
            mean = share @ use / share.sum()
            spread = share @ np.abs(use - mean) * (price + 1e-9)
            spread[np.ptp(use, axis=0) < 0.5] = -1.0
            r = int(np.argmax(spread))
            if spread[r] > best[0]:
                best = (float(spread[r]), (block, self.rows[r], int(np.floor(min(mean[r], use[:, r].max() - 0.5)))))
        return best[1]


def tolerance(of_block: FloatArray) -> FloatArray:
    """Return how far a column must be below its block's price to be added: more than the error of floats."""
    return 1e-7 + 1e-10 * np.abs(of_block)
