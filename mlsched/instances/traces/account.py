"""Account of every row of a log: jobs, skipped rows with reasons, and changes to jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

#: How many lines of a kind are named.
NAMED = 3


@dataclass(frozen=True)
class Rows:
    """The number of rows of one kind, and the places of the first of them ("line 7")."""

    count: int
    first: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Format as "3 (line 5, line 9, line 12)", or "12 (line 5, ...)" if some places are omitted."""
        if not self.first:
            return str(self.count)
        kind = self.first[0].partition(" ")[0]
        where = ", ".join(place.removeprefix(f"{kind} ") for place in self.first)
        return f"{self.count} ({kind} {where}{', ...' if self.count > len(self.first) else ''})"


@dataclass(frozen=True)
class Account:
    """Account of every row of a log, or of the part of it that was read.

    Attributes:
        rows: Rows that were read; jobs + skipped + joined.
        jobs: Rows that became jobs.
        skipped: Rows that are not jobs, by reason.
        joined: Rows that are a part of another row's job (steps, earlier runs), by kind.
        changed: Changes to values of jobs, by kind. A job may count twice.
        whole: True if the log was read to its end, not only its first N jobs.
        unread: Columns that were not read.
    """

    rows: int = 0
    jobs: int = 0
    skipped: Mapping[str, Rows] = field(default_factory=dict)
    joined: Mapping[str, Rows] = field(default_factory=dict)
    changed: Mapping[str, Rows] = field(default_factory=dict)
    whole: bool = True
    unread: tuple[str, ...] = ()

    def sentences(self) -> list[str]:
        """Return the account as sentences; the first counts all rows."""
        skipped = sum(rows.count for rows in self.skipped.values())
        joined_rows = sum(rows.count for rows in self.joined.values())
        parts = [f"{self.rows} rows read", f"{self.jobs} jobs", f"{skipped} skipped"]
        parts += [f"{joined_rows} part of another row's job"] if joined_rows else []
        lines = [", ".join(parts) + ("." if self.whole else "; the rest of the log was not read.")]
        for what, kinds in (("Skipped", self.skipped), ("Part of another row", self.joined), ("Changed", self.changed)):
            if kinds:
                lines.append(f"{what}: " + "; ".join(f"{kind}: {rows}" for kind, rows in kinds.items()) + ".")
        if self.unread:
            lines.append(f"Columns that are not read: {', '.join(self.unread)}.")
        return lines

    def to_json(self) -> dict[str, object]:
        """Convert to plain data: kinds with their counts and first places."""
        kinds = {
            name: {kind: {"count": rows.count, "first": list(rows.first)} for kind, rows in of_kind.items()}
            for name, of_kind in (("skipped", self.skipped), ("joined", self.joined), ("changed", self.changed))
        }
        return {"rows": self.rows, "jobs": self.jobs, **kinds, "whole": self.whole, "unread": list(self.unread)}
