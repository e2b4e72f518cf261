"""Check that prices prove a lower bound. Standard library only, integers of any size.

A claim: whoever chooses one option in every block, so that no row is used beyond its capacity, pays `target` or more.
An option has a cost and uses some of each row; a negative use supplies it.

A tree proves it. Every node changes the prices of rows, which are never negative; 2^24 is a cost of 1. A node with a
branch [block, row, most] has two children: what the block uses of the row is at most that much in the first, and more
in the second. One or the other is true of every choice. A leaf must prove the claim for the choices that its branches
admit. Every option's *priced cost* is its cost and the price of what it uses. A choice within the capacities pays no
more for its uses than all capacity costs, so (weak duality), whatever the prices are,

    cost of a choice >= sum over blocks of the least priced cost - sum over rows of price * capacity.

Where that falls short of the target by `slack`, a choice that costs less than the target takes no option beyond the
least priced cost of its block plus the slack: a dynamic program goes through all choices of the options that remain.

A claim has `target`; `capacity`: row -> capacity, for the rows that may have a price, named by strings; `blocks`, how
many there are; and

    least(block, price, sides)          the least priced cost among the options, NEVER without any
    cheap(block, price, sides, most)    all options of a priced cost of `most` or less: (priced cost, {row: use})

and, if it has it, another claim that says as much about choices which cost less than the target:

    fixed(price, sides, cuts, spend)    what the node below [{row: change of price}, cuts] is about

`sides`: what the branches demand of the block, (row, sign, most) for sign * use <= most. To ignore one is sound.
"""

from collections.abc import Callable, Iterable
from typing import Any

SCALE, NEVER = 2**24, 2**999
MOST_STATES, MOST_NUMBERS, MOST_BITS = 20_000, 5_000_000, 200
Use = dict[str, int]  # row -> amount
Price = dict[str, int]  # row -> price
Sides = tuple[tuple[str, int, int], ...]
Spend = Callable[[int], None]  # called with numbers of steps


class Wrong(Exception):
    """What is wrong."""


def integer(number: Any) -> int:
    if type(number) is not int or abs(number) >> MOST_BITS:
        raise Wrong("a price, a branch or a cut is no integer, or one of more than 200 bits")
    return number


def check(claim: Any, tree: Iterable[Any], spend: Spend = lambda steps: None) -> None:
    """Raise Wrong unless the tree proves the claim. Its nodes are listed each before its first child, then its second:
    [{row: change of price}] is a leaf, [{row: change of price}, block, row, most] has a branch, and for
    [{row: change of price}, cuts], which has one child, see `fixed` above.
    """
    nodes, waiting = iter(tree), list[tuple[Any, Price, dict[int, Sides]]]([(claim, {}, {})])
    while waiting:
        claim, price, sides = waiting.pop()
        try:
            changes, *branch = next(nodes)
            price = price | {row: price.get(row, 0) + integer(change) for row, change in changes.items()}
            block, row, most = branch if branch[1:] else (0, "", 0)
            fixed = claim.fixed if len(branch) == 1 else None
        except (StopIteration, AttributeError, TypeError, ValueError):
            raise Wrong("the tree ends early, or a node is none") from None
        known = all(map(claim.capacity.__contains__, changes)) and type(row) is str
        if not known or min(price.values(), default=0) < 0:
            raise Wrong("a price is below 0, or of a row that there is not")
        spend(len(price))
        if fixed:
            waiting.append((fixed(price, sides, *branch, spend), price, sides))
        elif branch:
            for sign, side in ((-1, -integer(most) - 1), (1, most)):
                waiting.append((claim, price, sides | {integer(block): (*sides.get(block, ()), (row, sign, side))}))
        elif not proved(claim, price, sides, spend):
            raise Wrong(f"a leaf does not prove that everything costs {claim.target} or more")
    if next(nodes, None) is not None:
        raise Wrong("nodes follow the end of the tree")


def bound(claim: Any, price: Price, sides: dict[int, Sides]) -> tuple[list[int], int]:
    """The least priced cost of every block, and what follows for every choice: SCALE times a lower bound."""
    least = [claim.least(block, price, sides.get(block, ())) for block in range(claim.blocks)]
    return least, sum(least) - sum(p * claim.capacity[row] for row, p in price.items())


def proved(claim: Any, price: Price, sides: dict[int, Sides], spend: Spend) -> bool:
    """Whether no choice that the sides admit costs less than the target."""
    least, all_pay = bound(claim, price, sides)
    slack = SCALE * (claim.target - 1) - all_pay
    if slack < 0:
        return True
    rows = list(claim.capacity)
    kept: list[list[tuple[int, list[int]]]] = []  # of each block: excess over the least priced cost, uses
    for block, cost in enumerate(least):
        options = claim.cheap(block, price, sides.get(block, ()), cost + slack)
        kept.append([(priced - cost, [use.get(row, 0) for row in rows]) for priced, use in options])
    return not states_below(kept, [(claim.capacity[row], price.get(row, 0)) for row in rows], slack, spend)


def states_below(
    kept: list[list[tuple[int, list[int]]]], rows: list[tuple[int, int]], slack: int, spend: Spend
) -> dict[tuple[int, ...], int]:
    """What choices below the target use of the rows (capacity, price), each with its least excess over the least costs.

    A state goes when a row will be used beyond its capacity, or when its excess and the price of what will remain
    unused pass the slack.
    """
    room = []  # before each block: the most and the least that may have been used of a row, for what follows to fit
    most, most_later = [capacity for capacity, _ in rows], [0 for _ in rows]
    for options in reversed(kept):
        room.append((most, most_later))
        most = [m - min(use[r] for _, use in options) for r, m in enumerate(most)]
        most_later = [m + max(use[r] for _, use in options) for r, m in enumerate(most_later)]
    states, most_states = {tuple(0 for _ in rows): 0}, min(MOST_STATES, MOST_NUMBERS // (1 + len(rows)))
    for options in kept:
        most, most_later = room.pop()
        made: dict[tuple[int, ...], int] = {}
        for used, excess in states.items():
            spend(len(options) * (1 + len(rows)))
            for more, use in options:
                total = excess + more
                sums = tuple(map(int.__add__, used, use))
                unused = sum(
                    price * (capacity - u - later)
                    for u, later, (capacity, price) in zip(sums, most_later, rows, strict=True)
                    if capacity > u + later
                )
                if total + unused <= slack and total < made.get(sums, NEVER) and all(map(int.__le__, sums, most)):
                    made[sums] = total
                    if len(made) > most_states:
                        raise Wrong(f"a leaf needs more than {most_states} states: branch there")
        states = made
    return states
