"""Claims about preemption, as the prover asks of them: the checker's own knapsacks give what nodes may host."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.certificates.preemption.prices import Hosting
from mlsched.certificates.prices.core import SCALE, Sides
from mlsched.solvers.backends.columns import Column
from mlsched.solvers.prices.search import Branch


class HostingOptions:
    """The options of a claim as columns: made as prices ask for them, the empty ones and those of TE jobs at once."""

    def __init__(self, claim: Hosting) -> None:
        self.claim, self.rows = claim, list(claim.capacity)
        self.counts = [1] * claim.blocks
        self.capacities = np.array([float(amount) for amount in claim.capacity.values()])
        #: A cost beyond that of every choice.
        self.beyond = 4.0 * (claim.waiting + 1)
        self.columns: list[tuple[int, frozenset[int]]] = []  # node, TE jobs that it hosts

    def start(self) -> list[Column]:
        """No node hosts anything, every TE job waits or does not."""
        nodes, tes = self.claim.nodes, range(len(self.rows))
        self.columns = [(n, frozenset()) for n in range(nodes)]
        columns: list[Column] = [(n, 0.0, (), ()) for n in range(nodes)]
        for t in tes:
            columns += [(nodes + t, 0.0, (), ()), (nodes + t, float(self.claim.waiting), (t,), (-1.0,))]
            self.columns += [(nodes + t, frozenset()), (nodes + t, frozenset([t]))]
        return columns

    def named(self, price: Any) -> dict[str, float]:
        """The prices of the claim's rows, which are the linear program's."""
        return dict(zip(self.rows, price.tolist(), strict=True))

    def worth(self, price: Any, of_block: Any, sides: dict[int, Sides]) -> tuple[Any, list[Column]]:
        """The least priced cost in each block (a lower bound on it where nothing is found), and what is below."""
        claim, least = self.claim, of_block.copy()
        rounded = {row: n for row, p in zip(self.rows, price.tolist(), strict=True) if (n := round(p * SCALE)) > 0}
        columns: list[Column] = []
        for n in range(claim.nodes):
            below = round((of_block[n] - 1e-7 - 1e-10 * abs(of_block[n])) * SCALE)
            for priced, hosted in claim.hosted(n, rounded, sides.get(n, ()), below, False):
                least[n] = priced / SCALE
                cost = (priced + sum(rounded.get(str(t), 0) for t in hosted)) // SCALE
                self.columns.append((n, frozenset(hosted)))
                columns.append((n, float(cost), hosted, [-1.0] * len(hosted)))
        for t, p in enumerate(price.tolist()):
            least[claim.nodes + t] = min(0.0, claim.waiting - p)
        return least, columns

    def admitted(self, sides: dict[int, Sides]) -> Any:
        """Which columns the branches admit."""
        good = np.ones(len(self.columns), dtype=bool)
        for k, (block, hosted) in enumerate(self.columns):
            for row, sign, most in sides.get(block, ()) if block < self.claim.nodes else ():
                good[k] &= sign * -(int(row) in hosted) <= most
        return good

    def branch(self, taken: Any, price: Any) -> Branch | None:
        """The TE job and node whose share of a fractional solution is nearest to a half, weighted by the price."""
        share: dict[tuple[int, int], float] = {}
        for k in np.flatnonzero(taken > 1e-6).tolist():
            block, hosted = self.columns[k]
            if block < self.claim.nodes:
                for t in hosted:
                    share[block, t] = share.get((block, t), 0.0) + float(taken[k])
        worth = {at: min(x, 1 - x) * (float(price[at[1]]) + 1) for at, x in share.items()}
        at = max(worth, key=worth.__getitem__, default=(0, 0))
        return (at[0], str(at[1]), -1) if worth.get(at, 0.0) > 1e-6 else None
