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
    """What is translated in this block raises OutOfTime at the deadline, and TooLong where the text of its formulas
    would have more than so many characters: an instance from a stranger may be made to be without end.
    """
    token = _limits.set(_Limits(deadline, signs))
    try:
        yield
    finally:
        _limits.reset(token)


def spend(signs: int = 0) -> None:
    """Called by whatever a translation repeats, with the signs that come to the text at least."""
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
    """What an instance and an objective ask, in variables that are 0 or 1; the least sum of the objective is asked for.

    claim: in a sentence, what is minimised and over which plans. The value that the formula stands for is
    `scale * minimum + offset`: coefficients are divided by their greatest common divisor, never rounded, and a
    negative scale turns a maximum into a minimum.
    """

    def __init__(self, claim: str) -> None:
        self.claim = claim
        self.meanings: list[str] = []
        self.constraints: list[Constraint] = []
        self.objective: tuple[Term, ...] = ()
        self.scale, self.offset = 1, 0
        self._terms = 0

    def variable(self, meaning: str) -> int:
        """A new variable, 1 where the plan does what `meaning` says."""
        spend(len(meaning) + len("* x1: \n"))
        self.meanings.append(meaning)
        if len(self.meanings) > MOST_VARIABLES:
            raise InvalidInput(f"the formula has more than {MOST_VARIABLES} variables; certify a smaller instance")
        return len(self.meanings)

    def at_least(self, family: str, terms: Iterable[Term], degree: int) -> None:
        """The sum of the terms is at least `degree`. A variable may occur once."""
        made = Constraint(family, tuple((c, x) for c, x in terms if c), degree)
        spend(len("+1 x1 ") * len(made.terms))
        self._terms += len(made.terms)
        if self._terms > MOST_TERMS:
            raise InvalidInput(f"the formula has more than {MOST_TERMS} terms; certify a smaller instance")
        self.constraints.append(made)

    def at_most(self, family: str, terms: Iterable[Term], most: int) -> None:
        """The sum of the terms is at most `most`."""
        self.at_least(family, [(-c, x) for c, x in terms], -most)

    def exactly(self, family: str, terms: Iterable[Term], number: int) -> None:
        """The sum of the terms is `number`: two constraints."""
        terms = list(terms)
        self.at_least(family, terms, number)
        self.at_most(family, terms, number)

    def implies(self, family: str, if_true: int, then_true: int) -> None:
        """Where the first variable is 1, the second is."""
        self.at_least(family, [(1, then_true), (-1, if_true)], 0)

    def optimise(self, terms: Iterable[Term], *, sense: str = "min", offset: int = 0, weight: int = 1) -> None:
        """The value is weight * (sum of the terms + offset), to be minimised or maximised."""
        kept = [(c, x) for c, x in terms if c]
        divisor = math.gcd(*(c for c, _ in kept)) or 1
        sign = 1 if sense == "min" else -1
        self.objective = tuple((sign * c // divisor, x) for c, x in kept)
        self.scale, self.offset = weight * sign * divisor, weight * offset

    def levels(self, what: str, choices: dict[int, int]) -> list[Term]:
        """Terms whose least sum is the largest of `choices` (variable -> number) among the chosen ones, at least 0.

        One variable a distinct positive number, 1 where the largest is at least that; it counts the difference to the
        number before.
        """
        terms, before, reached = [], 0, {0: 0}
        for number in sorted({n for n in choices.values() if n > 0}):
            level = self.variable(f"{what} is at least {number}")
            if before:
                self.implies(what, level, reached[before])
            reached[number] = level
            terms.append((number - before, level))
            before = number
        for variable, number in choices.items():
            if number > 0:
                self.implies(what, variable, reached[number])
        return terms

    def value(self, minimum: int) -> int:
        """The value that the objective's minimum stands for."""
        return self.scale * minimum + self.offset

    def text(self) -> str:
        """The formula in OPB, with comments that say what its variables and constraints mean."""
        lines = [_comment(self.claim), f"* value = {self.scale} * minimum + {self.offset}"]
        lines += [_comment(f"x{x}: {meaning}") for x, meaning in enumerate(self.meanings, 1)]
        lines.append(f"min: {_sum(self.objective)};")
        family = ""
        for constraint in self.constraints:
            if constraint.family != family:
                family = constraint.family
                lines.append(_comment(family))
            lines.append(f"{_sum(constraint.terms)}>= {constraint.degree} ;")
        return "\n".join(lines) + "\n"


def _comment(text: str) -> str:
    """A line that says nothing to a checker, whatever the names of an instance are: one with a line end in it would."""
    return f"* {text if text.isprintable() else ascii(text)}"


def _sum(terms: Iterable[Term]) -> str:
    return "".join(f"{c:+d} x{x} " for c, x in terms)
