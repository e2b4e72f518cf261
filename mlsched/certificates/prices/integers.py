"""Integers that cannot overflow unseen: what checkers of prices count with. NumPy and the standard library only.

Arrays are of int64, and a calculation in them first proves, in Python's integers, that no entry can leave -`LIMIT` to
`LIMIT`; sums over entries are Python integers, of any size. What could overflow raises `OverflowError` with a sentence,
never a wrong number.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

#: What may stand in an int64 on the way: two of these can still be added.
LIMIT = 2**62
#: Sums are made of a part of 31 bits and one of 33, of either of which so many can be added.
_BITS, _MOST = 31, 2**30


def within(what: str, most: int) -> None:
    """Raise OverflowError unless a number that is at most this large, by its size, can stand in an int64."""
    if most > LIMIT:
        raise OverflowError(f"{what} can reach {float(most):.1e}, more than 2^62: use larger units")


def largest(values: Integers) -> int:
    """The largest of the entries by size, as a Python integer; 0 where there are none."""
    return max(int(values.max()), -int(values.min())) if values.size else 0


def total(values: Integers) -> int:
    """The sum of the entries, exact whatever its size. At most 2^30 entries."""
    if values.size > _MOST:
        raise OverflowError(f"{values.size} entries are too many for one sum: add parts of it")
    high = values >> _BITS  # rounded down, so that what is low is not negative
    return (int(high.sum()) << _BITS) + int((values - (high << _BITS)).sum())


def dot(left: Integers, right: Integers) -> int:
    """The sum of the products of entries, exact whatever its size. Every single product must fit an int64."""
    within("a product", largest(left) * largest(right))
    return total(left * right)
