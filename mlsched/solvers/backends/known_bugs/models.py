"""The known-bug models, read from `models.toml` in exact fractions."""

from __future__ import annotations

import dataclasses
import functools
import re
import tomllib
from collections.abc import Iterable, Mapping
from fractions import Fraction
from importlib import resources
from typing import Any, Literal

import numpy as np

from mlsched.core.aliases import Data

#: A coefficient, right-hand side or bound of at least this size makes a model "wide".
WIDE = 10**6
#: Features of a model about which its solver may be wrong.
Feature = Literal["binary", "integer", "continuous", "unbounded", "wide"]
Terms = Mapping[str, Fraction]

_TERM = re.compile(r"([+-]?)\s*(\d+(?:\.\d+)?)?\s*([A-Za-z]\w*)?")


@dataclasses.dataclass(frozen=True)
class Variable:
    """Bounds (None: unbounded) and integrality of a variable."""

    name: str
    low: Fraction | None
    high: Fraction | None
    integer: bool


@dataclasses.dataclass(frozen=True)
class Row:
    """low <= sum of terms <= high; None for a missing end."""

    terms: Terms
    low: Fraction | None
    high: Fraction | None


@dataclasses.dataclass(frozen=True)
class KnownBug:
    """One model. answer: its optimum, "infeasible" or "unbounded"; of: "report" or "class" (see `models.toml`)."""

    name: str
    of: str
    source: str
    wrong: str
    reason: str
    sense: str
    cost: Terms
    rows: tuple[Row, ...]
    variables: tuple[Variable, ...]
    answer: Fraction | str

    @functools.cached_property
    def features(self) -> frozenset[Feature]:
        """Return its features (`features_of`)."""
        low = [-np.inf if v.low is None else float(v.low) for v in self.variables]
        high = [np.inf if v.high is None else float(v.high) for v in self.variables]
        numbers = [float(x) for row in self.rows for x in (*row.terms.values(), row.low or 0, row.high or 0)]
        return features_of(low, high, [v.integer for v in self.variables], numbers)


def features_of(low: Any, high: Any, integer: Any, numbers: Iterable[float]) -> frozenset[Feature]:
    """Return the features of a model with these bounds and types of variables.

    Args:
        low: Lower bounds of the variables.
        high: Upper bounds of the variables.
        integer: Whether each variable is an integer.
        numbers: All coefficients and right-hand sides.
    """
    low, high, integer = np.asarray(low, float), np.asarray(high, float), np.asarray(integer, bool)
    binary = integer & (low >= 0) & (high <= 1)
    finite = np.abs(np.concatenate([low, high, np.fromiter(numbers, float)]))
    features = {
        "binary": binary.any(),
        "integer": (integer & ~binary).any(),
        "continuous": (~integer).any(),
        "unbounded": np.isinf(low).any() or np.isinf(high).any(),
        "wide": (finite[np.isfinite(finite)] >= WIDE).any(),
    }
    return frozenset(name for name, there in features.items() if there)  # type: ignore[misc]


@functools.cache
def known_bugs() -> tuple[KnownBug, ...]:
    """Return all known-bug models, in the order of the file."""
    text = resources.files(__package__).joinpath("models.toml").read_text(encoding="utf-8")
    return tuple(_known_bug(table) for table in tomllib.loads(text)["model"])


def _known_bug(table: Data) -> KnownBug:
    sense, _, goal = table["goal"].partition(" ")
    cost, rows = _terms(goal), [_row(text) for text in table.get("rows", ())]
    bounds = [_row(text) for text in table.get("bounds", ())]
    names = dict.fromkeys(name for terms in (cost, *(r.terms for r in (*rows, *bounds))) for name in terms)
    whole = names if table.get("integer") == "*" else dict.fromkeys(table.get("integer", "").split())
    ends: dict[str, Row] = {name: row for row in bounds for name in row.terms}
    free = Row({}, None, None)
    variables = [
        Variable(name, ends.get(name, free).low, ends.get(name, free).high, name in whole)
        for name in {**names, **whole}
    ]
    answer = table["answer"]
    return KnownBug(
        name=table["name"],
        of=table["of"],
        source=table["source"],
        wrong=table.get("wrong", ""),
        reason=table["reason"],
        sense=sense,
        cost=cost,
        rows=tuple(rows),
        variables=tuple(variables),
        answer=answer if answer in ("infeasible", "unbounded") else Fraction(answer),
    )


def _row(text: str) -> Row:
    """Parse a row: `3 x - y <= 2`, `x = 1`, `1 <= x <= 2`."""
    parts = [part.strip() for part in re.split(r"(<=|>=|=)", text)]
    if len(parts) == 5:
        low, _, middle, _, high = parts
        return Row(_terms(middle), Fraction(low), Fraction(high))
    remainder, sign, right = parts
    end = Fraction(right)
    return Row(_terms(remainder), None if sign == "<=" else end, None if sign == ">=" else end)


def _terms(text: str) -> Terms:
    """Parse `3 x - 0.5 y` as name -> coefficient; a single number (`0`) is an empty mapping."""
    coefficients: dict[str, Fraction] = {}
    rest = text.strip()
    while rest:
        match = _TERM.match(rest)
        if match is None or not match[0]:
            raise ValueError(f"'{text}' is not a sum of terms, at '{rest}'")
        if match[3]:
            sign = -1 if match[1] == "-" else 1
            coefficients[match[3]] = coefficients.get(match[3], Fraction(0)) + sign * Fraction(match[2] or 1)
        rest = rest[match.end() :].strip()
    return coefficients
