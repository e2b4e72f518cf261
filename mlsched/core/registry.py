"""The registry: problems and answerers declare themselves in their own files; here they are found.

Scanning `instances/` finds problems, scanning `formulations|solvers|heuristics|learned/<problem>/` finds answerers,
then the entry-point group `mlsched.answerers` adds those of other packages. This is the only dynamic import in mlsched,
and it happens at the first look-up, never at `import mlsched`. A look-up imports the file that has the answerer's name,
if it declares it, or else the folders of the problem that it names; only what asks for all problems imports all. Adding
an answerer touches its own file and its test.
"""

from __future__ import annotations

import copyreg
import dataclasses
import functools
import importlib
import importlib.util
import inspect
import operator
import pickle
import pkgutil
import warnings
from collections.abc import Callable, Collection, Iterator
from typing import Any, TypeVar, cast, get_args

from mlsched.core.answerer import SOLVER, Algorithm, Answerer, Kind, ModelBuilder, adapted
from mlsched.core.contract import Problem
from mlsched.core.errors import InvalidInput, UnknownName, meant
from mlsched.core.gathered import Gathered
from mlsched.core.params import Parameter, parameters_of, resolve, split, ungrouped

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
A = TypeVar("A", bound=Algorithm)
M = TypeVar("M", bound=ModelBuilder)
#: Which layer's folder holds which kind of answerer.
LAYERS: dict[str, Kind] = {"formulations": "exact", "solvers": "exact", "heuristics": "heuristic", "learned": "trained"}


def _sent(answerer: Answerer) -> Any:
    """A registered answerer is sent to other processes by its name; what it calls is found there."""
    if registry().answerers.get((answerer.problem, answerer.name)) is answerer:
        return _registered, (answerer.problem, answerer.name)
    return object.__reduce_ex__(answerer, pickle.HIGHEST_PROTOCOL)


def _registered(problem: str, name: str) -> Answerer:
    """What was sent by its name."""
    return registry().answerer(problem, name)[0]


copyreg.pickle(Answerer, _sent)


class Registry:
    """Problems and answerers by name. `mlsched.core.registry.registry()` is the library's one."""

    def __init__(self) -> None:
        self.problems: Gathered[str, Problem] = Gathered(_folders, str, _problem_in)
        self.answerers: Gathered[tuple[str, str], Answerer] = Gathered(
            lambda: {*_folders(), *self._plugins}, operator.itemgetter(0), self._answerers_of, self._in_own_file
        )

    def add(self, answerer: Answerer) -> None:
        """Add one answerer; a second of the same problem and name is an error, never a silent replacement."""
        self._put(answerer, self.answerers.part(answerer.problem))

    def _put(self, answerer: Answerer, among: dict[tuple[str, str], Answerer]) -> None:
        key = (answerer.problem, answerer.name)
        if key in among:
            first = among[key].function.__module__
            second = answerer.function.__module__
            raise InvalidInput(f"answerer {key} registered twice: in {first} and in {second}; give one another name")
        among[key] = self._completed(answerer)

    def _completed(self, answerer: Answerer) -> Answerer:
        """The answerer, with the form of question that its problem asks where it names none."""
        if answerer.asks is not None or answerer.problem not in self.problems:
            return answerer
        return dataclasses.replace(answerer, asks=self.problems[answerer.problem].instance_type.asks)

    def _in_own_file(self, key: tuple[str, str]) -> Answerer | None:
        """The answerer "mlf-h" of task graphs from a file `mlf_h.py` of theirs, where there is one that declares it.

        None where other packages have answerers of the problem: whether one has the same name shows when all are found.
        """
        problem, name = key
        if problem not in self.problems or self._plugins.get(problem):
            return None
        for layer in LAYERS:
            folder = f"mlsched.{layer}.{problem}"
            if (file := f"{folder}.{name.replace('-', '_')}") in _modules(folder):
                for declared in declared_in(importlib.import_module(file)):
                    if (declared.problem, declared.name) == key:
                        return self._completed(declared)
        return None

    def _answerers_of(self, problem: str) -> dict[tuple[str, str], Answerer]:
        """The answerers in the folders of a problem, and those of other packages for it."""
        found: dict[tuple[str, str], Answerer] = {}
        if problem in self.problems:
            for layer in LAYERS:
                for name in _modules(f"mlsched.{layer}.{problem}"):
                    for declared in declared_in(importlib.import_module(name)):
                        self._put(declared, found)
        for declared in self._plugins.get(problem, ()):
            self._put(declared, found)
        return found

    @functools.cached_property
    def _plugins(self) -> dict[str, list[Answerer]]:
        """Problem -> the answerers that other packages declare for it."""
        found: dict[str, list[Answerer]] = {}
        for declared in _entry_points():
            found.setdefault(declared.problem, []).append(declared)
        return found

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
        among = self.answerers if problem is None else self.answerers.part(problem)
        chosen = [a for a in among.values() if kind in (None, a.kind)]
        return sorted(chosen, key=lambda a: (a.problem, order.index(a.kind), a.name))

    def answerer(self, problem: str, text: str) -> tuple[Answerer, dict[str, Any]]:
        """The answerer that `text` ("fitgpp:s=8") names for `problem`, and the parameters not at their default."""
        name, settings = split(text)
        found = self.answerers.get((problem, name))
        if found is None:
            known = [a.name for a in self.available(problem)]
            others = [p for p, other in self.answerers if other == name]
            hint = f" (there is one for {', '.join(others)})" if others else meant(name, known)
            raise UnknownName(f"no answerer '{name}' for {problem}{hint}; there are {', '.join(known)}")
        return found, resolve(name, found.parameters, settings)


