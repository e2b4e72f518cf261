"""The registry: problems and answerers declare themselves in their own files; here they are found.

Scanning `instances/` finds problems, scanning `formulations|solvers|heuristics|learned/<problem>/` finds answerers,
then the entry-point group `mlsched.answerers` adds those of other packages. This is the only dynamic import in mlsched,
and it happens at the first look-up, never at `import mlsched`. Adding an answerer touches its own file and its test.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import importlib.metadata
import importlib.util
import inspect
import pkgutil
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Literal, TypeVar, get_args

from mlsched.core.contract import Information, Instance, Problem, Question
from mlsched.core.errors import UnknownName, meant
from mlsched.core.params import Parameter, parameters_of, resolve, split, ungrouped

T = TypeVar("T")
Kind = Literal["exact", "heuristic", "trained"]
#: Which layer's folder holds which kind of answerer.
LAYERS: dict[str, Kind] = {"formulations": "exact", "solvers": "exact", "heuristics": "heuristic", "learned": "trained"}


#: The parameter of every model for HiGHS that hands it to another solver.
SOLVER = "solver"
#: Other names of an engine: HiGHS in two wrappers is one.
WRAPPED = {"ortools-highs": "highs", "appsi_highs": "highs", "scip_direct": "scip", "scip_persistent": "scip"}


def _no_options(params: dict[str, Any]) -> dict[str, Any]:
    return {}


@dataclasses.dataclass(frozen=True)
class Answerer:
    """A registered way to answer a problem.

    `function` is, by `backend`: None - a rule `(instance, *, rng, **params) -> plan` (stateful ones also take and
    return `memory`; a search may declare `limits: Limits | None = None`, to stop at a time limit); "direct" - an exact
    algorithm `(instance, *, objective, limits, [hint,] **params) -> Outcome`; "cp-sat" or "highs" - a builder
    `(instance, *, objectives, **params) -> Formulation | OneOf` for that solver (it may also declare
    `limits: Limits | None = None`, and raise OutOfTime when they are over: `core/deadline.py`).

    `objectives`: those it can optimise (exact) or aims at (others; empty: none in particular). `information`: what it
    is shown of an instance (`Instance.shown`); only an "oracle" sees the instance's secrets. `warm_start`: exact
    answerers of the problem may start from its plan. `world(params)`: options of the clock's world that the rule
    implies, unless the user sets them (a rule without priorities runs in a world without priorities).
    `asks`: the form of instance it answers natively, by default that of the problem's main instance type.
    `model`: backend and builder `(instance, *, objectives, **params) -> Formulation` of an exact algorithm ("direct")
    that can also hand out one model of several objectives, for fronts. `restricted`: its model holds only some of the
    plans, so neither its bound nor its fronts are those of the instance; `solve` gives "feasible" and the bound in
    `work["restricted_bound"]`. `engine`: the code whose word its proofs rest on, where that is neither the backend nor
    its own (an algorithm of another package that calls CP-SAT says "cp-sat"): see `engine_of`.
    """

    name: str
    problem: str
    kind: Kind
    function: Callable[..., Any]
    objectives: tuple[str, ...] = ()
    information: Information = "observed"
    stateful: bool = False
    backend: str | None = None
    warm_start: bool = False
    world: Callable[[dict[str, Any]], dict[str, Any]] = _no_options
    paper: str = ""
    parameters: dict[str, Parameter] = dataclasses.field(default_factory=dict)
    asks: Question | None = None
    model: tuple[str, Callable[..., Any]] | None = None
    restricted: bool = False
    engine: str | None = None

    def engine_of(self, params: Mapping[str, Any]) -> str:
        """The code that its proofs rest on; two answerers with one engine do not confirm each other.

        A model's is the solver it is handed to, an exact algorithm's its own, under its name: "cp-sat" and "highs" are
        algorithms around those solvers.
        """
        if self.engine is not None:
            return self.engine
        own = self.name if self.backend in (None, "direct") else str(self.backend)
        return WRAPPED.get(chosen := str(params.get(SOLVER, own)), chosen)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """A registered answerer is sent to other processes by its name; what it calls is found there."""
        if registry().answerers.get((self.problem, self.name)) is self:
            return _registered, (self.problem, self.name)
        return super().__reduce_ex__(protocol)

    @property
    def modelled(self) -> tuple[str, Callable[..., Any]] | None:
        """Backend and builder of a model of all plans, None when it has none."""
        if self.restricted:
            return None
        if self.backend in (None, "direct"):
            return self.model
        return str(self.backend), self.function

    def shown(self, instance: Instance) -> Instance:
        """What the answerer is handed of an instance, by the information that it declares."""
        return instance.shown(self.information)

    @property
    def takes_hint(self) -> bool:
        """Whether it may start from a plan: models do, a direct algorithm when it declares the keyword `hint`."""
        if self.backend == "direct":
            return "hint" in inspect.signature(self.function).parameters
        return self.backend is not None

    @property
    def takes_limits(self) -> bool:
        """Whether it is a rule or a builder that stops by itself at a time limit: it declares the keyword `limits`."""
        return self.backend != "direct" and "limits" in inspect.signature(self.function).parameters

    @property
    def summary(self) -> str:
        """The first line of the function's docstring, or of its module's."""
        doc = inspect.getdoc(self.function) or ""
        return doc.partition("\n")[0]


def _registered(problem: str, name: str) -> Answerer:
    """What was sent by its name."""
    return registry().answerer(problem, name)[0]


class Registry:
    """Problems and answerers by name. `mlsched.core.registry.registry()` is the library's one."""

    def __init__(self) -> None:
        self.problems: dict[str, Problem] = {}
        self.answerers: dict[tuple[str, str], Answerer] = {}

    def add(self, answerer: Answerer) -> None:
        """Add one answerer; a second of the same problem and name is an error, never a silent replacement."""
        key = (answerer.problem, answerer.name)
        if key in self.answerers:
            first = self.answerers[key].function.__module__
            raise ValueError(f"answerer {key} registered twice: in {first} and in {answerer.function.__module__}")
        if answerer.asks is None and answerer.problem in self.problems:
            answerer = dataclasses.replace(answerer, asks=self.problems[answerer.problem].instance_type.asks)
        self.answerers[key] = answerer

    def problem(self, name: str) -> Problem:
        """The problem of that name, or UnknownName."""
        if name not in self.problems:
            known = sorted(self.problems)
            raise UnknownName(f"no problem '{name}'{meant(name, known)}; there are {', '.join(known)}")
        return self.problems[name]

    def available(self, problem: str | None = None, kind: Kind | None = None) -> list[Answerer]:
        """Answerers, exact first, then heuristics, then trained policies, by name."""
        if problem is not None:
            self.problem(problem)
        order = get_args(Kind)
        chosen = [a for a in self.answerers.values() if problem in (None, a.problem) and kind in (None, a.kind)]
        return sorted(chosen, key=lambda a: (a.problem, order.index(a.kind), a.name))

    def answerer(self, problem: str, text: str) -> tuple[Answerer, dict[str, Any]]:
        """The answerer that `text` ("fitgpp:s=8") names for `problem`, and all its parameters."""
        name, settings = split(text)
        found = self.answerers.get((problem, name))
        if found is None:
            known = [a.name for a in self.available(problem)]
            others = [p for p, other in self.answerers if other == name]
            hint = f" (there is one for {', '.join(others)})" if others else meant(name, known)
            raise UnknownName(f"no answerer '{name}' for {problem}{hint}; there are {', '.join(known)}")
        return found, resolve(name, found.parameters, settings)


