"""The prover: prices and branches that the checker accepts, for any claim. Its results are untrusted.

At every node of the tree, column generation solves the linear relaxation within the branches (`backends/columns.py`).
Its prices are rounded to integers and prove an exact bound (`Options.bound`). If the bound reaches the target, or the
checker's dynamic program ends in few states, the node is a leaf. If fixing leaves few options of the claim,
these are listed and get cuts (`cuts.py`). Otherwise the node is branched on, depth first. If the time is over before
the tree is complete, it proves the lowest bound of its leaves. So in the second half of the time, the node with
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
from mlsched.core.fields import FloatArray
from mlsched.solvers.backends.columns import Relaxation
from mlsched.solvers.prices.cuts import Cut, cuts_of
from mlsched.solvers.prices.listed import ListedOptions
from mlsched.solvers.prices.options import Branch, Options

#: Steps of the checker's dynamic program that are tried at a node before branching.
STEPS = 400_000
#: Options that fixing may leave; it is repeated when the slack has fallen to this share.
MOST_OPTIONS, SHARE = 60_000, 0.5
#: Rounds of column generation at a node, and rounds without a better bound, after which its best prices are used if
#: branching is possible.
ROUNDS, STALLED = 500, 30


class _Part:
    """The nodes of the tree down to the next fixing: their options, and their common linear program.

    slack: the slack at the fixing; fixing is repeated when half of it is left.
    """

    def __init__(self, options: Options, slack: float = math.inf) -> None:
        self.options, self.claim, self.slack = options, options.claim, slack
        self.relaxation = Relaxation(options.counts, options.capacities, options.beyond)
        self.relaxation.add(options.start())


@dataclasses.dataclass
class _Node:
    """A node of the tree: its branches so far, prices, their proven bound (scaled), and its children.

    With `cuts`, it is a fixing. part: None until the first options are built.
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
    """A tree and its proven bound: every choice costs at least `bound`, which is at most the claim's target."""

    tree: list[Any]
    bound: int
    nodes: int


class Refuted(SolverError):
    """A choice costs less than the claim's target."""


