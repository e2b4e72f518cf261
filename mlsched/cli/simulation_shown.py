"""What `mlsched simulate` has to show of its runs, and the parts of its tables."""

from __future__ import annotations

import dataclasses
from typing import Any

from mlsched.cli.simulation_scenarios import Seen
from mlsched.instances.traces import Account

#: Seconds of a tick -> what people call so long a time.
LENGTHS = {1.0: "seconds", 60.0: "minutes", 3600.0: "hours"}


@dataclasses.dataclass(frozen=True)
class Shown:
    """What there is to show: a workload (the first scenario's), the rows of its log, runs described, what is wrong."""

    workload: Any
    account: Account | None
    details: list[dict[str, Any]]
    failures: list[str]
    seen: Seen

    @property
    def ran(self) -> list[dict[str, Any]]:
        """Of the details, the runs."""
        return [entry for entry in self.details if "summary" in entry]

    @property
    def scenarios(self) -> list[str]:
        """The labels of the scenarios in their order; one, "", where there is no choice."""
        return list(dict.fromkeys(entry.get("scenario", "") for entry in self.details))


@dataclasses.dataclass(frozen=True)
class Block:
    """A table: a line above it, names of columns, and rows; `sentences` stand below it. name: in documents."""

    title: str
    header: list[str]
    rows: list[list[str]]
    sentences: tuple[str, ...] = ()
    name: str = ""


def unit_of(shown: Shown) -> str:
    """What times of runs are in: minutes where a tick is one; of ticks of no stated length, ticks."""
    ticks = shown.ran[0]["summary"].get("tick_seconds")
    return "ticks" if not ticks else str(LENGTHS.get(ticks, f"ticks of {ticks:g} s"))