def answerer(name: str, *, problem: str, **details: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare the decorated function an answerer: `@answerer("fitgpp", problem="preemption", objectives=(...))`.

    The kind follows from the layer the file lies in; outside mlsched it must be given (`kind="heuristic"`). Details
    are the fields of `Answerer`.
    """

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        layer = function.__module__.split(".")[1] if function.__module__.startswith("mlsched.") else ""
        kind = details.pop("kind", None) or LAYERS.get(layer)
        if kind is None:
            raise ValueError(f"answerer '{name}': kind must be given, one of {', '.join(get_args(Kind))}")
        parameters, function = parameters_of(function), ungrouped(function)
        if details.get("backend") == "highs":
            parameters[SOLVER] = Parameter(SOLVER, str, "highs", later=True)
        declared = Answerer(name, problem, kind, function, parameters=parameters, **details)
        function.__dict__.setdefault("__mlsched__", []).append(declared)
        return function

    return declare


def _modules(package: str, *, packages: bool = False) -> Iterator[str]:
    """Names of the public modules (or sub-packages) directly inside a package; none when it does not exist."""
    spec = importlib.util.find_spec(package)
    for info in pkgutil.iter_modules(spec.submodule_search_locations if spec else ()):
        if info.ispkg == packages and not info.name.startswith("_"):
            yield f"{package}.{info.name}"


def scan(package: str, attribute: str, kind: type[T], *, among: Collection[str] | None = None) -> list[T]:
    """What the sub-packages of `package` export under the name `attribute`, if it is a `kind`.

    `among`: names of those sub-packages that are imported (default: all).
    """
    names = (n for n in _modules(package, packages=True) if among is None or n.rpartition(".")[2] in among)
    exported = (vars(importlib.import_module(name)).get(attribute) for name in names)
    return [found for found in exported if isinstance(found, kind)]


def declared_in(module: Any) -> list[Answerer]:
    """The answerers declared by functions of a module (those it imports from elsewhere excluded)."""
    functions = [f for _, f in inspect.getmembers(module, inspect.isfunction) if f.__module__ == module.__name__]
    return [a for f in functions for a in f.__dict__.get("__mlsched__", ())]


@functools.cache
def registry() -> Registry:
    """The library's registry, filled by scanning at the first call."""
    found = Registry()
    found.problems = {p.name: p for p in scan("mlsched.instances", "PROBLEM", Problem)}
    for layer in LAYERS:
        for problem_name in found.problems:
            for name in _modules(f"mlsched.{layer}.{problem_name}"):
                for declared in declared_in(importlib.import_module(name)):
                    found.add(declared)
    _add_entry_points(found)
    return found


def _add_entry_points(found: Registry) -> None:
    """Answerers of other packages: entry points that load to a decorated function or to a module holding some."""
    for point in importlib.metadata.entry_points(group="mlsched.answerers"):
        try:
            loaded = point.load()
        except Exception as error:  # a broken plug-in must not take the library down; it is named instead
            warnings.warn(f"entry point '{point.name}' of mlsched.answerers is broken: {error}", stacklevel=2)
            continue
        declared = declared_in(loaded) if inspect.ismodule(loaded) else getattr(loaded, "__mlsched__", [])
        if not declared:
            warnings.warn(f"entry point '{point.name}' of mlsched.answerers declares no answerer", stacklevel=2)
        for one in declared:
            found.add(one)
