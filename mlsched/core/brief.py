"""Short representations of public objects."""

from __future__ import annotations

import re

#: Longest representation, and longest fact in it, in characters.
MAX_LINE, MAX_FACT = 200, 100
#: "1 jobs of the log were": the count, its noun, further words and the verb.
_ONE = re.compile(r"(?<![\w.,])1 (job|row|time)s\b( of the log| are| come| wait| were)?( wait)?")
_VERBS = {" are": " is", " come": " comes", " wait": " waits", " were": " was"}


def short_repr(thing: object, *facts: str | None) -> str:
    """Return the type's name and some facts: "<Result: fitgpp on preemption, total_score 12 s, feasible>"."""
    shortened = [fact if len(fact) <= MAX_FACT else f"{fact[: MAX_FACT - 4]} ..." for fact in facts if fact]
    line = " ".join(f"<{type(thing).__name__}: {', '.join(shortened)}".split())
    return f"{line if len(line) < MAX_LINE else line[: MAX_LINE - 5] + ' ...'}>"


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun: "1 job", "3 jobs"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def with_singulars(text: str) -> str:
    """Return a text with "1 jobs were" as "1 job was"; for texts that keep the plural because they are hashed."""
    return _ONE.sub(lambda m: f"1 {m[1]}" + "".join(_VERBS.get(word, word) for word in m.groups("")[1:]), text)
