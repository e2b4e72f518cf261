"""What `mlsched simulate` is to run: a log on one cluster or several, at one load or several; and the windows."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mlsched import api
from mlsched.core.errors import InvalidInput, shortened
from mlsched.instances.traces import Trace
from mlsched.simulation.windows import GROUPINGS, Window, consecutive, moment, span

#: By how much arrivals may come faster.
MOST_LOAD = 1000


@dataclasses.dataclass(frozen=True)
class Scenario:
    """A workload, and what tells it from the others: cluster and load; "" where there is only one."""

    label: str
    workload: Any
    cluster: str | None
    load: float


@dataclasses.dataclass(frozen=True)
class Seen:
    """Through which windows runs are seen: from and to as given, the length of each of several, and groupings."""

    start: str | None = None
    end: str | None = None
    every: str | None = None
    by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.every is not None and span(self.every) <= 0:
            raise InvalidInput(f"--every {shortened(self.every)}: must be above 0")
        for name in self.by:
            if name not in GROUPINGS:
                raise InvalidInput(f"--by {shortened(name)}: must be of {', '.join(GROUPINGS)}, separated by commas")

    @property
    def asked(self) -> bool:
        """Whether runs are to be seen through windows at all."""
        return any(given is not None for given in (self.start, self.end, self.every)) or bool(self.by)

    def whole(self, workload: Any) -> Window:
        """The window from `start` to `end`; without them from the first submit until just after the last."""
        ticks = float(workload.submit[-1] - workload.submit[0]) if len(workload.submit) else 0.0
        start = 0.0 if self.start is None else moment(workload, self.start)
        end = ticks * ((workload.tick_ms or 1000) / 1000) + 1 if self.end is None else moment(workload, self.end)
        if start >= end:
            first, last = self.start or "the first submit", self.end or "the last"
            raise InvalidInput(f"--from {first} --to {last}: ends before it begins; give a later end")
        return Window(start, end)

    def parts(self, workload: Any) -> list[Window]:
        """The windows of equal length, or the one window."""
        whole = self.whole(workload)
        if self.every is None:
            return [whole]
        found = list(consecutive(moment(workload, span(self.every)), whole))
        if not found:
            raise InvalidInput(
                f"--every {self.every}: is longer than the {whole.end - whole.start:.6g} s from --from to --to; "
                "give less"
            )
        return found

    def check(self, workload: Any) -> None:
        """Refuse, before any run, windows that there are none of, and groups that the log does not name."""
        self.parts(workload)
        for name in self.by:
            if name in ("group", "partition", "status") and not getattr(workload, f"{name}_names", ()):
                raise InvalidInput(f"--by {name}: the log names none; read {name}=COLUMN, or leave it out")


def scenarios(
    trace: str,
    log: Trace | None,
    problem: str,
    *,
    clusters: Sequence[str],
    loads: Sequence[float],
    settings: dict[str, Any],
    **arguments: Any,
) -> list[Scenario]:
    """The workloads: every cluster with every load. settings: of the source; arguments: of `api.workload`."""
    if len(loads) > 1 or loads[0] != 1:
        if log is None:
            raise InvalidInput("--scale-load: is for logs; a synthetic workload has a load of its own (--set load=0.9)")
        if not clusters:
            raise InvalidInput("--scale-load: without a cluster, nodes are made for the load; give --cluster")
    repeated = [cluster for cluster in clusters if list(clusters).count(cluster) > 1]
    if repeated:
        raise InvalidInput(f"--cluster {shortened(repeated[0])}: is given twice; leave one out")
    own = float(settings.get("arrivals", 1.0)) if loads != [1.0] else 1.0
    found = []
    every: Sequence[str | None] = clusters or [None]
    for cluster in every:
        for load in loads:
            scaled = settings if load == 1 else {**settings, "arrivals": own * load}
            workload = api.workload(trace if log is None else log, problem, cluster=cluster, **scaled, **arguments)
            found.append(Scenario(_label(cluster, load, clusters, loads), workload, cluster, load))
    return found


def _label(cluster: str | None, load: float, clusters: Sequence[str], loads: Sequence[float]) -> str:
    parts = [] if cluster is None or len(clusters) < 2 else [cluster if "(" in cluster else Path(cluster).name]
    parts += [f"load x {load:g}"] if len(loads) > 1 else []
    return ", ".join(parts)


def loads_of(text: str | None) -> list[float]:
    """ "0.8,1,1.2" as numbers above 0, each once."""
    if text is None:
        return [1.0]
    try:
        found = [float(item) for item in text.split(",")]
    except ValueError:
        found = []
    if not found or not all(0 < load <= MOST_LOAD for load in found) or len(set(found)) < len(found):
        raise InvalidInput(
            f"--scale-load {shortened(text)}: must be numbers above 0 and at most {MOST_LOAD}, each once, "
            "such as 0.8,1,1.2"
        )
    return found
