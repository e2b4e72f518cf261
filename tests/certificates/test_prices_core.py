"""The checker's core on claims of a few blocks: whatever tree it is given, it never accepts what is false."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import pytest
from draws import draws
from price_trees import changed

from mlsched.certificates.prices import core
from mlsched.certificates.prices.core import SCALE, Wrong
from mlsched.certificates.prices.fixing import Fixed
from mlsched.certificates.prices.listed import Listed
from mlsched.core.deadline import Deadline
from mlsched.solvers.prices.listed import ListedOptions
from mlsched.solvers.prices.search import Refuted, prove


def drawn(dice: random.Random) -> Listed:
    """Up to four blocks with up to four options and up to three rows, some of which must be supplied."""
    rows = {f"row {r}": dice.choice([dice.randrange(8), -dice.randrange(4)]) for r in range(dice.randrange(1, 4))}

    def option() -> tuple[int, dict[str, int]]:
        use = {row: dice.randrange(5) if capacity >= 0 else -dice.randrange(3) for row, capacity in rows.items()}
        return dice.randrange(-9, 20), {row: amount for row, amount in use.items() if dice.random() < 0.8}

    blocks = [[option() for _ in range(dice.randrange(1, 5))] for _ in range(dice.randrange(1, 5))]
    return dice.choice([Listed, Fixed])(0, rows, blocks)


def cheapest(claim: Listed) -> int | None:
    """By trying all choices; None where none is within the capacities."""
    best = None
    for choice in itertools.product(*claim.options):
        used = {row: sum(use.get(row, 0) for _, use in choice) for row in claim.capacity}
        if all(used[row] <= capacity for row, capacity in claim.capacity.items()):
            cost = sum(cost for cost, _ in choice)
            best = cost if best is None else min(best, cost)
    return best


def accepted(claim: Listed, tree) -> bool:
    try:
        core.check(claim, tree)
    except Wrong:
        return False
    return True


def test_what_the_prover_finds_is_accepted_and_nothing_beyond_it(report):
    fate, dice = Counter[str](), random.Random(48)
    for _ in range(draws(150, 5000)):
        claim = drawn(dice)
        best = cheapest(claim)
        claim.target = 1000 if best is None else best
        proof = prove(ListedOptions(claim), Deadline())
        assert proof.bound == claim.target
        core.check(claim, proof.tree)
        fate["nothing fits" if best is None else "by bound" if bounded(claim, proof.tree) else "by states"] += 1
        if best is not None:
            claim.target = best + 1
            assert not accepted(claim, proof.tree)
            with pytest.raises(Refuted):
                prove(ListedOptions(claim), Deadline())
    report("how claims of a few blocks are proved", [f"{n:5}  {how}" for how, n in sorted(fate.items())])
    assert min(fate[how] for how in ("nothing fits", "by bound", "by states")) >= sum(fate.values()) // 20, fate


def bounded(claim: Listed, tree) -> bool:
    """Whether the prices alone reach the target, at a tree of one leaf."""
    return len(tree) == 1 and core.bound(claim, tree[0][0], {})[1] > SCALE * (claim.target - 1)


def test_no_tree_whatever_proves_what_is_false(report):
    """Genuine trees and changed ones, for targets that are true and targets that are not."""
    fate, dice = Counter[str](), random.Random(49)
    for _ in range(draws(40, 400)):
        claim = drawn(dice)
        best = cheapest(claim)
        claim.target = 7 if best is None else best
        tree = branched(claim, dice)
        assert accepted(claim, tree)
        for _ in range(50):
            other = changed(tree, dice)
            claim.target = (7 if best is None else best) + dice.choice([-1, 0, 0, 1, 1, 5])
            true = best is None or claim.target <= best
            good = accepted(claim, other)
            fate[f"{'accepted' if good else 'refused'}, {'true' if true else 'false'}"] += 1
            assert true or not good, (claim.options, claim.capacity, claim.target, other)
    report("changed trees", [f"{n:5}  {how}" for how, n in sorted(fate.items())])
    assert fate["accepted, true"] > 0
    assert fate["refused, false"] > 0


def branched(claim: Listed, dice: random.Random) -> list:
    """A tree with a branch or two above the prover's leaves."""
    block, row = dice.randrange(claim.blocks), dice.choice(list(claim.capacity))
    tree, most = prove(ListedOptions(claim), Deadline()).tree, dice.randrange(-2, 4)
    return [[{}, block, row, most], *tree, *tree]


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        ([], "the tree ends early"),
        ([[{}, 0, "row", 1], [{}]], "the tree ends early"),
        ([[{}], [{}]], "nodes follow the end"),
        ([7], "a node is none"),
        ([[]], "a node is none"),
        ([[{}, []], [{}]], "a node is none"),
        ([[{}, 0, "row"]], "a node is none"),
        ([[[1, 2]]], "a node is none"),
        ([[{"row": -1}]], "a price is below 0"),
        ([[{"other": 1}]], "of a row that there is not"),
        ([[{"row": 1.5}]], "no integer"),
        ([[{"row": True}]], "no integer"),
        ([[{"row": 2**201}]], "more than 200 bits"),
        ([[{}, [0], "row", 1], [{}], [{}]], "no integer"),
        ([[{}, 0, ["row"], 1], [{}], [{}]], "of a row that there is not"),
        ([[{}, 0, "row", "1"], [{}], [{}]], "no integer"),
        ([[{}]], "a leaf does not prove that everything costs 10 or more"),
    ],
)
def test_what_is_wrong_with_a_tree_is_said(tree, said):
    claim = Listed(10 if "a leaf" in said else 9, {"row": 3}, [[(9, {}), (4, {"row": 2})], [(5, {}), (1, {"row": 2})]])
    with pytest.raises(Wrong, match=said):
        core.check(claim, tree)


def test_a_leaf_of_too_many_states_is_refused(monkeypatch):
    monkeypatch.setattr(core, "MOST_STATES", 3)
    claim = Listed(99, {"row": 50}, [[(0, {}), (0, {"row": 2**k})] for k in range(5)])
    with pytest.raises(Wrong, match="more than 3 states"):
        core.check(claim, [[{}]])


def test_states_are_counted_one_by_one_and_by_their_rows(monkeypatch):
    """One block makes as many states as it has options; a state keeps a number of each row."""
    many = Listed(10, {"row": 100}, [[(0, {"row": n}) for n in range(50)], [(0, {})]])
    monkeypatch.setattr(core, "MOST_STATES", 40)
    with pytest.raises(Wrong, match="more than 40 states"):
        core.check(many, [[{}]])
    monkeypatch.setattr(core, "MOST_STATES", 1000)
    monkeypatch.setattr(core, "MOST_NUMBERS", 60)
    with pytest.raises(Wrong, match="more than 30 states"):
        core.check(many, [[{}]])
