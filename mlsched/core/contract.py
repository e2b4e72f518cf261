"""Contract of every problem: instances, plans, and a judge.

A problem is a sub-package of `mlsched.instances`, or the `instances` of a plug-in, that exports one `Problem`. Code
outside the problem's own folders never names it: the registry (`core/registry.py`) finds it.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar

from mlsched.core import tables
from mlsched.core.aliases import Data
from mlsched.core.arguments import validate_arguments
from mlsched.core.brief import short_repr
from mlsched.core.errors import InvalidInput, UnknownName, did_you_mean, shorten
from mlsched.core.record import LAZY, Record, specs

if TYPE_CHECKING:
    import pandas
    from hypothesis.strategies import SearchStrategy

T = TypeVar("T")
Sense = Literal["min", "max"]
#: How an instance is called: one decision now; all decisions up to a horizon with known arrivals; or a policy for every
#: state of a run of which only the arrival probabilities are known.
Question = Literal["online", "offline", "policy"]
#: Information of a solver about an instance. "observed": without its `secrets`. "profiled": with measurements of them,
#: if the problem offers some (placement: co-locations measured on one server; task graphs: rates of GPU types).
#: "oracle": everything.
Information = Literal["observed", "profiled", "oracle"]


@dataclasses.dataclass(frozen=True)
class Objective:
    """Integer-valued objective of a problem; `sense` states whether smaller or larger is better.

    Examples:
        >>> mlsched.generate("quality", "small").objective("worst_loss").sense
        'min'
    """

    name: str
    sense: Sense
    unit: str
    doc: str = ""

    def better(self, a: int | float, b: int | float) -> bool:
        """Return whether value `a` is strictly better than `b`."""
        return a < b if self.sense == "min" else a > b


@dataclasses.dataclass(frozen=True)
class Primary:
    """Primary criterion of an objective, compared before its base value.

    Plans are ordered by the sort key: base + weight * count, with 0 <= base < weight. People read the two numbers
    separately: `split`, `format_value` and `Instance.values`.

    Attributes:
        name: Unit of the count in the plural ("deferred TE jobs").
        weight: Factor of the count in the sort key.
    """

    name: str
    weight: int

    @property
    def column(self) -> str:
        """Table heading of the count: "deferred", the beginning of the name."""
        return self.name.partition(" ")[0]

    def split(self, value: int | float) -> tuple[int, int | float]:
        """Split a sort key, or a bound on one, into (count, base)."""
        count, base = divmod(value, self.weight)
        return int(count), base


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Plan(Record):
    """Base class of every plan: the complete answer in plain numbers.

    Examples:
        >>> mlsched.solve(mlsched.generate("quality", "small"), "slaq").plan.kind
        'quality.plan'
    """


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Instance(Record):
    """Base class of every instance: one decision with all its data.

    Examples:
        >>> inst = mlsched.generate("preemption", "small")
        >>> inst.violations(inst.plan_type(te_node=[0], victims=[]))
        ['te_node has 1 entries, expected 2, one for each TE job']
    """

    problem: ClassVar[str] = ""
    called: ClassVar[Question] = "online"
    objectives: ClassVar[tuple[Objective, ...]] = ()
    plan_type: ClassVar[type[Plan]] = Plan
    #: Module that judges plans: `violations(instance, plan)` and `evaluate(instance, plan)`.
    judge: ClassVar[Any]
    #: Relative tolerance between values and bounds; above 0 only if values are real numbers (of an LP).
    tolerance: ClassVar[float] = 0.0
    #: Fields that no scheduler can observe; a solver sees them only from `least_information` on.
    secrets: ClassVar[tuple[str, ...]] = ()
    #: Least information with which solvers see `secrets`.
    least_information: ClassVar[Information] = "oracle"

    def __init_subclass__(cls, **options: object) -> None:
        """Add argument checks to the methods of a subclass that take a plan."""
        super().__init_subclass__(**options)
        for name in ("evaluate", "deferrals", "table"):
            if name in vars(cls):
                setattr(cls, name, validate_arguments(vars(cls)[name]))

    def shown(self, information: Information) -> Self:
        """Return the instance as a solver with that information receives it: itself, or a copy without secrets.

        Reading a secret of the copy raises InvalidInput, even in the judge, because a value that depends on it cannot
        be computed. The copy shares the other fields.
        """
        if information in (self.least_information, "oracle") or not self.secrets:
            return self
        fields = specs(type(self))
        visible_fields = {
            name: value for name, value in self.__dict__.items() if name in fields and name not in self.secrets
        }
        return self._copy_with(visible_fields, functools.partial(getattr, self))

    def visible(self) -> list[str]:
        """List the readable fields, as in `Record`; secrets of a copy without them do not enter its hash."""
        return [name for name in specs(type(self)) if name not in self.secrets or name in self.__dict__]

    def __getattr__(self, name: str) -> Any:
        """Resolve a missing attribute: a field not read yet, a hidden field, or a wrong name."""
        mine, cls = self.__dict__, type(self)
        if LAZY in mine and name in specs(cls) and name not in cls.secrets:
            value = mine[name] = mine[LAZY](name)
            return value
        if name in cls.secrets:
            needed = f"information='{self.least_information}'"
            raise InvalidInput(
                f"{name}: is hidden from solvers of information='observed'; one that may know it declares {needed} "
                f"(@solver(..., {needed}), or an attribute of the function)"
            )
        raise AttributeError(f"'{cls.__name__}' object has no attribute '{name}'")

    def violations(self, plan: Plan) -> list[str]:
        """Return one sentence for each fault of `plan`; an empty list if it is feasible."""
        faults: list[str] = self.judge.violations(self, plan)
        return faults

    def evaluate(self, plan: Any) -> Data:
        """Return the value of a feasible `plan` for each objective, recomputed from the problem statement.

        Values are integers; real numbers only if the instance states a `tolerance`.

        Raises:
            InvalidInput: The plan is of another type, or malformed.
        """
        if not isinstance(plan, self.plan_type):
            raise InvalidInput(f"evaluate: plan: {shorten(repr(plan))}, expected a {self.plan_type.__name__}")
        values: Data = self.judge.evaluate(self, plan)
        return values

    def deferrals(self, plan: Any) -> list[str]:
        """Return one sentence per job that asked to start and waits in a feasible `plan`; empty if jobs cannot wait."""
        return []

    def table(self, plan: Any) -> Data:
        """Return a plan as columns of equal length, one row per decision, with names if the instance has some."""
        raise InvalidInput(f"{self.kind}: its plans cannot be shown as a table; use the plan's fields")

    def dataframe(self, plan: Plan) -> pandas.DataFrame:
        """Return `table` as a pandas DataFrame."""
        return tables.dataframe(self.table(plan))

    def primary(self, objective: str) -> Primary | None:
        """Return the primary criterion of an objective, or None if values are compared directly.

        A gap is taken between the base values of plans with equal count; different counts are reported separately
        (`core/gap.py`).
        """
        return None

    def values(self, sort_keys: Mapping[str, Any]) -> Data:
        """Convert sort keys from `evaluate` to values in their units, with the count of the primary criterion.

        The count is named by `Primary.column` ("deferred"). It counts jobs even if the criterion weights them. Without
        a primary criterion, values equal the sort keys.
        """
        counts: dict[str, int] = {}
        values: Data = {}
        for name, key in sort_keys.items():
            primary = self.primary(name)
            if primary is None:
                values[name] = key
            else:
                counts[primary.column], values[name] = primary.split(key)
        return values | counts

    @classmethod
    def objective(cls, name: str) -> Objective:
        """Return the objective of that name, or raise UnknownName."""
        for objective in cls.objectives:
            if objective.name == name:
                return objective
        names = [o.name for o in cls.objectives]
        listing = ", ".join(names) or "none"
        raise UnknownName(
            f"unknown objective '{name}' of {cls.problem}{did_you_mean(name, names)}; there are {listing}"
        )


def stated_bound(value: int | None, bound: int | float | None, primary: Primary | None) -> int | float | None:
    """Return the base value of a bound, or None if its primary count differs from the value's."""
    if primary is None or bound is None:
        return bound
    count, base = primary.split(bound)
    return base if value is None or primary.split(value)[0] == count else None


