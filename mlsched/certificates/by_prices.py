"""Dual certificates: a tree of prices that bounds every plan, for whatever the objective asks (`prices/core.py`).

    tree.json                     a tree for each claim that the instance, the objective and the bound make
    checker.py                    decides about them without mlsched: python -I checker.py FOLDER

Such a folder is accepted where the trees prove the claims, which are made of the instance anew. Its bound may be short
of the plan's value: then it says how far the plan is from the best at most.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mlsched.certificates.prices import core
from mlsched.certificates.prices.fixing import Fixing, fixed
from mlsched.certificates.prices.statement import Within, statement_of
from mlsched.certificates.received import MOST_TREE, PRICES, VERSION
from mlsched.core.contract import Instance
from mlsched.core.deadline import Deadline
from mlsched.core.errors import InvalidFile
from mlsched.core.files import parse_json, write_json
from mlsched.core.opening import read_bytes, shown_path

#: Steps that the claims of an instance from a stranger may take to be listed: eight for each number that is kept.
MOST_LISTED = 50_000_000
#: Prices and branches that may be kept of the nodes of a tree that wait for their turn.
MOST_WAITING = 5_000_000
#: Numbers that may be kept of the options which a leaf leaves: for each of them a use of every row.
MOST_KEPT = 20_000_000
#: Steps of a check between two looks at the clock.
STEPS = 2_000


def write(instance: Instance, objective: str, bound: int, trees: list[list[Any]], folder: Path) -> dict[str, Any]:
    """Write trees and checker to `folder`; what the manifest says of them."""
    write_json(folder / "tree.json", {"trees": trees})
    (folder / "checker.py").write_text(statement_of(instance).checker(), encoding="utf-8")
    return {"kind": PRICES, "version": VERSION, "bound": bound, "made_by": {}}


def wrong_trees(
    folder: Path, manifest: dict[str, Any], instance: Instance, objective: str, deadline: Deadline
) -> Iterator[str]:
    """What is wrong with the proofs of a folder; nothing where no plan is better than the manifest's bound."""
    yield from unproved(instance, objective, manifest["bound"], trees_in(folder), deadline)


def trees_in(folder: Path) -> list[Any]:
    """The trees of a folder, whatever they are."""
    path = folder / "tree.json"
    read = parse_json(path, read_bytes(path, most=MOST_TREE))
    if not isinstance(read, dict) or set(read) != {"trees"} or not isinstance(read["trees"], list):
        raise InvalidFile(f"{shown_path(path)}: must have a list of trees")
    trees: list[Any] = read["trees"]
    return trees


def unproved(
    instance: Instance, objective: str, bound: int, trees: list[Any], deadline: Deadline, within: Within = ()
) -> Iterator[str]:
    """Why trees do not prove that no plan is better than `bound`; nothing where they do. OutOfTime at the deadline.

    within: see `Statement.claims`.
    """
    try:
        spend = meter(deadline, MOST_LISTED)
        claims = statement_of(instance).claims(instance, objective, bound, spend, within)
        spend.most = None
        if len(claims) != len(trees):
            yield f"there are {len(trees)} trees: this instance and bound need {len(claims)}"
            return
        for claim, tree in zip(claims, trees, strict=True):
            core.check(_Bounded(claim), _watched(tree if isinstance(tree, list) else [], deadline), spend)
    except core.Wrong as wrong:
        yield f"tree.json does not prove that no plan has a better {objective} than {bound}: {wrong}"


class _Bounded:
    """A claim whose leaves and fixings may leave so many options only that a use of every row can be kept of each.

    held: numbers that the options take which fixings above have left.
    """

    def __init__(self, claim: Any, held: int = 0, cuts: int = 0) -> None:
        self.target, self.capacity, self.blocks, self.least = claim.target, claim.capacity, claim.blocks, claim.least
        self._claim, self._held, self._kept, self._of_each = claim, held, held, 1 + len(claim.capacity) + cuts
        if isinstance(claim, Fixing):
            self.fixed = self._fixed

    def cheap(self, block: int, price: core.Price, sides: core.Sides, most: int) -> list[tuple[int, core.Use]]:
        options: list[tuple[int, core.Use]] = self._claim.cheap(block, price, sides, most)
        # A leaf begins with block 0, and so does a fixing.
        self._kept = (self._kept if block else self._held) + len(options) * self._of_each
        if self._kept > MOST_KEPT:
            raise core.Wrong(f"a leaf keeps more than {MOST_KEPT} numbers: branch there")
        return options

    def _fixed(self, price: core.Price, sides: dict[int, core.Sides], cuts: Any, spend: core.Spend) -> _Bounded:
        if type(cuts) is not list:
            raise core.Wrong("a cut is none")
        made = fixed(_Bounded(self._claim, self._held, len(cuts)), price, sides, cuts, spend)
        numbers = sum(1 + len(use) for options in made.options for _, use in options)
        return _Bounded(made, self._held + numbers)


def _watched(tree: list[Any], deadline: Deadline) -> Iterator[Any]:
    """The nodes of a tree, one after the other, with a look at the clock before each.

    A node that waits keeps the prices and the branches of its path. Raises Wrong where all of these would be more than
    MOST_WAITING: a path that is long enough would fill the memory. OutOfTime at the deadline.
    """
    rows: set[Any] = set()  # that have had a price so far
    waiting, kept = [(0, 0, 0)], 0  # of each node that waits: changes and branches on its path, and what it keeps
    for node in tree:
        deadline.check()
        changes, branches, held = waiting.pop() if waiting else (0, 0, 0)
        kept -= held
        if isinstance(node, list) and len(node) > 1 and isinstance(node[0], dict):
            rows |= node[0].keys()
            changes, branches = changes + len(node[0]), branches + 1
            held = min(changes, len(rows)) + branches
            children = 2 if len(node) > 2 else 1  # one of a fixing
            waiting += children * [(changes, branches, held)]
            if (kept := kept + children * held) > MOST_WAITING:
                raise core.Wrong(f"the nodes of a tree that wait keep more than {MOST_WAITING} prices and branches")
        yield node


class meter:  # noqa: N801
    """Counts what is spent: looks at the clock now and then, and refuses what is more than `most`."""

    def __init__(self, deadline: Deadline, most: int | None = None) -> None:
        self.deadline, self.most = deadline, most
        self._spent, self._unclocked = 0, 0

    @contextlib.contextmanager
    def until(self, deadline: Deadline) -> Iterator[None]:
        """Within the block, that is the deadline."""
        before, self.deadline = self.deadline, deadline
        try:
            yield
        finally:
            self.deadline = before

    def __call__(self, steps: int) -> None:
        """Spend so many steps. Raises OutOfTime at the deadline, Wrong beyond the most."""
        self._spent += steps
        self._unclocked += steps
        if self.most is not None and self._spent > self.most:
            raise core.Wrong(f"it takes more than {self.most} steps to list the options of the instance")
        if self._unclocked > STEPS:
            self._unclocked = 0
            self.deadline.check()
