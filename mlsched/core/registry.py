"""The registry: problems and solvers declare themselves in their own files; here they are found.

Scanning `instances/` finds problems, scanning `formulations|solvers|heuristics|learned/<problem>/` finds solvers. A
plug-in's package has the same folders: what it has of its own problem lies directly in `<package>/<layer>/`, or in one
file `<layer>.py`; what it has of another one in `<package>/<layer>/<problem>/`. The entry-point group `mlsched.solvers`
adds single solvers (`core/plugins.py`). Imports happen at the first look-up, never at `import mlsched`. A look-up
imports the file that has the solver's name, if it declares it, or else the folders of the problem that it names; only
a look-up of all problems imports all. Adding a solver touches its own file and its test.
"""

from __future__ import annotations

import copyreg
import dataclasses
import functools
import inspect
import operator
import pickle
import pkgutil
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar, cast, get_args

from mlsched.core import plugins
from mlsched.core.contract import Problem
from mlsched.core.errors import InvalidInput, UnknownName, did_you_mean
from mlsched.core.gathered import LazyMapping
from mlsched.core.params import Parameter, parameters_of, resolve, split, ungrouped
from mlsched.core.solver import ENGINE, Algorithm, Kind, ModelBuilder, Solver, adapted

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
A = TypeVar("A", bound=Algorithm)
M = TypeVar("M", bound=ModelBuilder)
#: Which layer's folder holds which kind of solver.
LAYERS: dict[str, Kind] = {"formulations": "exact", "solvers": "exact", "heuristics": "heuristic", "learned": "trained"}


def _sent(solver: Solver) -> Any:
    """A registered solver is sent to other processes by its name; what it calls is found there."""
    if registry().solvers.get((solver.problem, solver.name)) is solver:
        return _registered, (solver.problem, solver.name)
    return object.__reduce_ex__(solver, pickle.HIGHEST_PROTOCOL)


def _registered(problem: str, name: str) -> Solver:
    """What was sent by its name."""
    return registry().solver(problem, name)[0]


copyreg.pickle(Solver, _sent)


class Registry:
    """Problems and solvers by name. `mlsched.core.registry.registry()` is the library's one."""

    def __init__(self) -> None:
        self.problems: LazyMapping[str, Problem] = LazyMapping(_folders, str, _problem_in)
        self.solvers: LazyMapping[tuple[str, str], Solver] = LazyMapping(
            lambda: {*_folders(), *self._plugins}, operator.itemgetter(0), self._solvers_of, self._in_own_file
        )

    def add(self, solver: Solver) -> None:
        """Add one solver; a second of the same problem and name is an error, never a silent replacement."""
        self._put(solver, self.solvers.part(solver.problem))

    def _put(self, solver: Solver, among: dict[tuple[str, str], Solver]) -> None:
        key = (solver.problem, solver.name)
        if key in among:
            first = among[key].function.__module__
            second = solver.function.__module__
            raise InvalidInput(f"solver {key} registered twice: in {first} and in {second}; give one another name")
        among[key] = self.completed(solver)

    def completed(self, solver: Solver) -> Solver:
        """Return the solver, with its problem's form of question if it names none."""
        if solver.called is not None or solver.problem not in self.problems:
            return solver
        return dataclasses.replace(solver, called=self.problems[solver.problem].instance_type.called)

    def _in_own_file(self, key: tuple[str, str]) -> Solver | None:
        """The solver "mlf-h" of task graphs from a file `mlf_h.py` of theirs, where there is one that declares it.

        None where other packages have solvers of the problem: whether one has the same name shows when all are found.
        """
        problem, name = key
        if problem not in self.problems or self._plugins.get(problem):
            return None
        for folder in homes(LAYERS, problem):
            if (file := f"{folder}.{name.replace('-', '_')}") in _modules(folder):
                for declared in declared_in(plugins.imported(file)):
                    if (declared.problem, declared.name) == key:
                        return self.completed(declared)
        return None

    def _solvers_of(self, problem: str) -> dict[tuple[str, str], Solver]:
        """The solvers in the folders of a problem, and those of other packages for it."""
        found: dict[tuple[str, str], Solver] = {}
        if problem in self.problems:
            for folder in homes(LAYERS, problem):
                for name in _modules(folder):
                    for declared in declared_in(plugins.imported(name)):
                        self._put(declared, found)
        for declared in self._plugins.get(problem, ()):
            self._put(declared, found)
        return found

    @functools.cached_property
    def _plugins(self) -> dict[str, list[Solver]]:
        """Problem -> the solvers that other packages declare for it."""
        found: dict[str, list[Solver]] = {}
        for declared in _entry_points():
            found.setdefault(declared.problem, []).append(declared)
        return found

    def problem(self, name: str) -> Problem:
        """The problem of that name, or UnknownName."""
        if name not in self.problems:
            known = sorted(self.problems)
            raise UnknownName(f"no problem '{name}'{did_you_mean(name, known)}; there are {', '.join(known)}")
        return self.problems[name]

    def available(self, problem: str | None = None, kind: Kind | None = None) -> list[Solver]:
        """Solvers, exact first, then heuristics, then trained policies, by name."""
        if problem is not None:
            self.problem(problem)
        order = get_args(Kind)
        among = self.solvers if problem is None else self.solvers.part(problem)
        chosen = [a for a in among.values() if kind in (None, a.kind)]
        return sorted(chosen, key=lambda a: (a.problem, order.index(a.kind), a.name))

    def solver(self, problem: str, text: str) -> tuple[Solver, dict[str, Any]]:
        """The solver that `text` ("fitgpp:s=8") names for `problem`, and the parameters not at their default."""
        name, settings = split(text)
        found = self.solvers.get((problem, name))
        if found is None:
            known = [a.name for a in self.available(problem)]
            others = [p for p, other in self.solvers if other == name]
            hint = f" (there is one for {', '.join(others)})" if others else did_you_mean(name, known)
            raise UnknownName(f"no solver '{name}' for {problem}{hint}; there are {', '.join(known)}")
        return found, resolve(name, found.parameters, settings)


