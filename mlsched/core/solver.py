"""What answers a problem: a rule, an algorithm, or the builder of a model, each with one signature.

A file declares its function with one of the decorators of `core/registry.py`; an `Solver` then holds it in the slot
of its form, and whoever asks it calls that slot. Functions of users declare what they need of these arguments; here,
once, they are given the signature of their form.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol

import numpy as np

from mlsched.core.brief import short_repr
from mlsched.core.contract import Information, Instance, Question
from mlsched.core.formulation import Formulation, Limits, OneOf, Outcome
from mlsched.core.params import Parameter

Kind = Literal["exact", "heuristic", "trained"]
#: The parameter of every model for HiGHS that hands it to another backend.
ENGINE = "engine"
#: Other names of an engine: HiGHS in two wrappers is one.
WRAPPED = {"ortools-highs": "highs", "appsi_highs": "highs", "scip_direct": "scip", "scip_persistent": "scip"}


class DecisionRule(Protocol):
    """A rule or a trained policy: the plan, and what it remembers until it is asked again.

    memory: what it returned last; None at first, and always for a rule that remembers nothing. limits: the wall time of
    a rule that searches.
    """

    def __call__(
        self, instance: Any, /, *, memory: Any, rng: np.random.Generator, limits: Limits, **params: Any
    ) -> tuple[Any, Any]: ...


class Algorithm(Protocol):
    """An exact algorithm: it reads the instance, and returns a plan and a bound within its limits.

    hint: a feasible plan that it may start from. It may raise OutOfTime when the time is over (`core/deadline.py`).
    Its parameters are further keyword arguments, with defaults.
    """

    def __call__(self, instance: Any, /, *, objective: str, limits: Limits, hint: Any) -> Outcome: ...


class ModelBuilder(Protocol):
    """A builder of a model with these objectives, which a backend solves; OutOfTime as for an `Algorithm`.

    One that `prunes` takes `at_worst` as well: where one objective is asked, plans of a worse value need not be in the
    model. Its parameters are further keyword arguments, with defaults.
    """

    def __call__(self, instance: Any, /, *, objectives: tuple[str, ...], limits: Limits) -> Formulation | OneOf: ...


@dataclasses.dataclass(frozen=True)
class Adapted:
    """A function as its form is called: of the arguments that the library passes it is given those it declares.

    forgets: it returns a plan alone, as rules without memory do; nothing is then remembered.
    """

    function: Callable[..., Any]
    takes: frozenset[str]
    forgets: bool = False

    def __call__(self, instance: Any, /, **arguments: Any) -> Any:
        """What the function returns."""
        given = {name: value for name, value in arguments.items() if name not in _PASSED or name in self.takes}
        found = self.function(instance, **given)
        return (found, arguments["memory"]) if self.forgets else found


#: What the library passes besides parameters, and what a function may therefore leave undeclared.
_PASSED = frozenset({"memory", "limits", "hint"})


def adapted(function: Callable[..., Any], *, stateful: bool | None = None) -> Adapted:
    """A function that may leave out arguments of its form. stateful: of a rule, whether it takes and returns memory."""
    takes = _PASSED & set(inspect.signature(function).parameters)
    if stateful is None:
        return Adapted(function, takes)
    return Adapted(function, takes | {"memory"} if stateful else takes - {"memory"}, forgets=not stateful)


def _no_options(of: Any) -> dict[str, Any]:
    return {}


@dataclasses.dataclass(frozen=True)
class Solver:
    """A registered way to answer a problem: a rule, an algorithm or a model, and what is known of it.

    `function` is what its file declares (its docstring is the solver's). `rule`, `algorithm` and `model` are the
    slots by which it is called: a function that is given neither as an algorithm nor as a model is a rule (`stateful`
    ones take and return `memory`). `backend`: the one that its model is for, "cp-sat" or "highs". An algorithm may
    have a model too, for fronts. `restricted`: it looks at only some of the plans, so neither its bound nor its
    fronts are those of the instance; `solve` gives "feasible" and the bound in `work["restricted_bound"]`.

    `objectives`: those it can optimise (exact) or aims at (others; empty: none in particular). `information`: what it
    is shown of an instance (`Instance.shown`); only an "oracle" sees the instance's secrets. `called`: the form of
    instance it answers natively, by default that of the problem's main instance type. `warm_start`: exact solvers of
    the problem may start from its plan; `as_start(instance)`: the parameters that it has then, where they are not its
    defaults. `takes_hint`: it may start from a plan. `prunes`: its model leaves out plans worse than one that is known
    (see `ModelBuilder`). `cold(instance, objective)`: it is as quick without one, so the rules are asked only where it
    proves nothing. `searches`: it is a rule that stops by itself at a time limit.
    `world(params)`: options of the clock's world that the rule implies, unless the user sets
    them (a rule without priorities runs in a world without priorities). `engine`: the code whose word its proofs rest
    on, where that is neither its backend nor its own (an algorithm of another package that calls CP-SAT says "cp-sat"):
    see `engine_of`. `order(**params)`: for a rule that is an order of jobs, the order; simulated runs serve it without
    instances where they can.
    """

    name: str
    problem: str
    kind: Kind
    function: Callable[..., Any]
    objectives: tuple[str, ...] = ()
    information: Information = "observed"
    stateful: bool = False
    warm_start: bool = False
    as_start: Callable[[Any], dict[str, Any]] | None = None
    world: Callable[[dict[str, Any]], dict[str, Any]] = _no_options
    paper: str = ""
    parameters: dict[str, Parameter] = dataclasses.field(default_factory=dict)
    called: Question | None = None
    rule: DecisionRule | None = None
    algorithm: Algorithm | None = None
    model: ModelBuilder | None = None
    backend: str | None = None
    takes_hint: bool = False
    prunes: bool = False
    cold: Callable[[Any, str], bool] | None = None
    searches: bool = False
    restricted: bool = False
    engine: str | None = None
    order: Callable[..., Any] | None = None

    def __repr__(self) -> str:
        return short_repr(self, f"{self.name} for {self.problem}", self.kind, self.paper)

    def __post_init__(self) -> None:
        if self.rule is None and self.algorithm is None and self.model is None:
            rule = adapted(self.function, stateful=self.stateful)
            object.__setattr__(self, "rule", rule)
            object.__setattr__(self, "searches", "limits" in rule.takes)

    def world_options(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """`world` of all parameters: those given, and the others at their default."""
        return self.world({name: parameter.default for name, parameter in self.parameters.items()} | {**params})

    def engine_of(self, params: Mapping[str, Any]) -> str:
        """The code that its proofs rest on; two solvers with one engine do not confirm each other.

        A model's is the backend it is handed to, an exact algorithm's its own, under its name: "cp-sat" and "highs" are
        algorithms around those backends.
        """
        if self.engine is not None:
            return self.engine
        own = self.name if self.solved_by is None else self.solved_by
        return WRAPPED.get(chosen := str(params.get(ENGINE, own)), chosen)

    def answers(self, called: Question) -> bool:
        """Whether it answers this form of instance itself. A user's function answers any."""
        return self.called in (None, called)

    def starts_warm(self, instance: Instance, objective: str) -> bool:
        """Whether it is given a plan of the warm-start rules to start from."""
        return self.takes_hint and not (self.cold and self.cold(instance, objective))

    @property
    def solved_by(self) -> str | None:
        """The backend that answers by solving its model; None where a rule or an algorithm answers."""
        return self.backend if self.rule is None and self.algorithm is None else None

    @property
    def fronts_by(self) -> str | None:
        """The backend that a model of all its plans is for, by which fronts are made; None where there is no such."""
        return None if self.model is None or self.restricted else self.backend

    @property
    def summary(self) -> str:
        """The first line of the function's docstring, or of its module's."""
        doc = inspect.getdoc(self.function) or ""
        return doc.partition("\n")[0]