def format_value(value: int | float | None, primary: Primary | None, unit: str = "") -> str:
    """Format a value or a bound for people: "12 s", "12 s and 1 deferred TE jobs", a dash for None."""
    if value is None:
        return "–"
    count, base = (0, value) if primary is None else primary.split(value)
    text = str(base) if isinstance(base, int) else f"{base:.10g}"
    text += f" {unit}" if unit else ""
    return text if primary is None or not count else f"{text} and {count} {primary.name}"


def objective_entry(table: Mapping[str, T], objective: str, table_name: str) -> T:
    """Look up the entry of an objective; raise InvalidInput, naming the table as `where`, if it is missing.

    Each layer has such a table, so that code written for one objective is never applied to another.
    """
    if objective not in table:
        raise InvalidInput(
            f"{table_name}: the entry for objective '{objective}' is missing; there are {', '.join(table)}; add it"
        )
    return table[objective]


@dataclasses.dataclass(frozen=True)
class Preset:
    """Named, frozen set of generator sizes."""

    name: str
    doc: str
    sizes: Mapping[str, int | float | str]


@dataclasses.dataclass(frozen=True)
class Generator:
    """Generator of random instances of a further form of a problem: `generate(rng, **sizes)`, and frozen presets.

    Preset names are unique across the forms of a problem because the name selects the form.
    """

    generate: Callable[..., Instance]
    presets: Mapping[str, Preset]


@dataclasses.dataclass(frozen=True)
class Reader:
    """Reader of foreign files: `read(path, **options)` returns an instance; its keyword arguments are the options.

    Attributes:
        read: The function that reads a file.
        objective: Objective for which files of this format are published; the command line's default for them.
    """

    read: Callable[..., Instance]
    objective: str


