"""Run of a solver over a workload, and the interface that a problem implements to be run."""

from __future__ import annotations

import dataclasses
import functools
import pickle
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, ClassVar, TypeAlias

from mlsched.core import html, tables
from mlsched.core.aliases import Columns, Data
from mlsched.core.brief import count_of, short_repr
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import FloatArray, IntArray
from mlsched.core.gap import Gap, gap_between
from mlsched.core.record import Record
from mlsched.simulation.clock import Decision, Rule, decision_rng
from mlsched.simulation.log import Log
from mlsched.simulation.wake import Wake
from mlsched.simulation.windows import Windows

#: Workload, log and options of a simulator; each problem has classes of its own.
Workload: TypeAlias = Any
ProblemLog: TypeAlias = Any
WorldOptions: TypeAlias = Any


@dataclasses.dataclass(frozen=True)
class Drawn:
    """Generators with which property tests draw cases of a world.

    Attributes:
        workloads: `workloads()` is a Hypothesis strategy of small workloads.
        options: `options()` is a Hypothesis strategy of interpretations.
        wakes: Cadences. Every run of a drawn case under one of them ends.
        long: `long()` is a workload of at least 400 decisions, woken at events.
        verbs: Kind of action on jobs ("anything" first) -> a rule `(instance, *, rng) -> plan` that takes such actions
            wherever allowed. The rule never leaves a run stuck; the world must handle its results.
        roomy: `roomy(workload)` has the same jobs and room for all of them at once on every node, so that a rule has no
            reason to let a job wait forever. None if such a workload does not exist.
    """

    workloads: Callable[[], Any]
    options: Callable[[], Any]
    long: Callable[[], Any]
    verbs: Mapping[str, Callable[..., Any]]
    wakes: tuple[str, ...] = ("events", "interval:1", "interval:3", "events+interval:2")
    roomy: Callable[[Workload], Workload] | None = None


@dataclasses.dataclass(frozen=True)
class AsLogged:
    """Policy that replays a log: its name, the description of its runs, and the logged events.

    `played(workload)` builds the log of such a run, of type `log_type`. It raises InvalidInput if the workload lacks
    the times at which its jobs ran.
    """

    name: str
    simulation: Simulation
    log_type: type[Log]
    played: Callable[[Any], Any]


def _bound_applies(workload: Workload, log: ProblemLog) -> bool:
    """Return True: each run is compared with the bound."""
    return True


def _no_assumptions(workload: Workload, options: WorldOptions) -> dict[str, str]:
    """Return an empty mapping: the run makes no assumption that changes its numbers."""
    return {}


def _no_findings(workload: Workload) -> list[Any]:
    """Return an empty list of findings about a log."""
    return []


