"""A 0-1 formula as data: variables with a meaning, constraints by family, an objective; and its text in OPB."""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import math
from collections.abc import Iterable, Iterator

from mlsched.core.deadline import Deadline
from mlsched.core.errors import InvalidInput

#: A coefficient and the variable (1, 2, ...) that it belongs to.
Term = tuple[int, int]
#: Most variables, and most terms of all constraints together: beyond, proofs are out of reach anyway.
MOST_VARIABLES, MOST_TERMS = 200_000, 3_000_000


class TooLong(Exception):
    """The formulas have more characters than they may have (`within`)."""


@dataclasses.dataclass
class _Limits:
    deadline: Deadline
    signs: float = math.inf


_limits: contextvars.ContextVar[_Limits] = contextvars.ContextVar("limits", default=_Limits(Deadline()))  # noqa: B039


@contextlib.contextmanager
def within(deadline: Deadline, signs: int) -> Iterator[None]:
    """Limit the translation in this block: OutOfTime at the deadline, TooLong beyond `signs` characters of text.

    An untrusted instance may be constructed to have an endless translation.
    """
    token = _limits.set(_Limits(deadline, signs))
    try:
        yield
    finally:
        _limits.reset(token)


def spend(signs: int = 0) -> None:
    """Count one repetition of a translation, with the least number of new characters of text."""
    limits = _limits.get()
    limits.deadline.check()
    limits.signs -= signs
    if limits.signs < 0:
        raise TooLong


@dataclasses.dataclass(frozen=True)
class Constraint:
    """The sum of coefficient * variable is at least `degree`. `family`: the rule of the judge that it states."""

    family: str
    terms: tuple[Term, ...]
    degree: int


class Formula:
    """The constraints of an instance and an objective in 0-1 variables; the objective's sum is minimised.

    claim: Sentence about the minimised value and the plans. The formula's value is `scale * minimum + offset`:
    coefficients are divided by their greatest common divisor, never rounded, and a negative scale turns a maximum into
    a minimum.
    """

    def __init__(self, claim: str) -> None:
        self.claim = claim
        self.meanings: list[str] = []
        self.constraints: list[Constraint] = []
        self.objective: tuple[Term, ...] = ()
        self.scale, self.offset = 1, 0
        self._terms = 0

    def variable(self, meaning: str) -> int:
        """Add a variable, 1 if the plan has the property `meaning`."""
        spend(len(meaning) + len("* x1: \n"))
        self.meanings.append(meaning)
        if len(self.meanings) > MOST_VARIABLES:
            raise InvalidInput(f"the formula has more than {MOST_VARIABLES} variables; certify a smaller instance")
        return len(self.meanings)

    def at_least(self, family: str, terms: Iterable[Term], degree: int) -> None:
        """Require that the sum of the terms is at least `degree`. A variable may occur once."""
        constraint = Constraint(family, tuple((c, x) for c, x in terms if c), degree)
        spend(len("+1 x1 ") * len(constraint.terms))
        self._terms += len(constraint.terms)
        if self._terms > MOST_TERMS:
            raise InvalidInput(f"the formula has more than {MOST_TERMS} terms; certify a smaller instance")
        self.constraints.append(constraint)

    def at_most(self, family: str, terms: Iterable[Term], most: int) -> None:
        """Require that the sum of the terms is at most `most`."""
        self.at_least(family, [(-c, x) for c, x in terms], -most)

    def exactly(self, family: str, terms: Iterable[Term], number: int) -> None:
        """Require that the sum of the terms is `number`: two constraints."""
        terms = list(terms)
        self.at_least(family, terms, number)
        self.at_most(family, terms, number)

    def implies(self, family: str, if_true: int, then_true: int) -> None:
        """Require the second variable to be 1 if the first is."""
        self.at_least(family, [(1, then_true), (-1, if_true)], 0)

    def optimise(self, terms: Iterable[Term], *, sense: str = "min", offset: int = 0, weight: int = 1) -> None:
        """Optimise weight * (sum of the terms + offset), as minimum or maximum."""
        nonzero = [(c, x) for c, x in terms if c]
        divisor = math.gcd(*(c for c, _ in nonzero)) or 1
        sign = 1 if sense == "min" else -1
        self.objective = tuple((sign * c // divisor, x) for c, x in nonzero)
        self.scale, self.offset = weight * sign * divisor, weight * offset

    def levels(self, what: str, choices: dict[int, int]) -> list[Term]:
        """Return terms whose smallest possible sum is the largest number of the chosen variables, at least 0.

        choices: variable -> number.

        One variable per distinct positive number, 1 if the largest is at least that; it counts the difference to the
        previous number.
        """
        terms, before, level_of = [], 0, {0: 0}
        for number in sorted({n for n in choices.values() if n > 0}):
            level = self.variable(f"{what} is at least {number}")
            if before:
                self.implies(what, level, level_of[before])
            level_of[number] = level
            terms.append((number - before, level))
            before = number
        for variable, number in choices.items():
            if number > 0:
                self.implies(what, variable, level_of[number])
        return terms

    def value(self, minimum: int) -> int:
        """Convert the minimum of the sum to the value of the objective."""
        return self.scale * minimum + self.offset

    def text(self) -> str:
        """Return the formula in OPB, with comments that explain its variables and constraints."""
        lines = [_comment_line(self.claim), f"* value = {self.scale} * minimum + {self.offset}"]
        lines += [_comment_line(f"x{x}: {meaning}") for x, meaning in enumerate(self.meanings, 1)]
        lines.append(f"min: {_sum_text(self.objective)};")
        family = ""
        for constraint in self.constraints:
            if constraint.family != family:
                family = constraint.family
                lines.append(_comment_line(family))
            lines.append(f"{_sum_text(constraint.terms)}>= {constraint.degree} ;")
        return "\n".join(lines) + "\n"


def _comment_line(text: str) -> str:
    """Return a comment line, without the line ends that a name in an instance may contain."""
    return f"* {text if text.isprintable() else ascii(text)}"


def _sum_text(terms: Iterable[Term]) -> str:
    return "".join(f"{c:+d} x{x} " for c, x in terms)
