"""The checker within limits: whatever proof somebody sent, its check ends, and what it takes stays within bounds.

A proof of a few lines can ask for more than any machine has: each constraint the sum of the one before and itself
doubles its numbers line by line; a copy of a wide constraint takes a word. The limits are far beyond what proofs of
`exact` have (widest seen: lines of 0.5 MB, 3 constraints waiting, numbers of 29 bits, a term derived per three words).
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from mlsched.certificates.checker import HEADER, Constraint, Proof, Wrong, lines
from mlsched.core.deadline import Deadline
from mlsched.core.errors import InvalidFile
from mlsched.core.safe_open import open_file, shown_path

#: Signs of a line; constraints of a `pol` line that wait for their sum; bits of a number that is derived.
MOST_LINE, MOST_WAITING, MOST_BITS = 2**22, 100, 256
#: Terms of all constraints that are derived: so many, and one more per four words of the proof.
MOST_TERMS, WORDS = 10**6, 4
#: Terms that are gone through between two looks at the clock.
TERMS_BETWEEN = 10_000


class Limited(Proof):
    """A proof whose check raises OutOfTime at the deadline, and Wrong where it would take too much memory."""

    def __init__(self, formula: str, deadline: Deadline) -> None:
        self._deadline, self._room, self._unclocked = deadline, MOST_TERMS, 0
        super().__init__(formula)

    def step(self, words: list[str]) -> None:
        """One line of the proof."""
        self._deadline.check()
        if words[0] == "pol":
            _check_waiting(words)
        known = len(self.derived)
        super().step(words)
        for terms, bound in self.derived[known:] if words[0] != "l" else ():
            _check_bits(terms, bound)
            self._room += len(words) // WORDS - len(terms)
            if self._room < 0:
                raise Wrong(f"derives more than {MOST_TERMS} terms and one per {WORDS} words of the proof")

    def find(self, words: list[str], among: list[Constraint]) -> Constraint:
        """As the checker's."""
        found = super().find(words, among)
        self._spend(len(found[0]))
        return found

    def slack(self, terms: dict[int, int], bound: int, false: Collection[int] = ()) -> int:
        """As the checker's."""
        self._spend(len(terms))
        return super().slack(terms, bound, false)

    def scaled(self, rule: str, terms: dict[int, int], bound: int, factor: int) -> Constraint:
        """As the checker's."""
        self._spend(len(terms))
        found = super().scaled(rule, terms, bound, factor)
        _check_bits(*found)
        return found

    def _spend(self, terms: int) -> None:
        self._unclocked += terms + 1
        if self._unclocked > TERMS_BETWEEN:
            self._unclocked = 0
            self._deadline.check()


def _check_waiting(words: list[str]) -> None:
    """Refuse a `pol` line that puts many constraints on the stack before it adds any: each sum goes through all."""
    waiting = 0
    for word, following in zip(words[1:], [*words[2:], ""], strict=True):
        if word == "+":
            waiting -= 1
        elif word not in ("*", "d", "s") and following not in ("*", "d"):
            waiting += 1
            if waiting > MOST_WAITING:
                raise Wrong(f"more than {MOST_WAITING} constraints wait for their sum")


def _check_bits(terms: dict[int, int], bound: int) -> None:
    if max(map(abs, (bound, *terms.values()))) >> MOST_BITS:
        raise Wrong(f"derives a number of more than {MOST_BITS} bits")


def check(formula: str, proof: Iterable[str], deadline: Deadline) -> int | None:
    """As `checker.check`, within limits; `proof`: its lines. Raises OutOfTime at the deadline."""
    made, steps = Limited(formula, deadline), iter(proof)
    if next(steps, "").rstrip("\n") != HEADER:
        raise Wrong(f"proof, line 1: must be '{HEADER}'")
    lines(itertools.chain(["*"], steps), "proof", made.step)
    if not made.ended:
        raise Wrong("proof: has no end (rule c)")
    return made.minimum


def lines_of(path: Path, most: int, deadline: Deadline) -> Iterator[str]:
    """The lines of a text file of at most `most` bytes, one after the other; no line is longer than MOST_LINE."""
    with open_file(path, most=most) as file, io.TextIOWrapper(file, encoding="utf-8") as text:
        try:
            for place in itertools.count(1):
                deadline.check()
                line = text.readline(MOST_LINE + 1)
                if len(line) > MOST_LINE:
                    raise InvalidFile(f"{shown_path(path)}, line {place}: has more than {MOST_LINE} characters")
                if not line:
                    return
                yield line
        except UnicodeDecodeError:
            raise InvalidFile(f"{shown_path(path)}: is not text (bytes that are not UTF-8)") from None


def first_difference(found: Iterable[str], expected: str) -> str:
    """Where the lines of a file are not those of a text, in words; empty where they are."""
    place, start = 0, 0
    for place, line in enumerate(found, 1):
        if not expected.startswith(line, start):
            return f"line {place} says '{line[:60].rstrip()}'"
        start += len(line)
    return "" if start == len(expected) else f"it ends with line {place}"
