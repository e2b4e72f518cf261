"""What `print` shows of public objects: one short line. Everything in them is in their fields, tables and files."""

from __future__ import annotations

#: Signs of such a line at most, and of one fact in it.
MOST, MOST_FACT = 200, 100


def brief(thing: object, *facts: str | None) -> str:
    """The type's name, then what is known: "<Result: fitgpp on preemption, total_score 12 s, feasible>"."""
    shown = [fact if len(fact) <= MOST_FACT else f"{fact[: MOST_FACT - 4]} ..." for fact in facts if fact]
    line = " ".join(f"<{type(thing).__name__}: {', '.join(shown)}".split())
    return f"{line if len(line) < MOST else line[: MOST - 5] + ' ...'}>"


def counted(number: int, noun: str) -> str:
    """ "1 job", "3 jobs"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
