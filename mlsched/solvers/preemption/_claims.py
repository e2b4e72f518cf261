"""Claims about preemption, as the prover asks of them: what nodes may host, by the knapsacks of the solver `columns`.

Where a branch says what a node hosts, by the checker's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mlsched.certificates.preemption.prices import Hosting
from mlsched.certificates.prices.core import SCALE, Sides
from mlsched.core.deadline import Deadline
from mlsched.formulations.preemption import nodes
from mlsched.solvers.backends.columns import Column
from mlsched.solvers.prices.options import Branch, Options

#: Nodes that are offered to each TE job alone before the first prices; a priced cost below all others.
FIRST_NODES, NOTHING = 8, -(2**62)


class HostingOptions(Options):
    """The options of a claim as columns: made as prices ask for them, the empty ones and those of TE jobs at once."""

    def __init__(self, claim: Hosting, deadline: Deadline) -> None:
        self.claim, self.rows, self.deadline = claim, list(claim.capacity), deadline
        rooms: list[nodes.Room] = [
            (n, paid, tuple(room), ()) for n, some in enumerate(claim.rooms) for paid, room in some
        ]
        demand = np.array(claim.demand, dtype=np.int64).reshape(len(self.rows), -1 if self.rows else 1)
        self.rooms = nodes.Rooms(rooms, demand) if self.rows else None
        self.counts = [1] * claim.blocks
        self.capacities = np.array([float(amount) for amount in claim.capacity.values()])
        #: A cost beyond that of every choice.
        self.beyond = 4.0 * (claim.waiting + 1)
        self.columns: list[tuple[int, frozenset[int]]] = []  # node, TE jobs that it hosts
        self.known = set[tuple[int, frozenset[int]]]()

    def start(self) -> list[Column]:
        """No node hosts anything, every TE job waits or does not."""
        count, tes = self.claim.nodes, range(len(self.rows))
        self.columns = [(n, frozenset()) for n in range(count)]
        columns: list[Column] = [(n, 0.0, (), ()) for n in range(count)]
        for t in tes:
            columns += [(count + t, 0.0, (), ()), (count + t, float(self.claim.waiting), (t,), (-1.0,))]
            self.columns += [(count + t, frozenset()), (count + t, frozenset([t]))]
        return columns + self._alone()

    def _alone(self) -> list[Column]:
        """Every TE job alone where it is cheapest, so that its first price is not that of waiting."""
        if self.rooms is None:
            return []
        made: list[Column] = []
        for t, need in self.deadline.over(enumerate(self.rooms.demand)):
            fits = np.flatnonzero((self.rooms.amount >= need).all(axis=1))
            for row in fits[np.argsort(self.rooms.cost[fits], kind="stable")][:FIRST_NODES].tolist():
                if (int(self.rooms.node[row]), frozenset([t])) not in self.known:
                    made.append(self._column(int(self.rooms.node[row]), (t,)))
        return made

    def named(self, price: Any) -> dict[str, float]:
        """The prices of the claim's rows, which are the linear program's."""
        return dict(zip(self.rows, price.tolist(), strict=True))

    def worth(self, price: Any, of_block: Any, sides: dict[int, Sides]) -> tuple[Any, list[Column]]:
        """The least priced cost in each block (a lower bound on it where nothing is found), and what is below."""
        claim, least = self.claim, of_block.copy()
        below = (of_block - 1e-7 - 1e-10 * np.abs(of_block))[: claim.nodes]
        columns: list[Column] = []
        for n, priced, hosted in self._hosted(np.minimum(price, claim.waiting), below, sides):
            least[n] = min(least[n], priced)
            if (n, frozenset(hosted)) not in self.known:
                columns.append(self._column(n, hosted))
        for t, p in enumerate(price.tolist()):
            least[claim.nodes + t] = min(0.0, claim.waiting - p)
        return least, columns

    def _hosted(self, price: Any, below: Any, sides: dict[int, Sides]) -> Iterator[tuple[int, float, tuple[int, ...]]]:
        """What nodes may host at less than `below`: (node, priced cost, TE jobs)."""
        if self.rooms is None:
            return
        limit = np.floor(below * nodes.SCALE).astype(np.int64)
        limit[[n for n in sides if n < self.claim.nodes]] = NOTHING
        priced = nodes.Priced(self.rooms, np.rint(price * nodes.SCALE).astype(np.int64))
        found = list(priced.tabulated(limit) if self.rooms.tabulable else priced.greedy(limit))
        if not self.rooms.tabulable and all((n, frozenset(hosted)) in self.known for n, _, hosted in found):
            found += priced.hostings(limit, self.deadline)
        yield from ((n, cost / nodes.SCALE, hosted) for n, cost, hosted in found)
        rounded = {row: n for row, p in zip(self.rows, price.tolist(), strict=True) if (n := round(p * SCALE)) > 0}
        for n in [n for n in sides if n < self.claim.nodes]:
            self.deadline.check()
            for cost, hosted in self.claim.hosted(n, rounded, sides[n], round(float(below[n]) * SCALE), False):
                yield n, cost / SCALE, hosted

    def _column(self, n: int, hosted: tuple[int, ...]) -> Column:
        """The hosting in the cheapest room, whichever it was found in."""
        assert self.rooms is not None
        row = self.rooms.cheapest(n, hosted)
        assert row is not None  # it was found in one
        self.columns.append((n, frozenset(hosted)))
        self.known.add(self.columns[-1])
        return n, float(self.rooms.cost[row]), hosted, [-1.0] * len(hosted)

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


#: What the prover asks for (`solvers/prices`).
options = HostingOptions