@dataclasses.dataclass(frozen=True)
class Feature:
    """Property of instances that the judge's rules distinguish, such as draining nodes.

    The test kit draws every combination of two features of a problem.

    Attributes:
        has: Returns whether an instance has the property.
        add: Returns a changed instance with the property, given a random generator. It may raise InvalidInput or return
            the instance without the property if it cannot have it. None: only the problem's strategies draw it.
    """

    has: Callable[[Any], bool]
    add: Callable[[Any, Any], Any] | None = None


@dataclasses.dataclass(frozen=True)
class MetamorphicRelation:
    """Known relation between the optimum of an instance and that of a changed instance.

    Attributes:
        doc: The relation in words.
        change: `change(instance, rng)` returns the changed instance, or None if it does not apply.
        says: Objective -> effect on its optimum: "equal", "no worse" or "no better" (in the objective's sense), or a
            factor. Other objectives are unrestricted.
    """

    doc: str
    change: Callable[[Any, Any], Any]
    says: Mapping[str, Literal["equal", "no worse", "no better"] | int]


@dataclasses.dataclass(frozen=True)
class InSuites:
    """Presets of a problem in the built-in suites (`benchmark/suites.py`).

    Attributes:
        small_only: Exact solvers that `quick` and `scale` run on `small` only, because larger instances take long.
        harder: Second preset of `gaps`, the number of its seeds, and the solvers that skip it.
        exact: Presets of `exact`.
        scale: Preset of `scale`, and changes to its sizes, each twice as large as the previous.
        speed: Preset of `speed`, the size at which the paper takes its decisions.
        edition: First edition of `collection` with this problem.
        not_collected: Presets that `collection` omits because one instance takes a minute or megabytes.
        for_runs: Rules and policies made for decision after decision, which `quick` omits on single decisions.
        runs: Presets of complete runs in `quick`.
        on_runs: Solvers of `quick` on these. The first solver finds the optimum of a run. An exact solver of decisions
            takes the optimum of each decision.
        published: Heuristics that `outside` compares with published optima, beside the default exact solver.
    """

    small_only: tuple[str, ...] = ()
    harder: tuple[str, int, tuple[str, ...]] | None = None
    exact: tuple[str, ...] = ()
    scale: tuple[str, tuple[Mapping[str, Any], ...]] | None = None
    speed: str | None = None
    edition: int | None = None
    not_collected: tuple[str, ...] = ()
    for_runs: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    on_runs: tuple[str, ...] = ()
    published: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Problem:
    """One problem, as the rest of the library sees it.

    Attributes:
        name: Name of the problem, also of its folders.
        title: Title in one line.
        paper: Paper that states the problem.
        instance_type: Type of its main instances.
        plan_type: Type of the plans of main instances.
        generate: `generate(rng, **sizes)` draws a random instance; users may set its keyword arguments.
        presets: Sizes of `generate` by name.
        strategy: `strategy(**limits)` returns a Hypothesis strategy of small instances; Hypothesis is imported on call.
        cases: `cases(instance, plan)` maps special cases to whether they occur; tests report how often.
        relaxations: `relaxations(instance)` maps constraints to the instance without them; tests report how often each
            binds.
        default: Name of the default exact solver.
        trivial_bounds: Objective -> function of the instance that bounds every plan's value without a search.
        draw: `draw(instance, plan, axes)` draws a plan on matplotlib axes. It may return, for an objective's unit, the
            unit on the axis and the factor between them.
        other_types: Further instance types, each with its own plan type: horizons, decisions, policies
            (`Instance.called`).
        horizons: Generators of instances of `other_types`.
        readers: File suffix -> reader; never ".json", the library's own format.
        contended: Strategy of instances whose jobs compete for the same capacity; it exposes rules that forget their
            own decisions.
        roomy: Returns an instance with the same jobs and capacity for all at once on every node, in which a rule must
            start every job. None if the problem's simulator does not run rules.
        metamorphic_relations: Known relations between optima of changed instances.
        features: Properties of instances that the judge's rules distinguish.
        suites: Presets in the built-in suites.
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
    relaxations: Callable[[Any], Data]
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
        return short_repr(self, self.name, self.title)

    @property
    def generators(self) -> tuple[Generator, ...]:
        """Generators of random instances, the main form first."""
        return (Generator(self.generate, self.presets), *self.horizons)

    @property
    def instance_types(self) -> tuple[type[Instance], ...]:
        """All instance types of the problem, the main type first."""
        return (self.instance_type, *self.other_types)

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """The objectives of all forms by name, those of the main form first."""
        named: dict[str, Objective] = {}
        for objective in (o for kind in self.instance_types for o in kind.objectives):
            named.setdefault(objective.name, objective)
        return tuple(named.values())

    def trivial_bound(self, instance: Instance, objective: str) -> int:
        """Return the bound of a solver that a limit stopped; raise InvalidInput if the objective has none."""
        return objective_entry(self.trivial_bounds, objective, f"TRIVIAL_BOUNDS of instances/{self.name}/bounds.py")(
            instance
        )