def solver(
    name: str, *, problem: str, backend: str | None = None, **details: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare the decorated function a solver: `@solver("fitgpp", problem="preemption", objectives=(...))`.

    Args:
        name: what it is called in calls, commands and tables.
        problem: which problem it answers.
        backend: left out, the function is a rule or policy `(instance, *, rng, **params) -> plan`; one with
            `stateful=True` also takes and returns memory, `(instance, *, memory, rng, **params) -> (plan, memory)`, and
            a search may declare `limits`. "direct": an exact algorithm `(instance, *, objective, limits, **params) ->
            Outcome`, which may declare `hint`. "cp-sat" or "highs": the builder `(instance, *, objectives, **params) ->
            Formulation | OneOf` of a model for that solver, which may declare `limits`.
        details: further keywords are the fields of `Solver`. The kind follows from the layer the file lies in;
            outside mlsched it must be given (`kind="heuristic"`).

    Examples:
        >>> @mlsched.solver("all-wait", problem="preemption", kind="heuristic", paper="none")
        ... def all_wait(instance, *, rng):
        ...     return instance.plan_type(te_node=[-1] * len(instance.te_demand), victims=[])
        >>> mlsched.solve(mlsched.generate("preemption", "small"), all_wait).solver
        'all-wait'
    """

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        if backend is None:
            return _declared(function, name, problem, {}, details)
        form = adapted(ungrouped(function))
        if backend == "direct":
            return _declared(function, name, problem, {"algorithm": form, "takes_hint": "hint" in form.takes}, details)
        return _declared(function, name, problem, {"model": form, "backend": backend, "takes_hint": True}, details)

    return declare


def exact_algorithm(name: str, *, problem: str, objectives: tuple[str, ...], **details: Any) -> Callable[[A], A]:
    """Declare the decorated function an exact algorithm (`Algorithm`). Details are the fields of `Solver`."""

    def declare(function: A) -> A:
        return _declared(function, name, problem, {"algorithm": function, "objectives": objectives}, details)

    return declare


def model_builder(
    name: str, *, problem: str, backend: str, objectives: tuple[str, ...], **details: Any
) -> Callable[[M], M]:
    """Declare the decorated function the builder of a model (`ModelBuilder`) for a solver, "cp-sat" or "highs"."""

    def declare(function: M) -> M:
        form = {"model": function, "backend": backend, "takes_hint": True, "objectives": objectives}
        return _declared(function, name, problem, form, details)

    return declare


def _declared(function: F, name: str, problem: str, form: dict[str, Any], details: dict[str, Any]) -> F:
    """The function, with an `Solver` that it declares added to those it declares already."""
    root, _, inside = function.__module__.partition(".")
    kind = LAYERS.get(inside.partition(".")[0])
    if kind is not None and root != plugins.CORE and root not in plugins.packages().values():
        kind = None
    fields = {"kind": kind, **form, **details}
    if fields["kind"] is None:
        raise ValueError(f"solver '{name}': kind must be given, one of {', '.join(get_args(Kind))}")
    parameters, called = parameters_of(function), ungrouped(function)
    if fields.get("backend") == "highs":
        parameters[ENGINE] = Parameter(ENGINE, str, "highs")
    declared = Solver(name, problem, function=called, parameters=parameters, **fields)
    called.__dict__.setdefault("__mlsched__", []).append(declared)
    return cast(F, called)


def home(layer: str, problem: str) -> str:
    """The package in which a layer keeps what it has of a problem, whether or not there is one."""
    package = plugins.packages().get(problem) if problem not in _core_folders() else None
    return f"{plugins.CORE}.{layer}.{problem}" if package is None else f"{package}.{layer}"


def homes(layers: Iterable[str], problem: str) -> Iterator[str]:
    """The packages in which layers keep what they have of a problem: its own, then those of further plug-ins."""
    for layer in layers:
        yield home(layer, problem)
    for own, package in plugins.packages().items():
        if own != problem:
            for layer in layers:
                yield f"{package}.{layer}.{problem}"


def _modules(package: str, *, packages: bool = False) -> list[str]:
    """Names of the public modules (or sub-packages) directly inside a package; a layer of one file is a module."""
    spec = plugins.spec(package)
    if spec is not None and spec.submodule_search_locations is None:
        return [] if packages else [package]
    inside = pkgutil.iter_modules(spec.submodule_search_locations if spec else ())
    return [f"{package}.{info.name}" for info in inside if info.ispkg == packages and not info.name.startswith("_")]


def scan(package: str, attribute: str, kind: type[T]) -> list[T]:
    """What the sub-packages of `package` export under the name `attribute`, if it is a `kind`."""
    return _exported(_modules(package, packages=True), attribute, kind)


def scan_problems(layer: str, attribute: str, kind: type[T], problem: str | None = None) -> list[T]:
    """What the packages of a layer, one for each problem, export under that name, if it is a `kind`.

    problem: of this one alone, and nothing else is imported.
    """
    if problem is not None:
        return _exported([home(layer, problem)], attribute, kind)
    names = [*_modules(f"{plugins.CORE}.{layer}", packages=True), *(home(layer, p) for p in plugins.packages())]
    return _exported(names, attribute, kind)


def _exported(packages: Iterable[str], attribute: str, kind: type[T]) -> list[T]:
    modules = [plugins.imported(name) for name in packages if plugins.spec(name)]
    found = [getattr(module, attribute, None) for module in modules]
    return [one for one in found if isinstance(one, kind)]


def declared_in(module: Any) -> list[Solver]:
    """The solvers declared by functions of a module (those it imports from elsewhere excluded); none of None."""
    if module is None:
        return []
    functions = [f for _, f in inspect.getmembers(module, inspect.isfunction) if f.__module__ == module.__name__]
    return [a for f in functions for a in f.__dict__.get("__mlsched__", ())]


@functools.cache
def _core_folders() -> list[str]:
    """Names of the folders of `instances/`, among them those of the core's problems."""
    return [name.rpartition(".")[2] for name in _modules(f"{plugins.CORE}.instances", packages=True)]


def _folders() -> list[str]:
    """Those, and the problems of plug-ins."""
    return [*_core_folders(), *plugins.packages()]


def _problem_in(folder: str) -> dict[str, Problem]:
    """The problem that a folder of `instances/`, or a plug-in, exports, under its name."""
    if folder not in _core_folders() and folder not in plugins.packages():
        return {}  # names of users are no names of modules
    found = scan_problems("instances", "PROBLEM", Problem, folder)
    if wrong := [p.name for p in found if p.name != folder]:
        raise ValueError(f"{home('instances', folder)}: its problem is named '{wrong[0]}': must be '{folder}'")
    return {problem.name: problem for problem in found}


@functools.cache
def registry() -> Registry:
    """The library's registry; each problem's part is filled at the first look-up there."""
    return Registry()


def _entry_points() -> Iterator[Solver]:
    """Single solvers of plug-ins: entry points that load to a decorated function or to a module holding some."""
    for point in plugins.points("solvers"):
        if (loaded := plugins.load(point)) is None:
            continue
        declared = declared_in(loaded) if inspect.ismodule(loaded) else getattr(loaded, "__mlsched__", [])
        if not declared:
            warnings.warn(f"plug-in '{point.name}' of {point.group} is left out: declares no solver", stacklevel=2)
        yield from declared
