"""Content of the tables of `mlsched simulate`."""

from __future__ import annotations

import dataclasses
from typing import Any

from mlsched.cli.simulation_runs import Entry
from mlsched.cli.simulation_workloads import WindowOptions
from mlsched.instances.traces import Account

#: Seconds of a tick -> the name of its length.
LENGTHS = {1.0: "seconds", 60.0: "minutes", 3600.0: "hours"}


@dataclasses.dataclass(frozen=True)
class Report:
    """Content of all tables: the first scenario's workload, its log's rows, an entry per policy, and the failures."""

    workload: Any
    account: Account | None
    details: list[Entry]
    failures: list[str]
    windows: WindowOptions

    @property
    def ran(self) -> list[Entry]:
        """The entries of policies that ran."""
        return [entry for entry in self.details if "summary" in entry]

    @property
    def scenarios(self) -> list[str]:
        """The labels of the scenarios in order; only "" if there is one scenario."""
        return list(dict.fromkeys(entry.get("scenario", "") for entry in self.details))


def unit_of(report: Report) -> str:
    """Return the unit of times: the name of a tick's length if it has one, else ticks."""
    ticks = report.ran[0]["summary"].get("tick_seconds")
    return "ticks" if not ticks else str(LENGTHS.get(ticks, f"ticks of {ticks:g} s"))
