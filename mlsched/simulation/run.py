"""A run of a solver over a workload, and what a problem must provide to be run."""

from __future__ import annotations

import dataclasses
import functools
import pickle
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, ClassVar

from mlsched.core import html, tables
from mlsched.core.brief import count_of, short_repr
from mlsched.core.errors import InvalidInput
from mlsched.core.gap import Gap, gap_between
from mlsched.core.record import Record
from mlsched.simulation.clock import Decision, Rule, decision_rng
from mlsched.simulation.log import Log
from mlsched.simulation.wake import Wake
from mlsched.simulation.windows import Windows


@dataclasses.dataclass(frozen=True)
class Drawn:
    """What property tests draw of a world.

    `workloads()` and `options()` are Hypothesis strategies of small workloads and of interpretations, `wakes` are
    cadences: under them every run ends. `long()` is a workload of at least 400 decisions, woken at events. `verbs` maps
    what may be done to the jobs ("anything" first) to a rule `(instance, *, rng) -> plan` that does so wherever it is
    allowed, and never leaves a run stuck: the world must be able to live with what they bring about. `roomy(workload)`
    has the same jobs, and room for all of them at once on every node: there no rule has a reason to let a job wait for
    ever (None: nor has it anywhere, or it would not be asked).
    """

    workloads: Callable[[], Any]
    options: Callable[[], Any]
    long: Callable[[], Any]
    verbs: Mapping[str, Callable[..., Any]]
    wakes: tuple[str, ...] = ("events", "interval:1", "interval:3", "events+interval:2")
    roomy: Callable[[Any], Any] | None = None


@dataclasses.dataclass(frozen=True)
class AsLogged:
    """The policy that a log itself is: its name, what its runs say, and what happened as the log has it.

    `played(workload)` makes the log of such a run, of type `log_type`, or raises InvalidInput where the workload does
    not know when its jobs ran.
    """

    name: str
    simulation: Simulation
    log_type: type[Log]
    played: Callable[[Any], Any]


def _always_held(workload: Any, log: Any) -> bool:
    """Return True: each run is compared with the bound."""
    return True


def _nothing_assumed(workload: Any, options: Any) -> dict[str, str]:
    """Return no assumption that changes a run's numbers."""
    return {}


def _nothing_found(workload: Any) -> list[Any]:
    """Return no finding about a log."""
    return []


@dataclasses.dataclass(frozen=True)
class Simulation:
    """Everything the clock's users need to know about one problem's world.

    `world(workload, options)` makes a `clock.World` that has a `log`; `jobs`, `summary` and `series` read workload and
    log; `violations(workload, options, wake, log)` is the independent replay check; `never_start(workload)` says which
    jobs could never start, `overload(workload)` on which resources more is asked than there is.
    Problems that are also asked over a horizon provide two adapters: `rollout(instance, rule, seed)` runs the clock on
    a horizon instance, revealing jobs at their arrival, and returns its plan; `receding(instance, planner)` turns a
    decision into a horizon instance for `planner(question) -> plan | None` and keeps what the plan does now. Where a
    policy is asked for, `tabulate(instance, rule, seed)` asks the rule in every state that a run may come to.
    `unit`: parts of a second in which the world counts time (1: seconds, 1000: milliseconds), also in `submit`;
    `unit_of(workload)` where that is the workload's to say.
    `bound(workload, pausing)` gives figures of the summary that no run of the workload can be below, whatever answers
    it; without pausing, no run in which nothing pauses. `held(workload, log)`: whether a run is held to it, where some
    are not, since they leave work undone (by default all are).
    `simulator` names one of several worlds of a problem: how its jobs run; the problem's own package holds the first.
    `sources[name](**options)` makes synthetic workloads, `from_trace(trace, nodes, **options)` turns a trace into one.
    `from_file(path, cluster, limit, **options)` makes one of a file of the world's own formats, where it has some;
    `from_trace` is then not asked.
    `replays_logs`: jobs run as a log has them, nothing about them is drawn; a log of jobs is run here unless a problem
    without such a world, or another simulator, is named.
    `knows_nodes`: `from_trace` takes a list of nodes (`Nodes`) as it is; else the capacities alone.
    `table(workload, log)` and `over_time(workload, log)`: what came of every job, and of the cluster, with units.
    `assumed(workload, options)`: what a run takes for granted that changes its numbers, in words by name.
    `as_logged`: the policy that the log itself is, where workloads know when their jobs ran; `lint(workload)`: of such
    runs, what in the log cannot have been, most important first.
    `drawn`: what `mlsched.testing` draws to test the world, and schedulers in it.
    """

    problem: str
    workload_type: type[Record]
    options_type: type[Any]
    world: Callable[[Any, Any], Any]
    scheduling_events: str
    jobs: Callable[[Any, Any], dict[str, Any]]
    summary: Callable[[Any, Any], dict[str, Any]]
    series: Callable[[Any, Any], dict[str, Any]]
    violations: Callable[[Any, Any, Wake, Any], list[str]]
    never_start: Callable[[Any], list[str]]
    overload: Callable[[Any], list[str]]
    sources: Mapping[str, Callable[..., Any]]
    from_trace: Callable[..., Any]
    from_file: Callable[..., Any] | None = None
    rollout: Callable[..., Any] | None = None
    receding: Callable[..., Any] | None = None
    tabulate: Callable[..., Any] | None = None
    bound: Callable[[Any, bool], Mapping[str, float]] | None = None
    held: Callable[[Any, Any], bool] = _always_held
    unit: int = 1
    unit_of: Callable[[Any], int | Fraction] | None = None
    simulator: str = ""
    replays_logs: bool = False
    knows_nodes: bool = False
    table: Callable[[Any, Any], dict[str, Any]] | None = None
    over_time: Callable[[Any, Any], dict[str, Any]] | None = None
    drawn: Drawn | None = None
    assumed: Callable[[Any, Any], dict[str, str]] = _nothing_assumed
    as_logged: AsLogged | None = None
    lint: Callable[[Any], list[Any]] = _nothing_found

    def __repr__(self) -> str:
        return short_repr(self, self.problem, self.simulator)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """A world of mlsched is sent to other processes by its name; what it calls is found there."""
        from mlsched.simulation import every_simulation

        for number, known in enumerate(every_simulation()):
            if known is self:
                return _known, (number, self.problem, self.simulator)
            if known.as_logged is not None and known.as_logged.simulation is self:
                return _known_log, (number,)
        return super().__reduce_ex__(protocol)

    def parts_of_second(self, workload: Any) -> int | Fraction:
        """How many units of the world's clock are a second: 1/60 where a tick of the workload is a minute."""
        return self.unit if self.unit_of is None else self.unit_of(workload)

    def options(self, given: Mapping[str, Any]) -> Any:
        """The world's options with `given` ones set; text is parsed by the field's type."""
        from mlsched.core.params import parameters_of, resolve

        return self.options_type(**resolve(f"{self.problem} world", parameters_of(self.options_type), given))


