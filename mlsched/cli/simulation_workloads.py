"""Workloads of `mlsched simulate`: a log on every cluster at every load, and the windows that count."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mlsched import api
from mlsched.core.aliases import Data
from mlsched.core.errors import ALL_NAMES, InvalidInput, UnknownName, did_you_mean, shorten
from mlsched.core.params import parameters_of, resolve, split_settings
from mlsched.core.registry import registry
from mlsched.instances.traces import Trace
from mlsched.instances.traces.builder import LogOptions
from mlsched.simulation import Simulation, every_simulation, of_logs, simulations
from mlsched.simulation.windows import GROUPINGS, Window, consecutive, moment, span

#: Options of the reader of a log.
LOG_PARAMETERS = parameters_of(LogOptions)
#: Largest factor of `--scale-load`.
MAX_LOAD = 1000


@dataclasses.dataclass(frozen=True)
class Scenario:
    """A workload with its cluster and load; the label is "" for a single scenario."""

    label: str
    workload: Any
    cluster: str | None
    load: float


@dataclasses.dataclass(frozen=True)
class WorkloadOptions:
    """Options that choose the workloads: log or synthetic source, its columns, clusters and loads.

    `given` has the options of the source and of the simulator, by key.
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
        """Return the simulator of the policies; raise UnknownName if it does not have one of them."""
        own = (
            next((s.problem for s in every_simulation() if s.simulator == self.simulator), None)
            if self.simulator
            else None
        )
        problem = self.problem or own or _problem_of(policies, self.trace)
        simulation_ = api.simulation_of(self.trace, problem, self.simulator)
        _refuse_repeated("POLICY", policies)
        for policy in policies:
            if simulation_.as_logged is None or policy != simulation_.as_logged.name:
                api.resolve_solver(simulation_.problem, policy, {})
        return simulation_


@dataclasses.dataclass(frozen=True)
class Scenarios:
    """All scenarios, the options of their simulator, and their log if they have one."""

    every: list[Scenario]
    options: dict[str, str]
    log: Trace | None

    @property
    def workloads(self) -> list[Any]:
        """The workload of each scenario."""
        return [scenario.workload for scenario in self.every]


def scenarios(world: Simulation, options: WorkloadOptions) -> Scenarios:
    """Read the log and create one scenario for each pair of cluster and load."""
    source, of_world = _split_options(world, options.trace, options.given)
    read: Data = {"limit": options.limit, "read": options.read, "strict": options.strict}
    read |= resolve("--set", LOG_PARAMETERS, {key: source.pop(key) for key in LOG_PARAMETERS if key in source})
    if options.trace.startswith("synthetic:") or world.from_file is not None:  # a source of its own
        return Scenarios(_create_scenarios(world, options, None, {**read, **source}), of_world, None)
    log = api.read_log(options.trace, **read)
    return Scenarios(_create_scenarios(world, options, log, source), of_world, log)


@dataclasses.dataclass(frozen=True)
class WindowOptions:
    """Options that choose the windows: from and to as given, the length of each of several, and groupings."""

    start: str | None = None
    end: str | None = None
    every: str | None = None
    by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.every is not None and span(self.every) <= 0:
            raise InvalidInput(f"--every: {shorten(self.every)}, expected above 0")
        for name in self.by:
            if name not in GROUPINGS:
                raise InvalidInput(f"--by: {shorten(name)}, expected {', '.join(GROUPINGS)}, joined by commas")

    @property
    def used(self) -> bool:
        """Whether any window or grouping was chosen."""
        return any(given is not None for given in (self.start, self.end, self.every)) or bool(self.by)

    def whole(self, workload: Any) -> Window:
        """Return the window from `start` to `end`, by default from the first submit until just after the last."""
        ticks = float(workload.submit[-1] - workload.submit[0]) if len(workload.submit) else 0.0
        start = 0.0 if self.start is None else moment(workload, self.start)
        end = ticks * ((workload.tick_ms or 1000) / 1000) + 1 if self.end is None else moment(workload, self.end)
        if start >= end:
            first, last = self.start or "the first submit", self.end or "the last"
            raise InvalidInput(f"--from {first} --to {last}: ends before it begins; give a later end")
        return Window(start, end)

    def parts(self, workload: Any) -> list[Window]:
        """Return the windows of equal length, or the one window."""
        complete = self.whole(workload)
        if self.every is None:
            return [complete]
        windows = list(consecutive(moment(workload, span(self.every)), complete))
        if not windows:
            raise InvalidInput(
                f"--every {self.every}: is longer than the {complete.end - complete.start:.6g} s from --from to --to; "
                "give less"
            )
        return windows

    def check(self, workload: Any) -> None:
        """Raise InvalidInput, before any run, for windows outside the log and groups that it does not name."""
        self.parts(workload)
        for name in self.by:
            if name in ("group", "partition", "status") and not getattr(workload, f"{name}_names", ()):
                raise InvalidInput(
                    f"--by: {name}, expected a column of the log; give --read {name}=COLUMN, or leave it out"
                )