def prove(
    options: Options,
    deadline: Deadline,
    progress: Callable[[int, int], None] = lambda bound, nodes: None,
    spend: meter | None = None,
    whole: Callable[[Any], None] = lambda amounts: None,
) -> Proof:
    """Return a tree for the claim of `options`, or for the highest target that the time allows.

    Args:
        options: The claim and its options.
        deadline: End of the search.
        progress: Called with the bound so far and the number of nodes.
        spend: Counts the steps of the claim itself.
        whole: Called with the amount of each column if the solution is integral and below the target.

    Returns:
        The tree and its bound.

    Raises:
        Refuted: The claim is false.
        OutOfTime: Not even its options are built in time.
    """
    claim, start_time = options.claim, time.perf_counter()
    root = _Node({}, {}, core.bound(claim, {}, {})[1])
    # The exact bound of the last prices takes about the same time again.
    deadline = deadline.earlier(2 * (time.perf_counter() - start_time))
    try:
        root.part = _Part(options)
    except OutOfTime:
        proven_bound = min(claim.target, -(-root.bound // SCALE))
        return Proof([[{}]], proven_bound, 0)
    open_, nodes, half = [root], 0, (deadline.remaining() or 0.0) / 2
    weakest = SCALE * claim.target  # the lowest bound of a leaf below the target
    while open_:
        progress(math.ceil(min(weakest, *(node.bound for node in open_)) / SCALE), nodes)
        if (remaining := deadline.remaining()) is not None and remaining < half:
            open_.append(open_.pop(min(range(len(open_)), key=lambda k: open_[k].bound)))
        node = open_.pop()
        if node.bound >= weakest:
            continue  # as a leaf, it does not decide
        nodes += 1
        try:
            _process_node(node, deadline, spend or meter(Deadline()), whole)
        except OutOfTime:
            open_.append(node)
            break
        if not node.closed and not node.children:
            weakest = min(weakest, node.bound)  # without a branch, it stays a leaf of this bound
        # The child with the higher bound comes first, where better plans are less likely.
        open_ += node.children[::-1]
    proven_bound = min(claim.target, -(-min([weakest, *(node.bound for node in open_)]) // SCALE))
    return Proof(_nodes_in_order(root, SCALE * (proven_bound - 1) + 1), proven_bound, nodes)


def _process_node(node: _Node, deadline: Deadline, spend: meter, whole: Callable[[Any], None]) -> None:
    """Close a node, or add children to it."""
    deadline.check()
    part = node.part
    assert part is not None
    claim = part.claim
    reached = SCALE * (claim.target - 1) + 1
    node.bound = max(node.bound, part.options.bound(node.price, node.sides))
    node.closed = node.bound >= reached  # by its parent's prices, or because a block is empty
    if node.closed:
        return
    amounts, price = _best_prices(node, part, deadline)
    branch = part.options.branch(amounts, price)
    with spend.until(deadline):
        node.closed = node.bound >= reached
        if node.closed or _fix_options(node, part, deadline):
            return
        # After fixing, branches cost less than enumerating all choices.
        node.closed = not (branch and isinstance(claim, Fixed)) and _dynamic_program_ends(claim, node, deadline)
    if node.closed:
        return
    node.branch = branch
    if branch is None:
        whole(amounts)
    else:
        block, row, most = branch
        node.children = tuple(
            _Node({**node.sides, block: (*node.sides.get(block, ()), (row, sign, side))}, node.price, node.bound, part)
            for sign, side in ((1, most), (-1, -most - 1))
        )


def _fix_options(node: _Node, part: _Part, deadline: Deadline) -> bool:
    """Close the node if fixing leaves few options, or turn it into a fixing; return whether it is either."""
    claim = part.claim
    slack = SCALE * (claim.target - 1) - node.bound
    if not isinstance(claim, Fixing) or slack >= SHARE * part.slack:
        return False
    try:
        options_left = fixed(_Few(claim, MOST_OPTIONS), node.price, node.sides, [], lambda steps: deadline.check())
    except (_Enough, core.Wrong):
        part.slack = slack
        return False
    node.closed = not isinstance(claim, Fixed) and _dynamic_program_ends(options_left, node, deadline)
    if not node.closed:
        node.cuts = [] if node.sides else cuts_of(options_left, deadline)
        part_options = fixed(claim, node.price, node.sides, node.cuts, lambda steps: deadline.check())
        node.children = (_Node(node.sides, node.price, node.bound, _Part(ListedOptions(part_options), slack)),)
    return True


class _Few:
    """Access to a claim with a limited number of options; raises _Enough beyond it."""

    def __init__(self, claim: Any, most: int) -> None:
        self.target, self.capacity, self.blocks, self.least = claim.target, claim.capacity, claim.blocks, claim.least
        self._claim, self._room = claim, most

    def cheap(self, block: int, price: Price, sides: Sides, most: int) -> list[tuple[int, core.Use]]:
        options: list[tuple[int, core.Use]] = self._claim.cheap(block, price, sides, most)
        self._room -= len(options)
        if self._room < 0:
            raise _Enough
        return options


def _best_prices(node: _Node, part: _Part, deadline: Deadline) -> tuple[FloatArray, FloatArray]:
    """Compute the strongest prices of a node; return the relaxation's last solution and its prices."""
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
            proven_bound = float(least @ counts - relaxed.price @ options.capacities)
            stalled += 1
            if price is None or proven_bound > best + 1e-9 * abs(best):
                best, price, stalled = proven_bound, relaxed.price, 0
            relaxation.add(more)  # always: `options` counts on it
            if not more or best >= target - 1 + 1e-3:
                break
            if stalled >= STALLED and options.branch(relaxed.taken, relaxed.price) is not None:
                break
    except OutOfTime:
        if price is not None:  # keep their bound
            _keep_better_prices(node, options, options.named(price))
        raise
    _keep_better_prices(node, options, options.named(price))
    return relaxed.taken, relaxed.price


def _keep_better_prices(node: _Node, options: Options, price: dict[str, float]) -> None:
    """Replace the node's prices if these prove more."""
    rounded = {row: n for row, p in price.items() if (n := round(p * SCALE)) > 0}
    bound = options.bound(rounded, node.sides)
    if bound > node.bound:
        node.price, node.bound = rounded, bound


class _Enough(Exception):
    """The dynamic program takes more steps than allowed."""


def _dynamic_program_ends(claim: Any, node: _Node, deadline: Deadline) -> bool:
    """Check whether the checker's dynamic program proves the leaf in few steps."""
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


def _nodes_in_order(root: _Node, reached: int) -> list[Any]:
    """List the nodes in the checker's order: each before its first child, then its second."""
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
