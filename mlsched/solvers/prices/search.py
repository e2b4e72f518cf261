"""The prover: prices and branches that the checker accepts, for any claim. What it says is never believed.

At every node of the tree: the linear relaxation within the branches, by column generation (`backends/columns.py`); its
prices, rounded to integers; what these prove, exactly (`Options.bound`). Where that reaches the target, or the
checker's dynamic program ends in few states, the node is a leaf. Where the claim can be fixed, and that leaves few
options, these are listed and get cuts (`cuts.py`). Else it is branched on, depth first. Where the time is over before
the tree is complete, the lowest bound of its leaves is what it proves; so in the second half of the time, the node with
the lowest bound comes first.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mlsched.certificates.by_prices import meter
from mlsched.certificates.prices import core
from mlsched.certificates.prices.core import SCALE, Price, Sides
from mlsched.certificates.prices.fixing import Fixed, Fixing, fixed
from mlsched.core.deadline import Deadline, OutOfTime
from mlsched.core.errors import SolverError
from mlsched.solvers.backends.columns import Relaxation
from mlsched.solvers.prices.cuts import Cut, cuts_of
from mlsched.solvers.prices.listed import ListedOptions
from mlsched.solvers.prices.options import Branch, Options

#: Steps of the checker's dynamic program that are tried at a node before it is branched on.
STEPS = 400_000
#: Options that fixing may leave; it is done once more where so small a share of the slack is left.
MOST_OPTIONS, SHARE = 60_000, 0.5
#: Rounds of column generation at a node, and rounds without a better bound, after which its best prices are taken where
#: there is something to branch on.
ROUNDS, STALLED = 500, 30


class _Part:
    """The nodes of the tree down to the next fixing: their options, and the linear program that they share.

    slack: what the fixing had; it is done once more where half of it is left.
    """

    def __init__(self, options: Options, slack: float = math.inf) -> None:
        self.options, self.claim, self.slack = options, options.claim, slack
        self.relaxation = Relaxation(options.counts, options.capacities, options.beyond)
        self.relaxation.add(options.start())


@dataclasses.dataclass
class _Node:
    """A node of the tree: its branches so far, prices, the bound they prove (scaled), and how it goes on.

    With `cuts`, it is a fixing. part: None until the time for the first options is there.
    """

    sides: dict[int, Sides]
    price: Price
    bound: int
    part: _Part | None = None
    branch: Branch | None = None
    cuts: list[Cut] | None = None
    children: tuple[_Node, ...] = ()
    closed: bool = False


@dataclasses.dataclass(frozen=True)
class Proof:
    """A tree and what it proves: that everything costs `bound` or more, which is the claim's target or less."""

    tree: list[Any]
    bound: int
    nodes: int