def answerer(
    name: str, *, problem: str, backend: str | None = None, **details: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare the decorated function an answerer: `@answerer("fitgpp", problem="preemption", objectives=(...))`.

    Args:
        name: what it is called in calls, commands and tables.
        problem: which problem it answers.
        backend: left out, the function is a rule or policy `(instance, *, rng, **params) -> plan`; one with
            `stateful=True` also takes and returns memory, `(instance, *, memory, rng, **params) -> (plan, memory)`, and
            a search may declare `limits`. "direct": an exact algorithm `(instance, *, objective, limits, **params) ->
            Outcome`, which may declare `hint`. "cp-sat" or "highs": the builder `(instance, *, objectives, **params) ->
            Formulation | OneOf` of a model for that solver, which may declare `limits`.
        details: further keywords are the fields of `Answerer`. The kind follows from the layer the file lies in;
            outside mlsched it must be given (`kind="heuristic"`).

    Examples:
        >>> @mlsched.answerer("all-wait", problem="preemption", kind="heuristic", paper="none")
        ... def all_wait(instance, *, rng):
        ...     return instance.plan_type(te_node=[-1] * len(instance.te_demand), victims=[])
        >>> mlsched.solve(mlsched.generate("preemption", "small"), all_wait).answerer
        'all-wait'
    """

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        if backend is None:
            return _declared(function, name, problem, {}, details)
        form = adapted(ungrouped(function))
        if backend == "direct":
            return _declared(function, name, problem, {"algorithm": form, "takes_hint": "hint" in form.takes}, details)
        return _declared(function, name, problem, {"model": form, "solver": backend, "takes_hint": True}, details)

    return declare


def exact_algorithm(name: str, *, problem: str, objectives: tuple[str, ...], **details: Any) -> Callable[[A], A]:
    """Declare the decorated function an exact algorithm (`Algorithm`). Details are the fields of `Answerer`."""

    def declare(function: A) -> A:
        return _declared(function, name, problem, {"algorithm": function, "objectives": objectives}, details)

    return declare


def model_builder(
    name: str, *, problem: str, solver: str, objectives: tuple[str, ...], **details: Any
) -> Callable[[M], M]:
    """Declare the decorated function the builder of a model (`ModelBuilder`) for a solver, "cp-sat" or "highs"."""

    def declare(function: M) -> M:
        form = {"model": function, "solver": solver, "takes_hint": True, "objectives": objectives}
        return _declared(function, name, problem, form, details)

    return declare


def _declared(function: F, name: str, problem: str, form: dict[str, Any], details: dict[str, Any]) -> F:
    """The function, with an `Answerer` that it declares added to those it declares already."""
    layer = function.__module__.split(".")[1] if function.__module__.startswith("mlsched.") else ""
    fields = {"kind": LAYERS.get(layer), **form, **details}
    if fields["kind"] is None:
        raise ValueError(f"answerer '{name}': kind must be given, one of {', '.join(get_args(Kind))}")
    parameters, called = parameters_of(function), ungrouped(function)
    if fields.get("solver") == "highs":
        parameters[SOLVER] = Parameter(SOLVER, str, "highs")
    declared = Answerer(name, problem, function=called, parameters=parameters, **fields)
    called.__dict__.setdefault("__mlsched__", []).append(declared)
    return cast(F, called)


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


def _folders() -> list[str]:
    """Names of the folders of `instances/`, among them those of all problems."""
    return [name.rpartition(".")[2] for name in _modules("mlsched.instances", packages=True)]


def _problem_in(folder: str) -> dict[str, Problem]:
    """The problem that a folder of `instances/` exports, under its name, which is the folder's."""
    found = scan("mlsched.instances", "PROBLEM", Problem, among=(folder,))
    if wrong := [p.name for p in found if p.name != folder]:
        raise ValueError(f"mlsched/instances/{folder}: its problem is named '{wrong[0]}': must be the folder's name")
    return {problem.name: problem for problem in found}


@functools.cache
def registry() -> Registry:
    """The library's registry; each problem's part is filled at the first look-up there."""
    return Registry()


def _entry_points() -> Iterator[Answerer]:
    """Answerers of other packages: entry points that load to a decorated function or to a module holding some."""
    from importlib.metadata import entry_points  # a twentieth of a second, which reading a file does not need

    for point in entry_points(group="mlsched.answerers"):
        try:
            loaded = point.load()
        except Exception as error:  # a broken plug-in must not take the library down; it is named instead
            warnings.warn(f"entry point '{point.name}' of mlsched.answerers is broken: {error}", stacklevel=2)
            continue
        declared = declared_in(loaded) if inspect.ismodule(loaded) else getattr(loaded, "__mlsched__", [])
        if not declared:
            warnings.warn(f"entry point '{point.name}' of mlsched.answerers declares no answerer", stacklevel=2)
        yield from declared
