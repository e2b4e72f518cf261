"""Short representations of public objects."""

from __future__ import annotations

#: Longest representation, and longest fact in it, in characters.
MAX_LINE, MAX_FACT = 200, 100


def short_repr(thing: object, *facts: str | None) -> str:
    """Return the type's name and some facts: "<Result: fitgpp on preemption, total_score 12 s, feasible>"."""
    shortened = [fact if len(fact) <= MAX_FACT else f"{fact[: MAX_FACT - 4]} ..." for fact in facts if fact]
    line = " ".join(f"<{type(thing).__name__}: {', '.join(shortened)}".split())
    return f"{line if len(line) < MAX_LINE else line[: MAX_LINE - 5] + ' ...'}>"


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun: "1 job", "3 jobs"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
