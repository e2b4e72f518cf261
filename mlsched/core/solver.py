"""Solvers: a rule, an algorithm, or the builder of a model, each with one signature.

A file declares its function with a decorator of `core/registry.py`. A `Solver` then keeps it in the slot of its form,
which callers use. Functions of users declare only the arguments they need; they are adapted here to the signature of
their form.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol, TypedDict

import numpy as np

from mlsched.core.brief import short_repr
from mlsched.core.contract import Information, Instance, Question
from mlsched.core.formulation import Formulation, Limits, OneOf, Outcome
from mlsched.core.params import Parameter, Value

Kind = Literal["exact", "heuristic", "trained"]
#: Parameter of every model for HiGHS that selects another backend.
ENGINE = "engine"
#: Other names of an engine: HiGHS in two wrappers is one engine.
WRAPPED = {"ortools-highs": "highs", "appsi_highs": "highs", "scip_direct": "scip", "scip_persistent": "scip"}


class DecisionRule(Protocol):
    """Rule or trained policy: returns a plan, and its memory for the next call.

    `memory` is the value that it returned last: None at first, and always None for a rule without memory. `limits` has
    the wall time of a rule that searches.
    """

    def __call__(
        self, instance: Any, /, *, memory: Any, rng: np.random.Generator, limits: Limits, **params: Any
    ) -> tuple[Any, Any]: ...


class Algorithm(Protocol):
    """Exact algorithm: reads the instance and returns a plan and a bound within its limits.

    `hint` is a feasible plan from which it may start. It may raise OutOfTime at the deadline (`core/deadline.py`). Its
    parameters are further keyword arguments with defaults.
    """

    def __call__(self, instance: Any, /, *, objective: str, limits: Limits, hint: Any) -> Outcome: ...


class ModelBuilder(Protocol):
    """Builder of a model with these objectives, which a backend solves; OutOfTime as for an `Algorithm`.

    A builder with `prunes` also takes `at_worst`: for a single objective, the model may omit plans of a worse value.
    Its parameters are further keyword arguments with defaults.
    """

    def __call__(self, instance: Any, /, *, objectives: tuple[str, ...], limits: Limits) -> Formulation | OneOf: ...


@dataclasses.dataclass(frozen=True)
class Adapted:
    """Function adapted to the signature of its form; it receives only the arguments that it declares.

    Attributes:
        function: The function.
        takes: Declared arguments among those that the library passes.
        forgets: It returns only a plan, without memory.
    """

    function: Callable[..., Any]
    takes: frozenset[str]
    forgets: bool = False

    def __call__(self, instance: Any, /, **arguments: Any) -> Any:
        """Call the function with the arguments that it declares."""
        accepted = {
            name: value for name, value in arguments.items() if name not in _LIBRARY_ARGUMENTS or name in self.takes
        }
        answer = self.function(instance, **accepted)
        return (answer, arguments["memory"]) if self.forgets else answer


#: Arguments that the library passes besides parameters; a function may omit them.
_LIBRARY_ARGUMENTS = frozenset({"memory", "limits", "hint"})


def adapt_signature(function: Callable[..., Any], *, stateful: bool | None = None) -> Adapted:
    """Adapt a function that may omit arguments of its form; `stateful`: the rule takes and returns memory."""
    takes = _LIBRARY_ARGUMENTS & set(inspect.signature(function).parameters)
    if stateful is None:
        return Adapted(function, takes)
    return Adapted(function, takes | {"memory"} if stateful else takes - {"memory"}, forgets=not stateful)


def _no_options(params: Mapping[str, Value]) -> dict[str, Any]:
    return {}


StartParameters = Callable[[Any], dict[str, Any]]
WorldOptions = Callable[[dict[str, Any]], dict[str, Any]]
FastWithoutStart = Callable[[Any, str], bool]


class Details(TypedDict, total=False):
    """Fields of `Solver` that every decorator takes by keyword."""

    kind: Kind
    information: Information
    stateful: bool
    warm_start: bool
    as_start: StartParameters | None
    world: WorldOptions
    paper: str
    called: Question | None
    prunes: bool
    cold: FastWithoutStart | None
    restricted: bool
    engine: str | None
    order: Callable[..., Any] | None
    takes_hint: bool


class AlgorithmDetails(Details, total=False):
    """Fields of `Solver` that the decorator `exact_algorithm` takes by keyword."""

    model: ModelBuilder | None
    backend: str | None


class SolverDetails(Details, total=False):
    """Fields of `Solver` that the decorator `solver` takes by keyword."""

    objectives: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Solver:
    """Registered solver of a problem: a rule, an algorithm or a model, with its properties.

    A function that is neither an algorithm nor a model is a rule. An algorithm may also have a model, for fronts.

    Attributes:
        name: Name in calls, commands and tables.
        problem: Problem that it answers.
        kind: "exact", "heuristic" or "trained".
        function: Declared function; its docstring describes the solver.
        objectives: Objectives it can optimise (exact) or aims at (others); empty for no specific one.
        information: Information of an instance that it receives (`Instance.shown`); only "oracle" includes secrets.
        stateful: The rule takes and returns `memory`.
        warm_start: Exact solvers of the problem may start from its plan.
        as_start: `as_start(instance)` returns its parameters when it computes a start, if not the defaults.
        world: `world(params)` returns simulator options that the rule implies unless the user sets them (a rule without
            priorities runs in a simulator without priorities).
        paper: Source of the method.
        parameters: Parameters by name.
        called: Form of instance that it answers itself; by default that of the problem's main instance type.
        rule: Slot of a rule.
        algorithm: Slot of an exact algorithm.
        model: Slot of the builder of a model.
        backend: Backend of the model, "cp-sat" or "highs".
        takes_hint: It may start from a plan.
        prunes: Its model omits plans worse than a known one (see `ModelBuilder`).
        cold: `cold(instance, objective)` returns whether it is as fast without a start; a start is then computed only
            if it proves nothing.
        searches: It is a rule that stops by itself at a time limit.
        restricted: It considers only some plans, so neither its bound nor its fronts are those of the instance; `solve`
            returns "feasible" and the bound in `work["restricted_bound"]`.
        engine: Code that its proofs rely on, if neither its backend nor itself (an algorithm of another package that
            calls CP-SAT states "cp-sat"); see `engine_of`.
        order: `order(**params)` returns the order of jobs of a rule that consists of one; simulated runs then avoid
            building instances if possible.
    """

    name: str
    problem: str
    kind: Kind
    function: Callable[..., Any]
    objectives: tuple[str, ...] = ()
    information: Information = "observed"
    stateful: bool = False
    warm_start: bool = False
    as_start: StartParameters | None = None
    world: WorldOptions = _no_options
    paper: str = ""
    parameters: dict[str, Parameter] = dataclasses.field(default_factory=dict)
    called: Question | None = None
    rule: DecisionRule | None = None
    algorithm: Algorithm | None = None
    model: ModelBuilder | None = None
    backend: str | None = None
    takes_hint: bool = False
    prunes: bool = False
    cold: FastWithoutStart | None = None
    searches: bool = False
    restricted: bool = False
    engine: str | None = None
    order: Callable[..., Any] | None = None

    def __repr__(self) -> str:
        return short_repr(self, f"{self.name} for {self.problem}", self.kind, self.paper)

    def __post_init__(self) -> None:
        if self.rule is None and self.algorithm is None and self.model is None:
            rule = adapt_signature(self.function, stateful=self.stateful)
            object.__setattr__(self, "rule", rule)
            object.__setattr__(self, "searches", "limits" in rule.takes)

    def world_options(self, params: Mapping[str, Value]) -> dict[str, Any]:
        """Return the simulator options for parameters, completed with their defaults."""
        return self.world({name: parameter.default for name, parameter in self.parameters.items()} | {**params})

    def engine_of(self, params: Mapping[str, Value]) -> str:
        """Return the code that its proofs rely on; two solvers with one engine do not confirm each other.

        The engine of a model is the backend that solves it. The engine of an exact algorithm is its own name: "cp-sat"
        and "highs" are algorithms around those backends.
        """
        own = self.name if self.solved_by is None else self.solved_by
        engine = str(params.get(ENGINE, own)) if self.engine is None else self.engine.lower()
        return WRAPPED.get(engine, engine)

    def answers(self, called: Question) -> bool:
        """Return whether it answers this form of instance itself; a user's function answers any."""
        return self.called in (None, called)

    def starts_warm(self, instance: Instance, objective: str) -> bool:
        """Return whether it receives a plan of the warm-start rules to start from."""
        return self.takes_hint and not (self.cold and self.cold(instance, objective))

    @property
    def solved_by(self) -> str | None:
        """Backend that answers by solving its model; None if a rule or an algorithm answers."""
        return self.backend if self.rule is None and self.algorithm is None else None

    @property
    def fronts_by(self) -> str | None:
        """Backend of a model with all plans, for fronts; None without such a model."""
        return None if self.model is None or self.restricted else self.backend

    @property
    def summary(self) -> str:
        """First line of the function's docstring."""
        doc = inspect.getdoc(self.function) or ""
        return doc.partition("\n")[0]
