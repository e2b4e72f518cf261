"""Check a proof that a 0-1 formula has a given minimum: `python -I checker.py FORMULA.opb PROOF.log`.

Standard library only, exact integers. It vouches for "the minimum of this formula's objective is N" (or "this formula
has no solution"). That the formula says what an instance of mlsched says is the word of mlsched's translation.

FORMULA is in OPB: comment lines begin with `*`; then at most one line `min: +3 x1 -2 x2 ;` and constraints, one a line,
`+1 x1 +2 ~x2 >= 2 ;`, where ~x2 is 1 - x2. Kept of a constraint: {variable: coefficient} and the least sum, its bound.

PROOF is in the style of VeriPB 1.1. After its header, each line but the last derives a constraint; these are numbered
1, 2, ... and hold for every solution that is better than the last one shown:

    l K                   constraint K of the formula
    pol A B + 3 * ...     reverse Polish: constraint A, constraint B, their sum, three times that, ...; `d` divides and
                          rounds up, `s` cuts coefficients down to the bound; a literal x1 stands for x1 >= 0
    rup +1 x1 >= 1 ; A B  holds because its negation contradicts the constraints A, B, ..., each in turn fixing what it
                          leaves no choice about (`~` is the negation itself); if none is named, any may be used
    soli x1 ~x2 ...       these values are a solution, better than those before; the objective is to be smaller still
    c A                   the end: constraint A cannot hold, so nothing is better than the last solution shown
"""

import re
import sys
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

HEADER = "pseudo-Boolean proof version 1.1"
NUMBER, LITERAL = re.compile("[+-]?[0-9]{1,77}"), re.compile("(~?)x([1-9][0-9]{0,17})")
Constraint = tuple[dict[int, int], int]  # {variable: coefficient}, bound


class Wrong(Exception):
    """What is wrong, and in which line."""


def number(word: str) -> int:
    if not NUMBER.fullmatch(word):
        raise Wrong(f"'{word[:40]}' is no integer")
    return int(word)


def literal(word: str) -> int:  # x7 as 7, ~x7 as -7
    if not (found := LITERAL.fullmatch(word)):
        raise Wrong(f"'{word[:40]}' is no literal")
    return -int(found[2]) if found[1] else int(found[2])


def inequality(words: list[str]) -> Constraint:
    """`+1 x1 +2 ~x2 >= 2` as ({1: 1, 2: -2}, 0): ~x2 is 1 - x2, which leaves a constant for the bound."""
    if words[-2] != ">=":
        raise Wrong("a constraint must end with '>= INTEGER ;'")
    terms, bound = {}, number(words[-1])
    for c, x in zip(map(number, words[:-2:2]), map(literal, words[1:-2:2]), strict=True):
        if abs(x) in terms:
            raise Wrong(f"x{abs(x)} occurs twice")
        terms[abs(x)] = c if x > 0 else -c
        bound -= c if x < 0 else 0
    return terms, bound


def lines(text: Iterable[str], name: str, read: Callable[[list[str]], None]) -> None:
    """Call `read` with the words of every line that is no comment."""
    for place, line in enumerate(text, 1):
        if (words := line.split()) and not words[0].startswith("*"):
            try:
                read(words)
            except (Wrong, IndexError, TypeError, ValueError) as wrong:
                reason = wrong if isinstance(wrong, Wrong) else "its words do not fit together"
                raise Wrong(f"{name}, line {place}: {reason}") from None


