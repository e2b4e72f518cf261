"""The prover: prices and branches that the checker accepts, for any claim. What it says is never believed.

At every node of the tree: the linear relaxation within the branches, by column generation (`backends/columns.py`); its
prices, rounded to integers; what these prove, exactly, by the checker's own code. Where that reaches the target, or the
checker's dynamic program ends in few states, the node is a leaf. Else it is branched on, depth first. Where the time is
over before the tree is complete, the lowest bound of its leaves is what it proves.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from mlsched.certificates.by_prices import meter
from mlsched.certificates.prices import core
from mlsched.certificates.prices.core import SCALE, Price, Sides
from mlsched.core.deadline import Deadline, OutOfTime
from mlsched.core.errors import AnswererError
from mlsched.solvers.backends.columns import Column, Relaxation

#: A branch: block, row, most.
Branch = tuple[int, str, int]
#: Steps of the checker's dynamic program that are tried at a node before it is branched on.
STEPS = 400_000
#: Rounds of column generation at a node, and rounds without a better bound, after which its best prices are taken where
#: there is something to branch on.
ROUNDS, STALLED = 500, 30


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

    def admitted(self, sides: dict[int, Sides]) -> Any:
        """Which of the columns handed out so far the branches admit."""

    def branch(self, taken: Any, price: Any) -> Branch | None:
        """What to branch on, given how often each column is taken; None: nothing is fractional."""


@dataclasses.dataclass
class _Node:
    """A node of the tree: its branches so far, prices, the bound they prove (scaled), and how it goes on."""

    sides: dict[int, Sides]
    price: Price
    bound: int
    branch: Branch | None = None
    children: tuple[_Node, ...] = ()
    closed: bool = False


@dataclasses.dataclass(frozen=True)
class Proof:
    """A tree and what it proves: that everything costs `bound` or more, which is the claim's target or less."""

    tree: list[Any]
    bound: int
    nodes: int


class Refuted(AnswererError):
    """Something costs less than the claim's target."""