class Refuted(SolverError):
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
    try:
        root.part = _Part(options)
    except OutOfTime:
        proven = min(claim.target, -(-root.bound // SCALE))
        return Proof([[{}]], proven, 0)
    open_, nodes, half = [root], 0, (deadline.remaining() or 0.0) / 2
    weakest = SCALE * claim.target  # the lowest bound of a leaf that falls short
    while open_:
        progress(math.ceil(min(weakest, *(node.bound for node in open_)) / SCALE), nodes)
        if (remaining := deadline.remaining()) is not None and remaining < half:
            open_.append(open_.pop(min(range(len(open_)), key=lambda k: open_[k].bound)))
        node = open_.pop()
        if node.bound >= weakest:
            continue  # as a leaf, it is not the one that decides
        nodes += 1
        try:
            _work_on(node, deadline, spend or meter(Deadline()), whole)
        except OutOfTime:
            open_.append(node)
            break
        if not node.closed and not node.children:
            weakest = min(weakest, node.bound)  # nothing to branch on: it stays a leaf of this bound
        # The child with the higher bound, where plans are less likely to be better, is looked at first.
        open_ += node.children[::-1]
    proven = min(claim.target, -(-min([weakest, *(node.bound for node in open_)]) // SCALE))
    return Proof(_listed(root, SCALE * (proven - 1) + 1), proven, nodes)


def _work_on(node: _Node, deadline: Deadline, spend: meter, whole: Callable[[Any], None]) -> None:
    """Close a node, or give it children."""
    deadline.check()
    part = node.part
    assert part is not None
    claim = part.claim
    reached = SCALE * (claim.target - 1) + 1
    node.bound = max(node.bound, part.options.bound(node.price, node.sides))
    node.closed = node.bound >= reached  # by the prices of its parent, or since a block has no option any more
    if node.closed:
        return
    taken, price = _best_prices(node, part, deadline)
    branch = part.options.branch(taken, price)
    with spend.until(deadline):
        node.closed = node.bound >= reached
        if node.closed or _fix(node, part, deadline):
            return
        # Branches of what fixing left cost less than to go through all choices.
        node.closed = not (branch and isinstance(claim, Fixed)) and _ends(claim, node, deadline)
    if node.closed:
        return
    node.branch = branch
    if branch is None:
        whole(taken)
    else:
        block, row, most = branch
        node.children = tuple(
            _Node({**node.sides, block: (*node.sides.get(block, ()), (row, sign, side))}, node.price, node.bound, part)
            for sign, side in ((1, most), (-1, -most - 1))
        )


def _fix(node: _Node, part: _Part, deadline: Deadline) -> bool:
    """Where fixing leaves few options, end with them, or make the node one that fixes; whether it is either."""
    claim = part.claim
    slack = SCALE * (claim.target - 1) - node.bound
    if not isinstance(claim, Fixing) or slack >= SHARE * part.slack:
        return False
    try:
        left = fixed(_Few(claim, MOST_OPTIONS), node.price, node.sides, [], lambda steps: deadline.check())
    except (_Enough, core.Wrong):
        part.slack = slack
        return False
    node.closed = not isinstance(claim, Fixed) and _ends(left, node, deadline)
    if not node.closed:
        node.cuts = [] if node.sides else cuts_of(left, deadline)
        made = fixed(claim, node.price, node.sides, node.cuts, lambda steps: deadline.check())
        node.children = (_Node(node.sides, node.price, node.bound, _Part(ListedOptions(made), slack)),)
    return True


class _Few:
    """A claim with so many options at most that are left; else _Enough."""

    def __init__(self, claim: Any, most: int) -> None:
        self.target, self.capacity, self.blocks, self.least = claim.target, claim.capacity, claim.blocks, claim.least
        self._claim, self._room = claim, most

    def cheap(self, block: int, price: Price, sides: Sides, most: int) -> list[tuple[int, core.Use]]:
        options: list[tuple[int, core.Use]] = self._claim.cheap(block, price, sides, most)
        self._room -= len(options)
        if self._room < 0:
            raise _Enough
        return options


def _best_prices(node: _Node, part: _Part, deadline: Deadline) -> tuple[Any, Any]:
    """Give a node the prices that prove most; what the relaxation takes at the end, and its prices."""
    options, relaxation = part.options, part.relaxation
    target = options.claim.target
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
            _take(node, options, options.named(price))
        raise
    _take(node, options, options.named(price))
    return relaxed.taken, relaxed.price


def _take(node: _Node, options: Options, price: dict[str, float]) -> None:
    """The node's own prices, where they prove more than those of its parent."""
    rounded = {row: n for row, p in price.items() if (n := round(p * SCALE)) > 0}
    bound = options.bound(rounded, node.sides)
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
        more: Sequence[Any] = () if ends else node.branch or (() if node.cuts is None else (node.cuts,))
        tree.append([{row: change for row, change in changes.items() if change}, *more])
        waiting += [] if ends else [(child, node.price) for child in node.children[::-1]]
    return tree
