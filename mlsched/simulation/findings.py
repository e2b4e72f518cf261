"""Replay violations, grouped by kind."""

from __future__ import annotations

from collections import defaultdict

#: Sentences kept per kind of violation; the rest is counted.
SHOWN = 5


class Findings:
    """Violations by kind; a kind with many shows the first few and counts the rest."""

    def __init__(self) -> None:
        self.kinds: dict[str, list[str]] = defaultdict(list)

    def add(self, kind: str, sentence: str) -> None:
        """Add one violation."""
        self.kinds[kind].append(sentence)

    def sentences(self) -> list[str]:
        """Return all violations as `kind: sentence`."""
        lines = []
        for kind, sentences in self.kinds.items():
            lines += [f"{kind}: {s}" for s in sentences[:SHOWN]]
            if len(sentences) > SHOWN:
                lines.append(f"{kind}: {len(sentences) - SHOWN} more")
        return lines
