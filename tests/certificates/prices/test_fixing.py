"""Fixing and cuts leave out nothing that costs less than the target, whatever the prices, branches and cuts are."""

from __future__ import annotations

import itertools
import random

import pytest
from draws import draws
from price_trees import cut

from mlsched.certificates.prices import core
from mlsched.certificates.prices.core import SCALE, Sides, Wrong
from mlsched.certificates.prices.fixing import Fixed, fixed

CLAIM = Fixed(9, {"row": 3}, [[(9, {}), (4, {"row": 2})], [(5, {}), (1, {"row": 2})]])


def drawn(dice: random.Random) -> Fixed:
    """Up to four blocks with up to four options, and up to three rows that are used or supplied."""
    rows = {f"row {r}": dice.choice([dice.randrange(6), -dice.randrange(4)]) for r in range(dice.randrange(1, 4))}

    def option() -> tuple[int, dict[str, int]]:
        return dice.randrange(-9, 20), {row: dice.randrange(-2, 4) for row in rows if dice.random() < 0.8}

    blocks = [[option() for _ in range(dice.randrange(1, 5))] for _ in range(dice.randrange(1, 5))]
    return Fixed(dice.randrange(-20, 60), rows, blocks)


def choices(claim: Fixed) -> list[tuple[tuple[int, tuple[tuple[str, int], ...]], ...]]:
    """What is within the capacities and costs less than the target, by trying all: of each block, cost and uses."""
    found = []
    for choice in itertools.product(*claim.options):
        used = {row: sum(use.get(row, 0) for _, use in choice) for row in claim.capacity}
        within = all(used[row] <= capacity for row, capacity in claim.capacity.items())
        if within and sum(cost for cost, _ in choice) < claim.target:
            found.append(tuple((cost, tuple(sorted((r, n) for r, n in use.items() if n))) for cost, use in choice))
    return found


def admitted(choice, sides: dict[int, Sides]) -> bool:
    """Whether a choice keeps to what the branches demand of its blocks."""
    return all(sign * dict(choice[b][1]).get(row, 0) <= most for b, of in sides.items() for row, sign, most in of)


def without_cuts(choice, claim: Fixed):
    return tuple((cost, tuple((row, n) for row, n in use if row in claim.capacity)) for cost, use in choice)


def test_every_choice_below_the_target_stays_and_keeps_to_the_cuts(report):
    """All choices by trying them, before and after, for random prices and random cuts, of which some are of others."""
    dice, dropped, kept, held = random.Random(5), 0, 0, 0
    for _ in range(draws(200, 5000)):
        claim = drawn(dice)
        price = {row: dice.randrange(9 * SCALE) for row in claim.capacity if dice.random() < 0.7}
        rows = list(claim.capacity)
        cuts = []
        for k in range(dice.randrange(4)):
            cuts.append(cut(rows, claim.blocks, dice))
            rows.append(f"cut {len(claim.capacity) + k}")
        sides = {
            block: ((dice.choice([*claim.capacity, "cut 99"]), dice.choice([1, -1]), dice.randrange(-1, 3)),)
            for block in range(claim.blocks)
            if dice.random() < 0.3
        }
        made = fixed(claim, price, sides, cuts, lambda steps: None)
        before = [choice for choice in choices(claim) if admitted(choice, sides)]
        assert [without_cuts(choice, claim) for choice in choices(made)] == before
        assert len(made.capacity) == len(claim.capacity) + len(cuts)
        dropped += sum(map(len, claim.options)) - sum(map(len, made.options))
        kept += sum(map(len, made.options))
        held += len(before)
    report("fixing", [f"{dropped:6}  options dropped", f"{kept:6}  kept", f"{held:6}  choices below the target"])
    assert min(dropped, kept, held) > 0


def test_a_branch_admits_less_and_so_does_what_it_leaves():
    sides = {0: (("row", 1, 0),)}
    assert fixed(CLAIM, {}, sides, [], lambda steps: None).options[0] == []  # 9 is beyond 8 - 1
    assert fixed(CLAIM, {}, {}, [], lambda steps: None).options[0] == [(4, {"row": 2})]


