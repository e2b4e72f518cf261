"""Reduced-cost fixing, and Chvátal-Gomory cuts, for claims whose options each cost the same whatever the prices.

At any prices, a choice that costs less than the target takes of every block an option of the least priced cost and
the slack, or less: the claim of these options alone says as much. Where they are few they are listed, and rows can be
made of others. Let w(r) >= 0 for a row r, v(b) for a block b, and d > 0 be integers. Every choice within the capacities
has

    sum over blocks b of floor((v(b) + sum w(r) use(b, r)) / d)  <=  floor((sum v(b) + sum w(r) capacity(r)) / d),

since the left is an integer, and is no more than the right before that is rounded down.
"""

from typing import Any

from mlsched.certificates.prices.core import SCALE, Price, Sides, Spend, Use, Wrong, bound, integer
from mlsched.certificates.prices.listed import Listed


class Fixing:
    """A claim whose options have a priced cost of SCALE times their own cost and the price of what they use."""

    def fixed(self, price: Price, sides: dict[int, Sides], cuts: Any, spend: Spend) -> "Fixed":
        """The claim of the options that fixing leaves, with a row more for each cut: [{row: w}, {block: v}, d]."""
        return fixed(self, price, sides, cuts, spend)


class Fixed(Fixing, Listed):
    """What is left of a claim."""


def fixed(claim: Any, price: Price, sides: dict[int, Sides], cuts: Any, spend: Spend) -> Fixed:
    least, all_pay = bound(claim, price, sides)
    slack, options = SCALE * (claim.target - 1) - all_pay, list[list[tuple[int, Use]]]()
    for block, cost in enumerate(least):
        cheap = claim.cheap(block, price, sides.get(block, ()), cost + slack)
        options.append([((priced - total(use, price)) // SCALE, dict(use)) for priced, use in cheap])
        spend(sum(1 + len(use) for _, use in cheap))
    capacity, branched = dict(claim.capacity), {row for demands in sides.values() for row, _, _ in demands}
    try:
        for weight, shift, divisor in cuts:
            if any(integer(w) < 0 or row not in capacity for row, w in weight.items()) or integer(divisor) < 1:
                raise Wrong("a cut has a weight below 0, or of a row that there is not, or divides by less than 1")
            shifts, name = [integer(shift.get(str(block), 0)) for block in range(claim.blocks)], f"cut {len(capacity)}"
            if name in capacity or name in branched:  # branches above have said something of another row of this name
                raise Wrong(f"a branch or a row above has the name of a cut, {name!r}")
            spend(len(shifts) + len(weight) * sum(map(len, options)))
            for some, more in zip(options, shifts, strict=True):
                for _, use in some:
                    if amount := integer((more + total(weight, use)) // divisor):
                        use[name] = amount
            capacity[name] = integer((sum(shifts) + total(weight, capacity)) // divisor)
    except (AttributeError, TypeError, ValueError):
        raise Wrong("a cut is none") from None
    return Fixed(claim.target, capacity, options)


def total(number: dict[str, int], of_each: dict[str, int]) -> int:
    return sum(n * of_each.get(row, 0) for row, n in number.items())
