"""What `mlsched simulate` runs: a log on one cluster or several, at one load or several; and through which windows."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mlsched import api
from mlsched.core.errors import InvalidInput, UnknownName, meant, shortened
from mlsched.core.params import parameters_of, split
from mlsched.core.registry import registry
from mlsched.instances.traces import Trace
from mlsched.simulation import Simulation, every_simulation, of_logs, simulations
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
class Asked:
    """What to run, as the options say it: a log or a synthetic workload, how it is read, where, and at which load.

    given: options of the workload's source and of the world, by key.
    """

    trace: str
    problem: str | None
    simulator: str | None
    read: str | None
    strict: bool
    limit: int | None
    clusters: list[str]
    read_cluster: str | None
    loads: list[float]
    given: dict[str, str]
    seed: int

    def world(self, policies: list[str]) -> Simulation:
        """The world that the policies run in; UnknownName where one of them is not known there."""
        own = (
            next((s.problem for s in every_simulation() if s.simulator == self.simulator), None)
            if self.simulator
            else None
        )
        problem = self.problem or own or _problem_of(policies, self.trace)
        found = api.simulation_of(self.trace, problem, self.simulator)
        for policy in policies:
            if found.as_logged is None or policy != found.as_logged.name:
                api.resolve_solver(found.problem, policy, {})
        return found


@dataclasses.dataclass(frozen=True)
class Scenarios:
    """What will be run: every scenario, the options of their world, and the log that they are of, if any."""

    every: list[Scenario]
    options: dict[str, str]
    log: Trace | None

    @property
    def workloads(self) -> list[Any]:
        """The workload of each scenario."""
        return [scenario.workload for scenario in self.every]


def scenarios(world: Simulation, asked: Asked) -> Scenarios:
    """The log read, and every cluster with every load as a scenario of its own."""
    source, options = _split_options(world, asked.trace, asked.given)
    read: dict[str, Any] = {"limit": asked.limit, "read": asked.read, "strict": asked.strict}
    if asked.trace.startswith("synthetic:") or world.from_file is not None:  # of its own
        return Scenarios(_every(world, asked, None, {**read, **source}), options, None)
    log = api.read_log(asked.trace, **read)
    return Scenarios(_every(world, asked, log, source), options, log)


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


def _every(world: Simulation, asked: Asked, log: Trace | None, settings: Mapping[str, Any]) -> list[Scenario]:
    """The workloads: every cluster with every load. settings: of the source."""
    clusters, loads = asked.clusters, asked.loads
    if len(loads) > 1 or loads[0] != 1:
        if log is None:
            raise InvalidInput("--scale-load: is for logs; a synthetic workload has a load of its own (--set load=0.9)")
        if not clusters:
            raise InvalidInput("--scale-load: without a cluster, nodes are made for the load; give --cluster")
    repeated = [cluster for cluster in clusters if clusters.count(cluster) > 1]
    if repeated:
        raise InvalidInput(f"--cluster {shortened(repeated[0])}: is given twice; leave one out")
    own = float(settings.get("arrivals", 1.0)) if loads != [1.0] else 1.0
    found = []
    every: Sequence[str | None] = clusters or [None]
    for cluster in every:
        for load in loads:
            scaled = settings if load == 1 else {**settings, "arrivals": own * load}
            workload = api.workload(
                asked.trace if log is None else log,
                world.problem,
                cluster=cluster,
                read_cluster=asked.read_cluster,
                seed=asked.seed,
                simulator=asked.simulator,
                **scaled,
            )
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


def _problem_of(policies: list[str], trace: str) -> str:
    """The one simulated problem that knows every policy; where several do, the one that the workload is for."""
    as_logged = {s.as_logged.name: s.problem for s in every_simulation() if s.as_logged is not None}
    names = [split(policy)[0] for policy in policies if not api.is_function(policy)]
    logged, names = [name for name in names if name in as_logged], [name for name in names if name not in as_logged]
    known = [p for p in simulations() if all((p, name) in registry().solvers for name in names)]
    known = [p for p in known if all(as_logged[name] == p for name in logged)]
    if len(known) > 1:
        own = api.problem_of(trace)
        if own is None and not trace.startswith("synthetic:"):
            own = of_logs().problem
        known = [problem for problem in known if problem == own] or known
    every = {name for problem in simulations() for p, name in registry().solvers if p == problem}
    for name in names:
        if name not in every:
            raise UnknownName(f"no policy '{name}'{meant(name, every)}; see `mlsched list solvers`")
    if len(known) != 1:
        reason = f"{', '.join(known)} all know them" if known else "no simulated problem knows them all"
        raise UnknownName(f"{' '.join(policies)}: {reason}; give --problem, see `mlsched list solvers`")
    return known[0]


def _split_options(world: Simulation, trace: str, given: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """What belongs to the workload's source, and what to the world."""
    if trace.startswith("synthetic:"):
        maker = world.sources.get(split(trace.removeprefix("synthetic:"))[0])
    else:
        maker = world.from_file or world.from_trace
    of_source = set(parameters_of(maker)) - {"seed"} if maker else set()  # the seed has an option of its own
    of_world = {f.name for f in dataclasses.fields(world.options_type)}
    for key in given:
        if key not in of_source | of_world:
            known = sorted(of_source | of_world)
            raise InvalidInput(f"--set {key}{meant(key, known)}: there are {', '.join(known)}")
    return ({k: v for k, v in given.items() if k in of_source}, {k: v for k, v in given.items() if k in of_world})