@dataclasses.dataclass(frozen=True)
class Simulation:
    """Interface between the clock's users and the world of one problem.

    Attributes:
        world: `world(workload, options)` builds a `clock.World` with a `log`.
        jobs, summary, series: Read workload and log.
        violations: `violations(workload, options, wake, log)` is the independent replay check.
        never_start: `never_start(workload)` lists the jobs that can never start.
        overload: `overload(workload)` lists the resources with more demand than capacity.
        rollout: `rollout(instance, rule, seed)` runs the clock on a horizon instance, reveals jobs at their arrival,
            and returns the plan. Only for problems with a horizon.
        receding: `receding(instance, planner)` turns a decision into a horizon instance for `planner(question) -> plan
            | None` and keeps the plan's first step. Only for problems with a horizon.
        tabulate: `tabulate(instance, rule, seed)` calls the rule in every state that a run can reach. Only for problems
            whose plan is a policy.
        unit: Units of the world's clock per second (1: seconds, 1000: milliseconds), also in `submit`.
        unit_of: `unit_of(workload)` replaces `unit` if it depends on the workload.
        bound: `bound(workload, pausing)` gives lower bounds of summary figures for every run of the workload; without
            pausing, for every run in which no job pauses.
        held: `held(workload, log)` is True if the bound applies to a run; by default to all. Runs that leave work
            undone are excepted.
        simulator: Name of one of several worlds of a problem; the problem's own package has the first.
        sources: `sources[name](**options)` makes a synthetic workload.
        from_trace: `from_trace(trace, nodes, **options)` turns a trace into a workload.
        from_file: `from_file(path, cluster, limit, **options)` reads a file in a format of the world, if it has any;
            `from_trace` is then not called.
        replays_logs: Jobs run as logged, without random draws. A job log runs here unless another problem or simulator
            is named.
        knows_nodes: `from_trace` takes a node list (`Nodes`) unchanged; otherwise only the capacities.
        table, over_time: `table(workload, log)` has one row per job, `over_time(workload, log)` the cluster over time,
            both with units.
        assumed: `assumed(workload, options)` gives the assumptions that change a run's numbers: name -> text.
        as_logged: Policy that replays the log, if workloads have the times at which their jobs ran.
        lint: `lint(workload)` lists the impossible entries of the log in such runs, most important first.
        drawn: Cases with which `mlsched.testing` tests the world and its schedulers.
    """

    problem: str
    workload_type: type[Record]
    options_type: type[WorldOptions]
    world: Callable[[Any, Any], Any]
    scheduling_events: str
    jobs: Callable[[Workload, ProblemLog], Columns]
    summary: Callable[[Workload, ProblemLog], Data]
    series: Callable[[Workload, ProblemLog], Columns]
    violations: Callable[[Workload, WorldOptions, Wake, ProblemLog], list[str]]
    never_start: Callable[[Workload], list[str]]
    overload: Callable[[Workload], list[str]]
    sources: Mapping[str, Callable[..., Workload]]
    from_trace: Callable[..., Workload]
    from_file: Callable[..., Workload] | None = None
    rollout: Callable[..., Any] | None = None
    receding: Callable[..., Any] | None = None
    tabulate: Callable[..., Any] | None = None
    bound: Callable[[Workload, bool], Mapping[str, float]] | None = None
    held: Callable[[Workload, ProblemLog], bool] = _bound_applies
    unit: int = 1
    unit_of: Callable[[Workload], int | Fraction] | None = None
    simulator: str = ""
    replays_logs: bool = False
    knows_nodes: bool = False
    table: Callable[[Workload, ProblemLog], Columns] | None = None
    over_time: Callable[[Workload, ProblemLog], Columns] | None = None
    drawn: Drawn | None = None
    assumed: Callable[[Workload, WorldOptions], dict[str, str]] = _no_assumptions
    as_logged: AsLogged | None = None
    lint: Callable[[Workload], list[Any]] = _no_findings

    def __repr__(self) -> str:
        return short_repr(self, self.problem, self.simulator)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickle a world of mlsched by its name; its functions are found by import."""
        from mlsched.simulation import every_simulation

        for number, candidate in enumerate(every_simulation()):
            if candidate is self:
                return _simulation_by_number, (number, self.problem, self.simulator)
            if candidate.as_logged is not None and candidate.as_logged.simulation is self:
                return _log_simulation, (number,)
        return super().__reduce_ex__(protocol)

    def parts_of_second(self, workload: Workload) -> int | Fraction:
        """Return the units of the world's clock per second: 1/60 if a tick of the workload is a minute."""
        return self.unit if self.unit_of is None else self.unit_of(workload)

    def options(self, given: Mapping[str, Any]) -> WorldOptions:
        """Return the world's options with the `given` ones set; text is parsed by the type of the field."""
        from mlsched.core.params import parameters_of, resolve

        return self.options_type(**resolve(f"{self.problem} world", parameters_of(self.options_type), given))


def _simulation_by_number(number: int, problem: str, simulator: str) -> Simulation:
    """Return the simulation that a pickle refers to by name."""
    from mlsched.simulation import every_simulation

    simulation_found = every_simulation()[number]
    assert (simulation_found.problem, simulation_found.simulator) == (problem, simulator), (
        "both processes have the same mlsched"
    )
    return simulation_found


def _log_simulation(number: int) -> Simulation:
    """Return the log-replaying world of the simulation of this number."""
    from mlsched.simulation import every_simulation

    simulation_found = every_simulation()[number].as_logged
    assert simulation_found is not None, "both processes have the same mlsched"
    return simulation_found.simulation


def _raise_not_picklable(instance: Any, memory: Any, rng: Any) -> Any:
    raise InvalidInput("replay: the rule is a function that cannot be sent between processes; replay where it ran")