def prove(
    options: Options,
    deadline: Deadline,
    progress: Callable[[int, int], None] = lambda bound, nodes: None,
    spend: meter | None = None,
    whole: Callable[[Any], None] = lambda taken: None,
) -> Proof:
    """A tree for the claim of `options`, or for as high a target as the time allows.

    progress: called with the bound so far and the number of nodes. spend: what counts the steps of the claim itself.
    whole: called with how often each column is taken where that falls short of the target and nothing is fractional.
    Raises Refuted where the claim is seen to be false, OutOfTime where not even its options are there in time.
    """
    claim, started = options.claim, time.perf_counter()
    root = _Node({}, {}, core.bound(claim, {}, {})[1])
    # The exact bound of the last prices takes about as long again.
    deadline = deadline.earlier(2 * (time.perf_counter() - started))
    relaxation = Relaxation(options.counts, options.capacities, options.beyond)
    try:
        relaxation.add(options.start())
    except OutOfTime:
        proven = min(claim.target, -(-root.bound // SCALE))
        return Proof([[{}]], proven, 0)
    open_, nodes = [root], 0
    weakest = SCALE * claim.target  # the lowest bound of a leaf that falls short
    while open_:
        progress(math.ceil(min(weakest, *(node.bound for node in open_)) / SCALE), nodes)
        node = open_.pop()
        if node.bound >= weakest:
            continue  # as a leaf, it is not the one that decides
        nodes += 1
        try:
            _work_on(node, options, relaxation, deadline, spend or meter(Deadline()), whole)
        except OutOfTime:
            open_.append(node)
            break
        if not node.closed and not node.children:
            weakest = min(weakest, node.bound)  # nothing to branch on: it stays a leaf of this bound
        # The child with the higher bound, where plans are less likely to be better, is looked at first.
        open_ += node.children[::-1]
    proven = min(claim.target, -(-min([weakest, *(node.bound for node in open_)]) // SCALE))
    return Proof(_listed(root, SCALE * (proven - 1) + 1), proven, nodes)


def _work_on(
    node: _Node,
    options: Options,
    relaxation: Relaxation,
    deadline: Deadline,
    spend: meter,
    whole: Callable[[Any], None],
) -> None:
    """Close a node, or give it children."""
    deadline.check()
    claim = options.claim
    reached = SCALE * (claim.target - 1) + 1
    node.bound = max(node.bound, core.bound(claim, node.price, node.sides)[1])
    node.closed = node.bound >= reached  # by the prices of its parent, or since a block has no option any more
    if node.closed:
        return
    found = _best_prices(node, options, relaxation, deadline)
    with spend.until(deadline):
        node.closed = node.bound >= reached or _ends(claim, node, deadline)
    if node.closed:
        return
    node.branch = options.branch(*found)
    if node.branch is None:
        whole(found[0])
    else:
        block, row, most = node.branch
        node.children = tuple(
            _Node({**node.sides, block: (*node.sides.get(block, ()), (row, sign, side))}, node.price, node.bound)
            for sign, side in ((1, most), (-1, -most - 1))
        )


def _best_prices(node: _Node, options: Options, relaxation: Relaxation, deadline: Deadline) -> tuple[Any, Any]:
    """Give a node the prices that prove most; what the relaxation takes at the end, and its prices."""
    claim, target = options.claim, options.claim.target
    counts = np.array(options.counts, dtype=np.float64)
    relaxation.allow(np.arange(relaxation.columns), options.admitted(node.sides))
    best, stalled = -math.inf, 0
    price: Any = None
    try:
        for _ in range(ROUNDS):
            relaxed = relaxation.solve(deadline)
            least, more = options.worth(relaxed.price, relaxed.of_block, node.sides)
            proven = float(least @ counts - relaxed.price @ options.capacities)
            stalled += 1
            if price is None or proven > best + 1e-9 * abs(best):
                best, price, stalled = proven, relaxed.price, 0
            relaxation.add(more)  # in any case: `options` counts on it
            if not more or best >= target - 1 + 1e-3:
                break
            if stalled >= STALLED and options.branch(relaxed.taken, relaxed.price) is not None:
                break
    except OutOfTime:
        if price is not None:  # what they prove is not lost
            _take(node, claim, options.named(price))
        raise
    _take(node, claim, options.named(price))
    return relaxed.taken, relaxed.price


def _take(node: _Node, claim: Any, price: dict[str, float]) -> None:
    """The node's own prices, where they prove more than those of its parent."""
    rounded = {row: n for row, p in price.items() if (n := round(p * SCALE)) > 0}
    _, bound = core.bound(claim, rounded, node.sides)
    if bound > node.bound:
        node.price, node.bound = rounded, bound


class _Enough(Exception):
    """The dynamic program takes more steps than are tried."""


def _ends(claim: Any, node: _Node, deadline: Deadline) -> bool:
    """Whether the checker's dynamic program proves the leaf in few steps."""
    remaining = STEPS

    def spend(steps: int) -> None:
        nonlocal remaining
        remaining -= steps
        if remaining < 0:
            raise _Enough
        deadline.check()

    try:
        if core.proved(claim, node.price, node.sides, spend):
            return True
    except (_Enough, core.Wrong):
        return False
    raise Refuted(f"something costs less than {claim.target}")


def _listed(root: _Node, reached: int) -> list[Any]:
    """The nodes as the checker reads them: each before its first child, then its second; none below one that reaches
    what is proved."""
    tree, waiting = list[Any](), [(root, Price())]
    while waiting:
        node, inherited = waiting.pop()
        rows = sorted({*node.price, *inherited})
        changes = {row: node.price.get(row, 0) - inherited.get(row, 0) for row in rows}
        ends = node.bound >= reached
        branch = None if ends else node.branch
        tree.append([{row: change for row, change in changes.items() if change}, *(branch or ())])
        waiting += [] if ends else [(child, node.price) for child in node.children[::-1]]
    return tree