def _create_scenarios(
    world: Simulation, options: WorkloadOptions, log: Trace | None, settings: Mapping[str, Any]
) -> list[Scenario]:
    """Create the workload of every cluster with every load.

    Args:
        world: The simulation.
        options: Options that choose the workloads.
        log: The log, if any.
        settings: Options of the source.
    """
    clusters, loads = options.clusters, options.loads
    if len(loads) > 1 or loads[0] != 1:
        if log is None:
            raise InvalidInput("--scale-load: is for logs; a synthetic workload has a load of its own (--set load=0.9)")
        if not clusters:
            raise InvalidInput("--scale-load: without a cluster, nodes are made for the load; give --cluster")
    _refuse_repeated("--cluster", clusters)
    own = float(settings.get("arrivals", 1.0)) if loads != [1.0] else 1.0
    scenarios_ = []
    cluster_choices: Sequence[str | None] = clusters or [None]
    for cluster in cluster_choices:
        for load in loads:
            scaled_settings = settings if load == 1 else {**settings, "arrivals": own * load}
            workload = api.workload(
                options.trace if log is None else log,
                world.problem,
                cluster=cluster,
                read_cluster=options.read_cluster,
                seed=options.seed,
                simulator=options.simulator,
                **scaled_settings,
            )
            scenarios_.append(Scenario(_label(cluster, load, clusters, loads), workload, cluster, load))
    return scenarios_


def _refuse_repeated(option: str, given: Sequence[str]) -> None:
    """Raise InvalidInput for a repeated word, because rows and columns of tables are named by it."""
    repeated = [word for word in given if given.count(word) > 1]
    if repeated:
        raise InvalidInput(f"{option} {shorten(repeated[0])}: is given twice; leave one out")


def _label(cluster: str | None, load: float, clusters: Sequence[str], loads: Sequence[float]) -> str:
    parts = [] if cluster is None or len(clusters) < 2 else [cluster if "(" in cluster else Path(cluster).name]
    parts += [f"load x {load:g}"] if len(loads) > 1 else []
    return ", ".join(parts)


def loads_of(text: str | None) -> list[float]:
    """Parse "0.8,1,1.2" as distinct numbers above 0."""
    if text is None:
        return [1.0]
    try:
        loads = [float(item) for item in text.split(",")]
    except ValueError:
        loads = []
    if not loads or not all(0 < load <= MAX_LOAD for load in loads) or len(set(loads)) < len(loads):
        raise InvalidInput(
            f"--scale-load: {shorten(text)}, expected numbers above 0 and at most {MAX_LOAD}, each once, "
            "such as 0.8,1,1.2"
        )
    return loads


def _problem_of(policies: list[str], trace: str) -> str:
    """Return the simulated problem that has every policy; of several, that of the workload."""
    as_logged = {s.as_logged.name: s.problem for s in every_simulation() if s.as_logged is not None}
    names = [split_settings(policy)[0] for policy in policies if not api.is_function(policy)]
    log_policies, names = (
        [name for name in names if name in as_logged],
        [name for name in names if name not in as_logged],
    )
    candidates = [p for p in simulations() if all((p, name) in registry().solvers for name in names)]
    candidates = [p for p in candidates if all(as_logged[name] == p for name in log_policies)]
    if len(candidates) > 1:
        own = api.problem_of(trace)
        if own is None and not trace.startswith("synthetic:"):
            own = of_logs().problem
        candidates = [problem for problem in candidates if problem == own] or candidates
    policy_names = {name for problem in simulations() for p, name in registry().solvers if p == problem}
    for name in names:
        if name not in policy_names:
            raise UnknownName(f"unknown policy '{name}'{did_you_mean(name, policy_names)}; see `mlsched list solvers`")
    if len(candidates) != 1:
        if candidates:
            reason = f"{' '.join(policies)}: {', '.join(candidates)} all know them; give --problem"
        else:
            reason = f"{'; '.join(map(_policy_with_problems, names))}: run policies of one problem at a time"
        raise UnknownName(f"{reason}, see `mlsched list solvers`")
    return candidates[0]


def _policy_with_problems(policy: str) -> str:
    """Return a policy with the simulated problems that have it: "fitgpp of preemption"."""
    return f"{policy} of {', '.join(p for p in simulations() if (p, policy) in registry().solvers)}"


def _split_options(
    world: Simulation, trace: str, option_values: dict[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Split options into those of the workload's source and those of the simulator."""
    if trace.startswith("synthetic:"):
        maker = world.sources.get(split_settings(trace.removeprefix("synthetic:"))[0])
    else:
        maker = world.from_file or world.from_trace
    of_source = set(parameters_of(maker)) - {"seed"} if maker else set()  # the seed has its own option
    if not trace.startswith("synthetic:") and world.from_file is None:
        of_source |= set(LOG_PARAMETERS)
    of_world = {f.name for f in dataclasses.fields(world.options_type)}
    for key in option_values:
        if key not in of_source | of_world:
            names = sorted(of_source | of_world)
            raise InvalidInput(f"--set {key}{did_you_mean(key, names)}: there are {', '.join(names)}", ALL_NAMES)
    return (
        {k: v for k, v in option_values.items() if k in of_source},
        {k: v for k, v in option_values.items() if k in of_world},
    )