@dataclasses.dataclass(frozen=True)
class Run:
    """Finished run. `jobs` has one array per column; times are in seconds.

    Runs can be pickled. A rule that cannot be pickled (a nested function, or an isolated one) is left out, and `replay`
    then fails. Two runs are equal if configuration and events are equal; wall time is not compared.

    Examples:
        >>> run = mlsched.simulate(mlsched.workload("synthetic:z", jobs=200), "fitgpp")
        >>> sorted(run.summary())[:3]
        ['backlog', 'be_slowdown', 'decisions']
    """

    #: Kind of the file that `mlsched.save` writes.
    kind: ClassVar[str] = "run"

    simulation: Simulation
    workload: Workload
    solver: str
    params: Data
    options: WorldOptions
    scheduling_events: Wake
    seed: int
    log: ProblemLog = dataclasses.field(compare=False)
    decisions: int
    recorded: list[Decision]
    seconds: float = dataclasses.field(compare=False)
    cpu_seconds: float = dataclasses.field(compare=False)
    versions: dict[str, str]
    rule: Rule = dataclasses.field(compare=False)

    def __repr__(self) -> str:
        jobs = count_of(len(self.workload.submit), "job")
        where = f"{jobs} on {self.workload.cluster}"
        return short_repr(
            self, f"{self.solver} on {self.simulation.problem}", where, count_of(self.decisions, "decision")
        )

    def __eq__(self, other: object) -> bool:
        if type(other) is not Run:
            return NotImplemented
        compared_fields = [field.name for field in dataclasses.fields(self) if field.compare]
        same = all(getattr(self, name) == getattr(other, name) for name in compared_fields)
        return same and bool(self.log.to_json() == other.log.to_json())

    def __hash__(self) -> int:
        """Hash the configuration only, as logs are mutable."""
        return hash((self.workload, self.solver, self.scheduling_events, self.seed))

    @property
    def assumed(self) -> dict[str, str]:
        """Return the assumptions that change the run's numbers: name -> text; empty if the world lists none."""
        return self.simulation.assumed(self.workload, self.options)

    @property
    def jobs(self) -> dict[str, Any]:
        """Return column name -> one value per job."""
        return self.simulation.jobs(self.workload, self.log)

    def table(self) -> Columns:
        """Return the results of every job, one array per column; names of times end with their unit.

        The result is ready for `pandas.DataFrame` and `polars.DataFrame`; `dataframe` builds the former.
        """
        if self.simulation.table is None:
            raise InvalidInput(f"table: not available for {self.simulation.problem}; use jobs")
        return self.simulation.table(self.workload, self.log)

    def dataframe(self) -> Any:
        """Return `table` as a pandas DataFrame."""
        return tables.dataframe(self.table())

    def over_time(self) -> dict[str, FloatArray | IntArray]:
        """Return the cluster over time, one array per column; each row is valid from its `time_s` to the next."""
        if self.simulation.over_time is None:
            raise InvalidInput(f"over_time: not available for {self.simulation.problem}")
        return self.simulation.over_time(self.workload, self.log)

    def windows(self) -> Windows:
        """Return the run in time windows: percentiles, slowdowns, utilisation and queue of each window."""
        return Windows(self)

    def summary(self) -> Data:
        """Return the figures of merit by name."""
        return self.simulation.summary(self.workload, self.log) | {"decisions": self.decisions}

    @functools.cached_property
    def bound(self) -> Data:
        """Return lower bounds of summary figures, valid for every schedule of the workload.

        The bound allows schedulers to know the future. They may stop jobs at any time if the run's options allow it
        (`pauses`), and never otherwise.

        Raises:
            InvalidInput: The problem has no bound.
        """
        if self.simulation.bound is None:
            raise InvalidInput(
                f"bound: not available for runs of {self.simulation.problem}; use taskgraph, preemption or rounds"
            )
        return _bound(self.simulation.bound, self.workload, self.pauses)

    @property
    def pauses(self) -> bool:
        """Return True if the run's options allow pausing; without pausing, the bound is higher."""
        return bool(getattr(self.options, "pausing", "keep") != "none")

    @property
    def gaps(self) -> dict[str, Gap]:
        """Return the gap of each of these figures to its bound, an upper limit of its gap to the optimum.

        It is empty if the bound does not apply to the run, for example because it drops jobs.

        Raises:
            InvalidInput: The log cannot be real (`lint`); the message has the proof.
        """
        if findings := self._lint_findings:
            more = f" ({len(findings) - 1} more)" if len(findings) > 1 else ""
            raise InvalidInput(f"{self.solver}: the log is impossible, so the gap is undefined: {findings[0]}{more}; "
                               "correct the log or the cluster")  # fmt: skip
        value = self.summary()
        if not self.simulation.held(self.workload, self.log):
            return {}
        return {name: gap_between(value[name], bound, sense="min", unit="ticks") for name, bound in self.bound.items()}

    def lint(self) -> list[Any]:
        """Return the impossible entries of the log of a run that replays it (`as-logged`); empty for other runs.

        Each finding has a `kind`, a `sentence`, a place, a time and an amount.
        """
        return list(self._lint_findings)

    @functools.cached_property
    def _lint_findings(self) -> list[Any]:
        return self.simulation.lint(self.workload)

    @property
    def bounded_by(self) -> str:
        """Describe the runs for which `bound` is valid."""
        text = "all schedules with pauses at any time, without cost" if self.pauses else "all schedules without pauses"
        kinds = getattr(self.workload, "type_names", ())
        return f"{text}, on nodes of the types {', '.join(kinds)}" if kinds else text

    def series(self) -> dict[str, FloatArray]:
        """Return named samples for plots of distributions."""
        return self.simulation.series(self.workload, self.log)

    def violations(self) -> list[str]:
        """Return the violations found by the independent replay; empty if the run is sound."""
        return self.simulation.violations(self.workload, self.options, self.scheduling_events, self.log)

    def __getstate__(self) -> Data:
        """Return the pickled state."""
        try:
            pickle.dumps(self.rule)
        except Exception:  # pickle raises various exceptions
            return {**self.__dict__, "rule": Rule(self.rule.name, _raise_not_picklable)}
        return self.__dict__

    def _repr_html_(self) -> str:
        """Render the configuration and the figures of merit for notebooks."""
        facts = [f"{len(self.workload.submit)} jobs on {self.workload.cluster}", self.workload.source]
        rows = [[name, value] for name, value in _flatten_summary(self.summary()).items()]
        return html.titled_block(
            f"{self.solver} on {self.simulation.problem}", facts, html.html_table(["measure", "value"], rows)
        )

    def replay(self, decision: Decision) -> Any:
        """Answer a recorded decision again, with its memory and random stream; the plan is the same."""
        if not any(decision is other for other in self.recorded):
            raise InvalidInput("replay: the decision is not one that this run recorded")
        return self.rule.call(decision.instance, decision.memory, decision_rng(self.seed, decision.number))[0]

    def to_json(self) -> Data:
        """Return the run as plain JSON data: configuration, results, every job, and the log for checking."""
        return {
            "kind": f"{self.simulation.problem}.run",
            "version": 1,
            "solver": self.solver,
            "params": self.params,
            "options": dataclasses.asdict(self.options),
            **({"assumed": self.assumed} if self.assumed else {}),
            "scheduling_events": str(self.scheduling_events),
            "seed": self.seed,
            "workload_hash": self.workload.hash,
            "source": self.workload.source,
            "summary": self.summary(),
            **({} if self.simulation.bound is None else {"bound": self.bound}),
            "versions": self.versions,
            "seconds": self.seconds,
            "jobs": {name: column.tolist() for name, column in self.jobs.items()},
            "log": self.log.to_json(),
        }


@functools.lru_cache(maxsize=3)
def _bound(bound: Callable[[Workload, bool], Mapping[str, float]], workload: Workload, pausing: bool) -> Data:
    """Return the bound of a workload, cached per workload and `pausing`; unrounded for logs."""
    return dict(bound(workload, pausing))


def _flatten_summary(summary: Mapping[str, Any], before: str = "") -> Data:
    """Flatten nested figures; names are joined in order."""
    flat: Data = {}
    for name, value in summary.items():
        flat |= (
            _flatten_summary(value, f"{before}{name} ") if isinstance(value, Mapping) else {f"{before}{name}": value}
        )
    return flat
