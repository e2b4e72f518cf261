"""Dual certificates: trees of prices that bound every plan, for any supported objectives (`prices/core.py`).

    tree.json                     the trees, for each claim in turn
    checker.py                    decides about the claims without mlsched: python -I checker.py FOLDER

The manifest has a claim for each point of a front, or one for a single plan: an objective, a bound, and the plans in
its scope (`within`). The trees must prove the claims. If a bound is short of the plan's value, the difference bounds
the plan's distance from the optimum.

The points of a front in two objectives get worse in the first and better in the second. Each has a claim of the
epsilon-constraint method: all plans that are better in the second objective than the previous point have at best the
bound in the first objective. One more claim bounds the second objective of all plans. These claims cover every plan:

1. Let a point be as good as the plan in the second objective, and take the first such point. The plan is better there
than the previous point, so the point's claim bounds the plan. The point is therefore as good in the second objective,
and worse in the first by at most the point's gap.
2. Otherwise the plan is better in the second objective than all points. The last point's claim bounds it: that point is
worse in the first by at most its gap, and in the second by at most the gap of the last claim.

If all bounds are the points' own values, the points are the complete front.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mlsched.certificates.claimed import Claimed, claims_of, sign_of
from mlsched.certificates.prices import core
from mlsched.certificates.prices.fixing import Fixing, fixed
from mlsched.certificates.prices.statement import Within, statement_of
from mlsched.certificates.received import MOST_BITS, MOST_TREE
from mlsched.core.contract import Instance
from mlsched.core.deadline import Deadline
from mlsched.core.errors import InvalidFile, InvalidInput, with_article
from mlsched.core.files import parse_json, write_json
from mlsched.core.safe_open import read_bytes, shown_path

#: Steps allowed for listing the claims of an untrusted instance: eight for each stored number.
MOST_LISTED = 50_000_000
#: Prices and branches that may be stored for the waiting nodes of a tree.
MOST_WAITING = 5_000_000
#: Numbers that may be stored for the remaining options of a leaf: a use of every row for each option.
MOST_KEPT = 20_000_000
#: Steps of a check between two looks at the clock.
STEPS = 2_000


class Dual(Claimed):
    """Plans that prices prove to be the best, or within a gap of it."""

    kind = "dual"

    @staticmethod
    def check(instance: Instance, objectives: Sequence[str], first: Sequence[str]) -> None:
        """Implement `Claimed.check`."""
        statement, single = statement_of(instance), len(objectives) == 1
        if not single and not statement.limits:
            raise InvalidInput(f"points of fronts of {with_article(instance.kind)} cannot be certified")
        if first:
            raise InvalidInput(
                f"first: {', '.join(first)}, but points that are certified by prices do not need it; leave it out"
            )
        if not single and (len(objectives) != 2 or objectives[0] == objectives[1]):
            raise InvalidInput(
                f"objectives: {', '.join(objectives)}, expected two, for points of a front to be certified by prices"
            )
        for name in objectives:
            statement.check(instance.objective(name).name)
            if not single and instance.primary(name) is not None:
                raise InvalidInput(
                    f"points of fronts in {name} cannot be certified: its primary criterion is not stated"
                )

    def disorder(self) -> str:
        """Return why points do not get worse in the first objective and better in the second; "" if they do."""
        if len(self.objectives) == 1:
            return "" if len(self.plans) == 1 else "a front in one objective has one point"
        first, second = (sign_of(self.instance, name) for name in self.objectives)
        for number, (before, row) in enumerate(zip(self.values, self.values[1:], strict=False), 2):
            if first * row[0] <= first * before[0] or second * row[1] >= second * before[1]:
                worse, better = self.objectives
                return f"point {number} is not worse in {worse} and better in {better} than the one before"
        return ""

    def wrong_proofs(self, folder: Path, proofs: list[object], claims: list[str], deadline: Deadline) -> Iterator[str]:
        """Implement `Claimed.wrong_proofs`."""
        expected_claims, trees = claims_of(self.instance, self.objectives, self.values), trees_in(folder)
        if len(proofs) != len(expected_claims):
            yield f"the manifest has {len(proofs)} proofs: these points need {len(expected_claims)}"
        elif len(trees) != len(expected_claims):
            yield f"tree.json has the trees of {len(trees)} claims: these points need {len(expected_claims)}"
        else:
            for number, (entry, (name, _, within), some) in enumerate(
                zip(proofs, expected_claims, trees, strict=True), 1
            ):
                where = f"claim {number}: " if self.of_front else ""
                bound = entry.get("bound") if isinstance(entry, dict) else None
                if type(bound) is not int or bound.bit_length() > MOST_BITS:
                    yield f"claim {number} has no bound that is an integer of at most {MOST_BITS} bits"
                elif entry != _claim_entry(name, bound, within) or not _all_integers(entry["within"]):
                    plans = "".join(f" of plans with {other} as good as {limit}" for other, limit in within)
                    yield f"claim {number} is not about {name}{plans}"
                else:
                    for why in reasons_unproved(self.instance, name, bound, some, deadline, within):
                        yield f"{where}{why}"

    def bounds(self, proofs: list[Any]) -> tuple[int, ...]:
        """Implement `Claimed.bounds`."""
        return tuple(entry["bound"] for entry in proofs)


def write(claimed: Dual, proved_trees: Sequence[tuple[list[Any], int]], folder: Path) -> dict[str, Any]:
    """Write the trees and the checker to `folder`; return their manifest entries.

    proved: For each claim (`claims_of`), the trees and their proven bound.
    """
    write_json(folder / "tree.json", {"trees": [trees for trees, _ in proved_trees]})
    (folder / "checker.py").write_text(statement_of(claimed.instance).checker(), encoding="utf-8")
    expected_claims = claims_of(claimed.instance, claimed.objectives, claimed.values)
    proofs = [
        _claim_entry(name, bound, within)
        for (name, _, within), (_, bound) in zip(expected_claims, proved_trees, strict=True)
    ]
    return {"proofs": proofs, "made_by": {}}


def _claim_entry(objective: str, bound: int, within: Within) -> dict[str, object]:
    return {"objective": objective, "bound": bound, "within": dict(within)}


def _all_integers(limits: dict[str, object]) -> bool:
    """Return whether all are integers; 5.0, which equals one, is refused by `checker.py`."""
    return all(type(limit) is int for limit in limits.values())


def trees_in(folder: Path) -> list[Any]:
    """Return the trees of each claim of a folder, whatever they are."""
    path = folder / "tree.json"
    read = parse_json(path, read_bytes(path, most=MOST_TREE))
    if not isinstance(read, dict) or set(read) != {"trees"} or not isinstance(read["trees"], list):
        raise InvalidFile(f"{shown_path(path)}: expected a list of trees for each claim")
    trees: list[Any] = read["trees"]
    return trees


def reasons_unproved(
    instance: Instance, objective: str, bound: int, trees: Any, deadline: Deadline, within: Within = ()
) -> Iterator[str]:
    """Return why trees do not prove that `bound` is unbeaten, or an empty text; OutOfTime at the deadline.

    within: See `Statement.claims`.
    """
    try:
        spend = meter(deadline, MOST_LISTED)
        claims = statement_of(instance).claims(instance, objective, bound, spend, within)
        spend.most = None
        if not isinstance(trees, list) or len(claims) != len(trees):
            number = len(trees) if isinstance(trees, list) else "no"
            yield f"there are {number} trees: this instance and bound need {len(claims)}"
            return
        for claim, tree in zip(claims, trees, strict=True):
            core.check(_Bounded(claim), _nodes_in_time(tree if isinstance(tree, list) else [], deadline), spend)
    except core.Wrong as wrong:
        yield f"tree.json does not prove that no plan has a better {objective} than {bound}: {wrong}"


class _Bounded:
    """A claim whose leaves and fixings may leave only as many options as fit in memory, with a use of every row each.

    held: Numbers of the options that previous fixings have left.
    """

    def __init__(self, claim: Any, options_before: int = 0, cuts: int = 0) -> None:
        self.target, self.capacity, self.blocks, self.least = claim.target, claim.capacity, claim.blocks, claim.least
        self._claim, self._held, self._kept, self._of_each = (
            claim,
            options_before,
            options_before,
            1 + len(claim.capacity) + cuts,
        )
        if isinstance(claim, Fixing):
            self.fixed = self._fix_options

    def cheap(self, block: int, price: core.Price, sides: core.Sides, most: int) -> list[tuple[int, core.Use]]:
        options: list[tuple[int, core.Use]] = self._claim.cheap(block, price, sides, most)
        # A leaf begins with block 0, and so does a fixing.
        self._kept = (self._kept if block else self._held) + len(options) * self._of_each
        if self._kept > MOST_KEPT:
            raise core.Wrong(f"a leaf keeps more than {MOST_KEPT} numbers: branch there")
        return options

    def _fix_options(self, price: core.Price, sides: dict[int, core.Sides], cuts: Any, spend: core.Spend) -> _Bounded:
        if type(cuts) is not list:
            raise core.Wrong("a cut is malformed")
        rest = fixed(_Bounded(self._claim, self._held, len(cuts)), price, sides, cuts, spend)
        numbers = sum(1 + len(use) for options in rest.options for _, use in options)
        return _Bounded(rest, self._held + numbers)


def _nodes_in_time(tree: list[Any], deadline: Deadline) -> Iterator[Any]:
    """Yield the nodes of a tree in order, with a look at the clock before each.

    A waiting node stores the prices and the branches of its path. A sufficiently long path would fill the memory.

    Raises:
        Wrong: The stored numbers exceed MOST_WAITING.
        OutOfTime: At the deadline.
    """
    rows: set[object] = set()  # that have had a price so far
    waiting, total = [(0, 0, 0)], 0  # for each waiting node: changes and branches on its path, and its size
    for node in tree:
        deadline.check()
        changes, branches, size = waiting.pop() if waiting else (0, 0, 0)
        total -= size
        if isinstance(node, list) and len(node) > 1 and isinstance(node[0], dict):
            rows |= node[0].keys()
            changes, branches = changes + len(node[0]), branches + 1
            size = min(changes, len(rows)) + branches
            children = 2 if len(node) > 2 else 1  # one of a fixing
            waiting += children * [(changes, branches, size)]
            if (total := total + children * size) > MOST_WAITING:
                raise core.Wrong(f"the nodes of a tree that wait keep more than {MOST_WAITING} prices and branches")
        yield node


class meter:  # noqa: N801
    """Counts the steps spent: looks at the clock regularly, and rejects more than `most`."""

    def __init__(self, deadline: Deadline, most: int | None = None) -> None:
        self.deadline, self.most = deadline, most
        self._spent, self._unclocked = 0, 0

    @contextlib.contextmanager
    def until(self, deadline: Deadline) -> Iterator[None]:
        """Set the deadline within the block."""
        before, self.deadline = self.deadline, deadline
        try:
            yield
        finally:
            self.deadline = before

    def __call__(self, steps: int) -> None:
        """Spend a number of steps; raise OutOfTime at the deadline, and Wrong after `most` steps."""
        self._spent += steps
        self._unclocked += steps
        if self.most is not None and self._spent > self.most:
            raise core.Wrong(f"it takes more than {self.most} steps to list the options of the instance")
        if self._unclocked > STEPS:
            self._unclocked = 0
            self.deadline.check()