def _known(number: int, problem: str, simulator: str) -> Simulation:
    """What was sent by its name."""
    from mlsched.simulation import every_simulation

    found = every_simulation()[number]
    assert (found.problem, found.simulator) == (problem, simulator), "both processes have the same mlsched"
    return found


def _known_log(number: int) -> Simulation:
    """The world of logs as they were, of the simulation of this number."""
    from mlsched.simulation import every_simulation

    found = every_simulation()[number].as_logged
    assert found is not None, "both processes have the same mlsched"
    return found.simulation


def _stayed_behind(instance: Any, memory: Any, rng: Any) -> Any:
    raise InvalidInput("replay: the rule is a function that cannot be sent between processes; replay where it ran")


@dataclasses.dataclass(frozen=True)
class Run:
    """A finished run. `jobs` holds one array a column; times in seconds.

    It can be pickled. A rule that cannot (a function within another, one that was asked isolated) stays behind, and
    with it `replay`. Two runs are equal when the same was asked and the same happened, however long it took.

    Examples:
        >>> run = mlsched.simulate(mlsched.workload("synthetic:z", jobs=200), "fitgpp")
        >>> sorted(run.summary())[:3]
        ['backlog', 'be_slowdown', 'decisions']
    """

    #: What the file is that `mlsched.save` writes.
    kind: ClassVar[str] = "run"

    simulation: Simulation
    workload: Any
    solver: str
    params: dict[str, Any]
    options: Any
    scheduling_events: Wake
    seed: int
    log: Any = dataclasses.field(compare=False)
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
        compared = [field.name for field in dataclasses.fields(self) if field.compare]
        same = all(getattr(self, name) == getattr(other, name) for name in compared)
        return same and bool(self.log.to_json() == other.log.to_json())

    def __hash__(self) -> int:
        """Of what was asked: logs may still be written to."""
        return hash((self.workload, self.solver, self.scheduling_events, self.seed))

    @property
    def assumed(self) -> dict[str, str]:
        """What the run took for granted that changes its numbers, in words by name; nothing where no world says so."""
        return self.simulation.assumed(self.workload, self.options)

    @property
    def jobs(self) -> dict[str, Any]:
        """Column name -> one value per job."""
        return self.simulation.jobs(self.workload, self.log)

    def table(self) -> dict[str, Any]:
        """What came of every job, one array a column; the unit of a time stands at the end of its name.

        Ready for `pandas.DataFrame` and `polars.DataFrame`; `dataframe` makes the former.
        """
        if self.simulation.table is None:
            raise InvalidInput(f"table: {self.simulation.problem} has none; use jobs")
        return self.simulation.table(self.workload, self.log)

    def dataframe(self) -> Any:
        """`table` as a pandas DataFrame."""
        return tables.dataframe(self.table())

    def over_time(self) -> dict[str, Any]:
        """The cluster over time, one array a column: each row holds from its `time_s` until that of the next."""
        if self.simulation.over_time is None:
            raise InvalidInput(f"over_time: {self.simulation.problem} has none")
        return self.simulation.over_time(self.workload, self.log)

    def windows(self) -> Windows:
        """The run seen through windows of time: percentiles, slowdowns, utilisation and queue while they are open."""
        return Windows(self)

    def summary(self) -> dict[str, Any]:
        """Figures of merit by name."""
        return self.simulation.summary(self.workload, self.log) | {"decisions": self.decisions}

    @functools.cached_property
    def bound(self) -> dict[str, Any]:
        """Figures of the summary by name, and below what no run of the workload can be, whoever schedules it.

        Schedulers may know the future; they may stop jobs at any time where the run's options let them (`pauses`), and
        never where these do not. Raises InvalidInput for problems without a bound.
        """
        if self.simulation.bound is None:
            raise InvalidInput(
                f"bound: none is known for runs of {self.simulation.problem}; taskgraph, preemption and rounds have"
            )
        return _bound(self.simulation.bound, self.workload, self.pauses)

    @property
    def pauses(self) -> bool:
        """Whether the run's options let what runs be paused: the bound of a run that may not is higher."""
        return bool(getattr(self.options, "pausing", "keep") != "none")

    @property
    def gaps(self) -> dict[str, Gap]:
        """How far each of these figures is above its bound, as a share of it: from the optimum, at most so far.

        Empty for a run that is not held to the bound, such as one that drops jobs. Raises InvalidInput, with the proof,
        for a log that cannot have been so (`lint`).
        """
        if findings := self._findings:
            more = f" ({len(findings) - 1} more)" if len(findings) > 1 else ""
            raise InvalidInput(f"{self.solver}: no gap, since the log cannot have been so: {findings[0]}{more}; "
                               "correct the log or the cluster")  # fmt: skip
        value = self.summary()
        if not self.simulation.held(self.workload, self.log):
            return {}
        return {name: gap_between(value[name], bound, sense="min", unit="ticks") for name, bound in self.bound.items()}

    def lint(self) -> list[Any]:
        """What in the log cannot have been, of a run that plays it back (`as-logged`); nothing of other runs.

        Each finding has a `kind`, a `sentence`, and where, when and by how much.
        """
        return list(self._findings)

    @functools.cached_property
    def _findings(self) -> list[Any]:
        return self.simulation.lint(self.workload)

    @property
    def bounded_by(self) -> str:
        """For which runs `bound` holds, in words."""
        said = "all that may pause, at any time and for nothing" if self.pauses else "all in which nothing pauses"
        kinds = getattr(self.workload, "type_names", ())
        return f"{said}, on nodes of any of the types {', '.join(kinds)}" if kinds else said

    def series(self) -> dict[str, Any]:
        """Named samples for plots of distributions."""
        return self.simulation.series(self.workload, self.log)

    def violations(self) -> list[str]:
        """What the independent replay finds wrong with the run; empty when it is sound."""
        return self.simulation.violations(self.workload, self.options, self.scheduling_events, self.log)

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled."""
        try:
            pickle.dumps(self.rule)
        except Exception:  # pickle raises what it likes
            return {**self.__dict__, "rule": Rule(self.rule.name, _stayed_behind)}
        return self.__dict__

    def _repr_html_(self) -> str:
        """For notebooks: what was run where, and the figures of merit."""
        facts = [f"{len(self.workload.submit)} jobs on {self.workload.cluster}", self.workload.source]
        rows = [[name, value] for name, value in _flat(self.summary()).items()]
        return html.titled_block(
            f"{self.solver} on {self.simulation.problem}", facts, html.html_table(["measure", "value"], rows)
        )

    def replay(self, decision: Decision) -> Any:
        """Answer one recorded decision again, with the memory and the random stream it had: gives the same plan."""
        if not any(decision is kept for kept in self.recorded):
            raise InvalidInput("replay: the decision is not one that this run recorded")
        return self.rule.call(decision.instance, decision.memory, decision_rng(self.seed, decision.number))[0]

    def to_json(self) -> dict[str, Any]:
        """The run as plain JSON data: what it was, what came out, every job, and the log to check it by."""
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
def _bound(bound: Callable[[Any, bool], Mapping[str, float]], workload: Any, pausing: bool) -> dict[str, Any]:
    """The bound of a workload, which all runs that may pause share, and all that may not; of a log unrounded."""
    return dict(bound(workload, pausing))


def _flat(summary: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Figures of figures as one mapping, by their names one after the other."""
    flat: dict[str, Any] = {}
    for name, value in summary.items():
        flat |= _flat(value, f"{before}{name} ") if isinstance(value, Mapping) else {f"{before}{name}": value}
    return flat