def test_a_cut_proves_what_prices_alone_do_not():
    """Three rows, each of three options supplies two at a cost of 2: by halves that costs 3, and 4 is the least."""
    pairs = [(0, {}), (2, {"a": -1, "b": -1}), (2, {"a": -1, "c": -1}), (2, {"b": -1, "c": -1})]
    claim = Fixed(5, dict.fromkeys("abc", -1), [pairs, pairs, pairs])
    assert core.bound(claim, dict.fromkeys("abc", SCALE), {})[1] == 3 * SCALE
    made = fixed(claim, {}, {}, [[dict.fromkeys("abc", 1), {}, 2]], lambda steps: None)
    assert core.bound(made, {"cut 3": 2 * SCALE}, {})[1] == 4 * SCALE


@pytest.mark.parametrize(
    ("cuts", "said"),
    [
        (7, "a cut is none"),
        ([7], "a cut is none"),
        ([[{}, {}]], "a cut is none"),
        ([[[], {}, 2]], "a cut is none"),
        ([[{}, [], 2]], "a cut is none"),
        ([[{"row": -1}, {}, 2]], "weight below 0"),
        ([[{"other": 1}, {}, 2]], "of a row that there is not"),
        ([[{}, {}, 0]], "divides by less than 1"),
        ([[{}, {}, 1.5]], "no integer"),
        ([[{"row": True}, {}, 2]], "no integer"),
        ([[{}, {"0": "1"}, 2]], "no integer"),
        ([[{"row": 2**199}, {}, 1]], "more than 200 bits"),
        ([[{"row": 2**190}, {}, 1], [{"cut 1": 2**190}, {}, 1]], "more than 200 bits"),
    ],
)
def test_what_is_wrong_with_a_cut_is_said(cuts, said):
    with pytest.raises(Wrong, match=said):
        core.check(CLAIM, [[{}, cuts], [{}]])


def test_a_shift_of_no_block_counts_nothing():
    """Else the capacity of the cut could be made as small as one likes."""
    made = fixed(CLAIM, {}, {}, [[{"row": 1}, {"0": -1, "7": -50, "01": -50, "-1": -50}, 1]], lambda steps: None)
    assert made.capacity["cut 1"] == 2


def test_a_branch_cannot_speak_of_a_cut_that_is_made_below_it():
    """Each side could make another row of that name, one that all options break: together, they would prove anything.

    The branch is true of every choice, but of "cut 1" as it is on one side: 0 of what costs nothing, or -1.
    """
    claim = Fixed(5, {"row": -1}, [[(0, {"row": -1})]])
    nothing, supply = [{}, {}, 1], [{"row": 1}, {}, 1]
    lie = [[{}, 0, "cut 1", -1], [{}, [nothing]], [{}], [{}, [supply]], [{}]]
    assert choices(claim)
    for fixed_before in ([], [[{}, []]]):
        with pytest.raises(Wrong, match="name of a cut, 'cut 1'"):
            core.check(claim, [*fixed_before, *lie])
    second = [[{}, 0, "cut 2", -1], [{}, [nothing, nothing]], [{}], [{}, [nothing, supply]], [{}]]
    with pytest.raises(Wrong, match="name of a cut, 'cut 2'"):
        core.check(claim, second)


def test_a_row_that_has_the_name_of_a_cut_is_not_overwritten():
    with pytest.raises(Wrong, match="name of a cut, 'cut 1'"):
        fixed(Fixed(5, {"cut 1": -1}, [[(0, {"cut 1": -1})]]), {}, {}, [[{}, {}, 1]], lambda steps: None)


def test_a_branch_on_a_cut_that_there_is_admits_what_it_says():
    """A cut of "row" and a branch on it, both of whose sides are needed; neither proves the other."""
    claim = Fixed(5, {"row": -1}, [[(5, {"row": -1}), (6, {"row": -2})]])
    core.check(claim, [[{}, [[{"row": 1}, {}, 1]]], [{}, 0, "cut 1", -2], [{}], [{}]])
    cheaper = Fixed(6, {"row": -1}, claim.options)
    with pytest.raises(Wrong, match="does not prove"):
        core.check(cheaper, [[{}, [[{"row": 1}, {}, 1]]], [{}, 0, "cut 1", -2], [{}], [{}]])