class Proof:
    """A formula, the constraints that a proof has derived from it so far, and the best solution that it has shown."""

    # It sets no limits on time and memory; `mlsched check` does, around `step`, `find`, `slack` and `scaled`.

    def __init__(self, text: str) -> None:
        self.objective: Constraint | None = None  # as if it were to be at least 0
        self.formula, self.derived = list[Constraint](), list[Constraint]()
        self.minimum: int | None = None
        self.ended = False
        lines(text.split("\n"), "formula", self.read)

    def read(self, words: list[str]) -> None:
        if words.pop() != ";":
            raise Wrong("must end with ' ;'")
        if words[:1] != ["min:"]:
            self.formula.append(inequality(words))
        elif self.objective is None and not self.formula:
            self.objective = inequality([*words[1:], ">=", "0"])
        else:
            raise Wrong("an objective must come once, before the constraints")

    def step(self, words: list[str]) -> None:
        rule, words = words[0], words[1:]
        if self.ended:
            raise Wrong("comes after the end")
        if rule == "c":
            self.ended = self.slack(*self.find(words, self.derived)) < 0
            if not self.ended:
                raise Wrong(f"constraint {words[0]} can hold")
        elif rule == "l":
            self.derived.append(self.find(words, self.formula))
        elif rule in ("pol", "rup", "soli"):
            self.derived.append({"pol": self.polish, "rup": self.propagate, "soli": self.improve}[rule](words))
        else:
            raise Wrong(f"there is no rule '{rule[:40]}'")

    def slack(self, terms: dict[int, int], bound: int, false: Collection[int] = ()) -> int:
        """By how much the sum can exceed the bound when literals in `false` are 0; negative: it cannot hold."""
        return sum(c for x, c in terms.items() if (x not in false if c > 0 else -x in false)) - bound

    def scaled(self, rule: str, terms: dict[int, int], bound: int, factor: int) -> Constraint:
        """A constraint times a factor (*), divided by it and rounded up (d), or with its coefficients cut down (s)."""
        if factor < 1:
            raise Wrong(f"{rule}: needs a positive integer")
        if rule == "*":
            return {x: c * factor for x, c in terms.items()}, bound * factor
        degree = bound - sum(c for c in terms.values() if c < 0)  # the bound when no coefficient is negative
        if degree <= 0:
            return {}, 0
        sizes = {x: -(-abs(c) // factor) if rule == "d" else min(abs(c), degree) for x, c in terms.items()}
        terms = {x: size if terms[x] > 0 else -size for x, size in sizes.items()}
        return terms, -(-degree // factor) + sum(c for c in terms.values() if c < 0)

    def find(self, words: list[str], among: list[Constraint]) -> Constraint:
        (word,) = words
        if not 1 <= number(word) <= len(among):
            raise Wrong(f"there is no constraint {word}")
        return among[number(word) - 1]

    def polish(self, words: list[str]) -> Constraint:
        stack: list[Constraint] = []
        factor = 0
        for word, following in zip(words, [*words[1:], ""], strict=True):
            if word == "+":
                (more, further), (terms, bound) = stack.pop(), stack.pop()
                for x, c in more.items():
                    terms[x] = terms.get(x, 0) + c
                stack.append((terms, bound + further))
            elif following in ("*", "d"):
                factor = number(word)
            elif word in ("*", "d", "s"):
                stack.append(self.scaled(word, *stack.pop(), factor if word != "s" else 1))
            elif word[0] in "~x":
                x = literal(word)
                stack.append(({abs(x): 1 if x > 0 else -1}, 0 if x > 0 else -1))
            else:
                terms, bound = self.find([word], self.derived)
                stack.append((dict(terms), bound))
        ((terms, bound),) = stack
        return {x: c for x, c in terms.items() if c}, bound

    def propagate(self, words: list[str]) -> Constraint:
        place = words.index(";")
        terms, bound = inequality(words[:place])
        negation = {x: -c for x, c in terms.items()}, 1 - bound
        named = [negation if word == "~" else self.find([word], self.derived) for word in words[place + 1 :]]
        false: set[int] = set()
        while True:
            before = len(false)
            for some, least in named or [negation, *self.derived]:
                if (room := self.slack(some, least, false)) < 0:
                    return terms, bound
                free = ((x, c) for x, c in some.items() if x not in false and -x not in false)
                false.update([-x if c > 0 else x for x, c in free if abs(c) > room])
            if named or len(false) == before:
                raise Wrong("does not follow by unit propagation")

    def improve(self, words: list[str]) -> Constraint:
        false = {-literal(word) for word in words}
        known = {abs(x) for x in false}
        if self.objective is None or len(known) < len(words) or not known.issuperset(self.objective[0]):
            raise Wrong("the formula must have an objective, and each of its variables one value")
        for place, (terms, bound) in enumerate(self.formula, 1):
            if not known.issuperset(terms) or self.slack(terms, bound, false) < 0:
                raise Wrong(f"is no solution: constraint {place} of the formula does not hold")
        value = self.slack(*self.objective, false)
        if self.minimum is not None and value >= self.minimum:
            raise Wrong(f"is not better than the solution before: {value} for {self.minimum}")
        self.minimum = value
        return {x: -c for x, c in self.objective[0].items()}, 1 - self.objective[1] - value


def check(formula: str, proof: str) -> int | None:
    """The minimum of the formula's objective, None for a formula without a solution; Wrong if that is not proved."""
    made = Proof(formula)
    if not proof.startswith(HEADER + "\n"):
        raise Wrong(f"proof, line 1: must be '{HEADER}'")
    lines(("* " + proof).split("\n"), "proof", made.step)
    if not made.ended:
        raise Wrong("proof: has no end (rule c)")
    return made.minimum


if __name__ == "__main__":
    try:
        minimum = check(*(Path(path).read_text(encoding="utf-8") for path in sys.argv[1:]))
    except (Wrong, OSError, TypeError, ValueError) as wrong:
        sys.exit(f"not proved: {wrong}")
    print("proved: the formula has no solution" if minimum is None else f"proved: the minimum is {minimum}")  # noqa: T201
