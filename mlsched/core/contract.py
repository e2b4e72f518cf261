"""What every problem promises: instances that ask, plans that answer, a judge that decides.

A problem is a sub-package of `mlsched.instances`, or the `instances` of a plug-in, that exports one `Problem`. Nothing
outside the problem's own folders names it: the registry (`core/registry.py`) finds it.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar

from mlsched.core import tables
from mlsched.core.arguments import checked
from mlsched.core.brief import brief
from mlsched.core.errors import InvalidInput, UnknownName, meant, shortened
from mlsched.core.record import UNREAD, Record, specs

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

T = TypeVar("T")
Sense = Literal["min", "max"]
#: What an instance asks for: one decision now; everything until the end of a horizon with known arrivals; or a policy,
#: what to do in every state of a run whose arrivals are known by their odds alone.
Question = Literal["online", "offline", "policy"]
#: What a solver knows of an instance. "observed": nothing of its `secrets`; "profiled": what experiments tell about
#: them, where a problem offers some (placement: co-locations measured on one server; task graphs: rates of types of
#: GPUs); "oracle": all of it.
Information = Literal["observed", "profiled", "oracle"]


@dataclasses.dataclass(frozen=True)
class Objective:
    """An objective of a problem: integer valued, larger or smaller is better by `sense`.

    Examples:
        >>> mlsched.generate("quality", "small").objective("worst_loss").sense
        'min'
    """

    name: str
    sense: Sense
    unit: str
    doc: str = ""

    def better(self, a: int | float, b: int | float) -> bool:
        """Whether value `a` is strictly better than `b`."""
        return a < b if self.sense == "min" else a > b


@dataclasses.dataclass(frozen=True)
class Primary:
    """What an objective compares before its base value: value = base + weight * count, and 0 <= base < weight.

    name: what is counted, in the plural ("deferred TE jobs").

    The value orders plans. People read the two numbers that it is made of: `split`, `worded` and `Instance.values`.
    """

    name: str
    weight: int

    @property
    def column(self) -> str:
        """The word that heads the counts in tables: the first of the name, "deferred"."""
        return self.name.partition(" ")[0]

    def split(self, value: int | float) -> tuple[int, int | float]:
        """(count, base) of a value, or of a bound."""
        count, base = divmod(value, self.weight)
        return int(count), base


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Plan(Record):
    """Base of every plan: plain numbers, the whole answer.

    Examples:
        >>> mlsched.solve(mlsched.generate("quality", "small"), "slaq").plan.kind
        'quality.plan'
    """


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Instance(Record):
    """Base of every instance: one decision, asked in full.

    Examples:
        >>> inst = mlsched.generate("preemption", "small")
        >>> inst.violations(inst.plan_type(te_node=[0], victims=[]))
        ['te_node has 1 entries: must have 2, one for each TE job']
    """

    problem: ClassVar[str] = ""
    called: ClassVar[Question] = "online"
    objectives: ClassVar[tuple[Objective, ...]] = ()
    plan_type: ClassVar[type[Plan]] = Plan
    #: The module that judges: `violations(instance, plan)` and `evaluate(instance, plan)`.
    judge: ClassVar[Any]
    #: Values and bounds agree up to this share of the larger one; above 0 only where values are real (an LP's).
    tolerance: ClassVar[float] = 0.0
    #: Fields that no scheduler can observe; only solvers that declare `least_information` see them, or more.
    secrets: ClassVar[tuple[str, ...]] = ()
    #: The least information with which solvers see `secrets`.
    least_information: ClassVar[Information] = "oracle"

    def __init_subclass__(cls, **given: Any) -> None:
        """What is asked of a plan says so where it is handed something else."""
        super().__init_subclass__(**given)
        for name in ("evaluate", "deferrals", "table"):
            if name in vars(cls):
                setattr(cls, name, checked(vars(cls)[name]))

    def shown(self, information: Information) -> Self:
        """The instance as a solver with that information is handed it: itself, or a copy without its secrets.

        Reading one of them there is an InvalidInput, also where the judge does it: what depends on a secret cannot be
        evaluated. The copy shares the other fields.
        """
        if information in (self.least_information, "oracle") or not self.secrets:
            return self
        known = specs(type(self))
        open_ = {name: value for name, value in self.__dict__.items() if name in known and name not in self.secrets}
        return self._like(open_, functools.partial(getattr, self))

    def visible(self) -> list[str]:
        """See `Record`. Two instances that differ in secrets alone look, and hash, the same without them."""
        return [name for name in specs(type(self)) if name not in self.secrets or name in self.__dict__]

    def __getattr__(self, name: str) -> Any:
        """Called for what is not there: a field that nobody has read yet, one that is hidden, or a wrong name."""
        mine, cls = self.__dict__, type(self)
        if UNREAD in mine and name in specs(cls) and name not in cls.secrets:
            value = mine[name] = mine[UNREAD](name)
            return value
        if name in cls.secrets:
            needed = f"information='{self.least_information}'"
            raise InvalidInput(
                f"{name}: is hidden from solvers of information='observed'; one that may know it declares {needed} "
                f"(@solver(..., {needed}), or an attribute of the function)"
            )
        raise AttributeError(f"'{cls.__name__}' object has no attribute '{name}'")

    def violations(self, plan: Any) -> list[str]:
        """Return one sentence for each fault of `plan`; an empty list if it is feasible."""
        faults: list[str] = self.judge.violations(self, plan)
        return faults

    def evaluate(self, plan: Any) -> dict[str, Any]:
        """Return the value of a feasible `plan` for each objective, recomputed from the problem statement.

        Values are integers; real numbers only where the instance states a `tolerance`.

        Raises:
            InvalidInput: the plan is of another type, or malformed.
        """
        if not isinstance(plan, self.plan_type):
            raise InvalidInput(f"evaluate: plan = {shortened(repr(plan))}: must be a {self.plan_type.__name__}")
        values: dict[str, Any] = self.judge.evaluate(self, plan)
        return values

    def deferrals(self, plan: Any) -> list[str]:
        """Sentences that say who waits in a feasible `plan` though it asked to start; empty where nobody can."""
        return []

    def table(self, plan: Any) -> dict[str, Any]:
        """A plan as columns of equal length, a row per decision, with names where the instance has some."""
        raise InvalidInput(f"{self.kind}: its plans have no table; use the plan's fields")

    def dataframe(self, plan: Any) -> Any:
        """`table` as a pandas DataFrame."""
        return tables.dataframe(self.table(plan))

    def primary(self, objective: str) -> Primary | None:
        """What is compared before the base value of that objective; None where values are compared as they are.

        A gap is taken between the base values of plans of equal count, and the counts stand apart (`core/gap.py`).
        """
        return None

    def values(self, sort_keys: Mapping[str, Any]) -> dict[str, Any]:
        """The values, in their units, of `evaluate`'s sort keys: objective -> value, and the count of what comes first.

        The count has the name of `Primary.column` ("deferred"), and counts jobs also where the criterion weighs them;
        where nothing is compared first, values are the sort keys.
        """
        counts: dict[str, int] = {}
        values: dict[str, Any] = {}
        for name, key in sort_keys.items():
            primary = self.primary(name)
            if primary is None:
                values[name] = key
            else:
                counts[primary.column], values[name] = primary.split(key)
        return values | counts

    @classmethod
    def objective(cls, name: str) -> Objective:
        """The objective of that name, or UnknownName."""
        for objective in cls.objectives:
            if objective.name == name:
                return objective
        known = [o.name for o in cls.objectives]
        there = ", ".join(known) or "none"
        raise UnknownName(f"{cls.problem} has no objective '{name}'{meant(name, known)}; there are {there}")


def stated_bound(value: int | None, bound: int | float | None, rank: Primary | None) -> int | float | None:
    """The bound on a value, beside it; None where it has another count than the value (`Primary`)."""
    if rank is None or bound is None:
        return bound
    count, base = rank.split(bound)
    return base if value is None or rank.split(value)[0] == count else None


def worded(value: int | float | None, rank: Primary | None, unit: str = "") -> str:
    """A value or a bound as people read it: "12 s", "12 s and 1 deferred TE jobs", a dash for none."""
    if value is None:
        return "–"
    count, base = (0, value) if rank is None else rank.split(value)
    shown = str(base) if isinstance(base, int) else f"{base:.10g}"
    shown += f" {unit}" if unit else ""
    return shown if rank is None or not count else f"{shown} and {count} {rank.name}"


def entry(table: Mapping[str, T], objective: str, where: str) -> T:
    """What a table by objectives' names has for that one. `where` names the table in the sentence of the InvalidInput.

    No part of the library does for an objective what was written for another: each floor has such a table.
    """
    if objective not in table:
        raise InvalidInput(
            f"{where} has no entry for the objective '{objective}'; there are {', '.join(table)}; add one there"
        )
    return table[objective]


@dataclasses.dataclass(frozen=True)
class Preset:
    """A named, frozen set of generator sizes."""

    name: str
    doc: str
    sizes: Mapping[str, int | float | str]


@dataclasses.dataclass(frozen=True)
class Generator:
    """How random instances of a further form of a problem are made: `generate(rng, **sizes)`, and frozen presets of it.

    A preset's name tells which form is meant, so no two forms of a problem have presets of one name.
    """

    generate: Callable[..., Instance]
    presets: Mapping[str, Preset]


@dataclasses.dataclass(frozen=True)
class Reader:
    """How files of others become instances: `read(path, **options)`, whose options are its keyword arguments.

    objective: the one for which files of this format are published. The command line takes it where none is named.
    """

    read: Callable[..., Instance]
    objective: str


@dataclasses.dataclass(frozen=True)
class Feature:
    """A property of instances that the judge's rules distinguish, such as draining nodes.

    The test kit draws every combination of two features of a problem.

    Attributes:
        has: whether an instance has it.
        add: returns a changed instance that has it, given a random generator; it may raise InvalidInput, or return an
            instance without it, if that one cannot have it. None: only the problem's strategies draw it.
    """

    has: Callable[[Any], bool]
    add: Callable[[Any, Any], Any] | None = None


@dataclasses.dataclass(frozen=True)
class MetamorphicRelation:
    """What must hold between the optimum of an instance and that of a changed one.

    `change(instance, rng)` makes the changed instance, or returns None where there is nothing to change. `says` maps an
    objective to what its optimum does: "equal", "no worse" and "no better" (in the objective's sense), or a number by
    which it is multiplied. Objectives that are not named may do anything.
    """

    doc: str
    change: Callable[[Any, Any], Any]
    says: Mapping[str, Literal["equal", "no worse", "no better"] | int]


@dataclasses.dataclass(frozen=True)
class InSuites:
    """What the suites that ship ask of a problem (`benchmark/suites.py`), presets by name; by default what fits all.

    small_only: exact solvers that `quick` and `scale` leave out: on larger instances than `small` they take long.
    harder: the preset of `gaps` beside `small`, how many of its seeds, and solvers that are not asked about it.
    exact: the presets of `exact`. scale: that of `scale`, and changes to its sizes, each twice as large as the last.
    speed: that of `speed`, the size at which decisions are made in the paper.
    edition: of `collection`, the first with this problem. not_collected: presets left out of it, of which an instance
    takes a minute or more, or megabytes.
    """

    small_only: tuple[str, ...] = ()
    harder: tuple[str, int, tuple[str, ...]] | None = None
    exact: tuple[str, ...] = ()
    scale: tuple[str, tuple[Mapping[str, Any], ...]] | None = None
    speed: str | None = None
    edition: int | None = None
    not_collected: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Problem:
    """Everything the rest of the library needs to know about one problem.

    `generate(rng, **sizes)` draws a random instance; its keyword arguments, with their defaults, are the sizes a user
    may set. `strategy(**limits)` returns a Hypothesis strategy of small instances (imports Hypothesis when called).
    `cases(instance, plan)` names special cases, true where they occur; `relaxations(instance)` names constraints with
    the instance that lacks them. Agreement tests and reports print how often each occurs or binds, so that agreement
    on trivial instances cannot pass for evidence. `default` names the exact solver that is used when none is asked
    for; `draw(instance, plan, axes)` paints a plan on matplotlib axes, and may return in which units it does:
    an objective's unit -> the unit on the axis, and how many of it one is. `trivial_bounds`: objective -> a function of
    the instance, than whose number no plan is better, as the statement says without a search.

    A problem may be asked in further forms, over a horizon, for a decision or a policy (`Instance.called`):
    `other_types` holds the further instance types, each with its own plan type. `generate`, presets and strategy are of
    `instance_type`; `horizons` makes random instances of the others.
    `readers` maps a file suffix (".stg", never ".json", which is ours) to the reader of such files.

    `contended()` is a strategy like `strategy()` of instances in which jobs want the same room, so that the decisions
    of one answer bear on each other: a rule that forgets what it has just given away is caught there. `roomy(instance)`
    has the same jobs and room for all of them at once on every node (None: no world rolls rules out over such
    instances): there no rule has a reason to let a job wait for ever. `relations` says
    what is known of the optimum of a changed instance; `mlsched.testing` holds solvers to both. `features` names the
    properties of instances that rules of the judge distinguish; the test kit draws every two of them together.
    """

    name: str
    title: str
    paper: str
    instance_type: type[Instance]
    plan_type: type[Plan]
    generate: Callable[..., Instance]
    presets: Mapping[str, Preset]
    strategy: Callable[..., SearchStrategy[Instance]]
    cases: Callable[[Any, Any], dict[str, bool]]
    relaxations: Callable[[Any], dict[str, Any]]
    default: str
    trivial_bounds: Mapping[str, Callable[[Any], int]]
    draw: Callable[[Any, Any, Any], Mapping[str, tuple[str, float]] | None] | None = None
    other_types: tuple[type[Instance], ...] = ()
    horizons: tuple[Generator, ...] = ()
    readers: Mapping[str, Reader] = dataclasses.field(default_factory=dict)
    contended: Callable[[], SearchStrategy[Instance]] | None = None
    roomy: Callable[[Any], Any] | None = None
    metamorphic_relations: Mapping[str, MetamorphicRelation] = dataclasses.field(default_factory=dict)
    features: Mapping[str, Feature] = dataclasses.field(default_factory=dict)
    suites: InSuites = InSuites()

    def __repr__(self) -> str:
        return brief(self, self.name, self.title)

    @property
    def generators(self) -> tuple[Generator, ...]:
        """How random instances are made, those of the main form first."""
        return (Generator(self.generate, self.presets), *self.horizons)

    @property
    def instance_types(self) -> tuple[type[Instance], ...]:
        """Every type of instance in which the problem is asked, the main one first."""
        return (self.instance_type, *self.other_types)

    def trivial_bound(self, instance: Any, objective: str) -> int:
        """What a solver that a limit ended early says at least; InvalidInput for an objective without such a bound."""
        return entry(self.trivial_bounds, objective, f"TRIVIAL_BOUNDS of instances/{self.name}/bounds.py")(instance)
