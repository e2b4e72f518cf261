"""An integer program as data: bounded variables, linear rows, and sums, without a modelling language."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import NamedTuple


@dataclasses.dataclass(frozen=True)
class Sum:
    """A linear expression: coefficients by variable, and a constant."""

    terms: dict[int, int] = dataclasses.field(default_factory=dict)
    constant: int = 0

    def plus_multiple(self, other: Sum, times: int = 1) -> Sum:
        """Return this sum plus `times` the other."""
        terms = dict(self.terms)
        for v, c in other.terms.items():
            terms[v] = terms.get(v, 0) + times * c
        return Sum(terms, self.constant + times * other.constant)


def sum_of_terms(terms: Iterable[tuple[int, int]], constant: int = 0) -> Sum:
    """Return the sum of coefficient * variable, pairs in that order."""
    sums: dict[int, int] = {}
    for c, v in terms:
        sums[v] = sums.get(v, 0) + c
    return Sum(sums, constant)


#: Group and index of a variable or row in models with names.
Index = int | str
Name = tuple[str, tuple[Index, ...]]


class Row(NamedTuple):
    """left <= most."""

    left: Sum
    most: int
    name: Name


class Program:
    """Variables 0, 1, ... and rows `sum <= most`, all in integers. A name is a group and an index."""

    def __init__(self) -> None:
        self.low: list[int] = []
        self.high: list[int] = []
        self.names: list[Name] = []
        self.rows: list[Row] = []
        self._indicators: dict[int, int] = {}

    def add_variable(self, group: str, *index: Index, high: int = 1) -> int:
        """Add a variable from 0 to `high`."""
        self.low.append(0)
        self.high.append(high)
        self.names.append((group, index))
        return len(self.low) - 1

    def add_at_most(self, row: Sum, most: int, group: str, *index: Index) -> None:
        """Add the row `left <= most`, unless the ends of the variables imply it."""
        terms = {v: c for v, c in row.terms.items() if c}
        largest = sum(c * (self.high[v] if c > 0 else self.low[v]) for v, c in terms.items())
        if largest + row.constant > most:
            self.rows.append(Row(Sum(terms), most - row.constant, (group, index)))

    def add_equal(self, row: Sum, number: int, group: str, *index: Index) -> None:
        """Add both rows that make `left = number`."""
        self.add_at_most(row, number, group, *index, "most")
        self.add_at_most(Sum().plus_multiple(row, -1), -number, group, *index, "least")

    def largest_value(self, row: Sum) -> int:
        """Return the largest value of the sum within the ends of the variables."""
        ends = (c * (self.high[v] if c > 0 else self.low[v]) for v, c in row.terms.items())
        return row.constant + sum(ends)

    def add_conditional(self, condition: int, row: Sum, most: int, group: str, *index: Index) -> None:
        """Add `left <= most` for the case that the variable `condition` is 1, unless the ends imply it."""
        excess = self.largest_value(row) - most
        if excess > 0:
            self.add_at_most(row.plus_multiple(Sum({condition: excess})), most + excess, group, *index)

    def add_indicator(self, v: int) -> int:
        """Return a variable that is 1 if `v` is at least 1: `v` if its upper bound is 1."""
        if self.high[v] <= 1:
            return v
        if v not in self._indicators:
            group, index = self.names[v]
            self._indicators[v] = positive = self.add_variable(f"any_{group}", *index)
            self.add_at_most(Sum({v: 1, positive: -self.high[v]}), 0, f"any_{group}", *index)
        return self._indicators[v]

    def add_largest(self, numbers: dict[int, int], group: str) -> Sum:
        """Return a sum that is at least the largest number of a variable that is 1, and equal to it if minimised.

        The largest number is 0 if all variables are 0. One binary per distinct number is 1 if the largest number is at
        least this one: a tighter relaxation than "sum >= number x".

        Args:
            numbers: Variable -> number.
            group: Name of the binaries and, with an ending, of their constraints.
        """
        terms: list[tuple[int, int]] = []
        variables: dict[int, int] = {}
        before = 0
        for number in sorted({n for n in numbers.values() if n > 0}):
            step = self.add_variable(group, number)
            if before:
                self.add_at_most(Sum({step: 1, variables[before]: -1}), 0, f"{group}_falling", number)
            variables[number] = step
            terms.append((number - before, step))
            before = number
        for v, number in numbers.items():
            if number > 0:
                self.add_at_most(Sum({v: 1, variables[number]: -1}), 0, f"{group}_level", *self.names[v][1])
        return sum_of_terms(terms)
