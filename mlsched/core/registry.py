"""Registry of problems and solvers, which declare themselves in their own files.

Scanning `instances/` finds problems; scanning `formulations|solvers|heuristics|learned/<problem>/` finds solvers. A
plug-in's package has the same folders. Code for its own problem is directly in `<package>/<layer>/`, or in one file
`<layer>.py`; code for another problem is in `<package>/<layer>/<problem>/`. The entry-point group `mlsched.solvers`
adds single solvers (`core/plugins.py`).

Imports happen at the first look-up, never at `import mlsched`. A look-up imports the file with the solver's name if
that file declares it, else the folders of its problem. Only a look-up of all problems imports everything. Adding a
solver touches only its own file and its test.
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
from typing import Any, TypeVar, Unpack, cast, get_args

from mlsched.core import plugins
from mlsched.core.contract import Problem
from mlsched.core.errors import InvalidInput, UnknownName, did_you_mean
from mlsched.core.lazy_mapping import LazyMapping
from mlsched.core.params import Parameter, flatten_groups, parameters_of, resolve, split_settings
from mlsched.core.solver import (
    ENGINE,
    Algorithm,
    AlgorithmDetails,
    Details,
    Kind,
    ModelBuilder,
    Solver,
    SolverDetails,
    adapt_signature,
)

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
A = TypeVar("A", bound=Algorithm)
M = TypeVar("M", bound=ModelBuilder)
#: Layer -> kind of the solvers in its folders.
LAYERS: dict[str, Kind] = {"formulations": "exact", "solvers": "exact", "heuristics": "heuristic", "learned": "trained"}


def _pickle_by_name(solver: Solver) -> Any:
    """Pickle a registered solver by its name; other processes look it up in their own registry."""
    if registry().solvers.get((solver.problem, solver.name)) is solver:
        return _solver_by_name, (solver.problem, solver.name)
    return object.__reduce_ex__(solver, pickle.HIGHEST_PROTOCOL)


def _solver_by_name(problem: str, name: str) -> Solver:
    """Return the registered solver that a pickle refers to by name."""
    return registry().solver(problem, name)[0]


copyreg.pickle(Solver, _pickle_by_name)


class Registry:
    """Problems and solvers by name; `mlsched.core.registry.registry()` is the library's instance."""

    def __init__(self) -> None:
        self.problems: LazyMapping[str, Problem] = LazyMapping(_folders, str, _exported_problem)
        self.solvers: LazyMapping[tuple[str, str], Solver] = LazyMapping(
            lambda: {*_folders(), *self._plugins}, operator.itemgetter(0), self._solvers_of, self._in_own_file
        )

    def add(self, solver: Solver) -> None:
        """Add one solver; a second solver of the same problem and name is an error, never a silent replacement."""
        self._add_to(solver, self.solvers.part(solver.problem))

    def _add_to(self, solver: Solver, solvers: dict[tuple[str, str], Solver]) -> None:
        key = (solver.problem, solver.name)
        if key in solvers:
            first = solvers[key].function.__module__
            second = solver.function.__module__
            raise InvalidInput(f"solver {key} registered twice: in {first} and in {second}; give one another name")
        solvers[key] = self.completed(solver)

    def completed(self, solver: Solver) -> Solver:
        """Return the solver, with the form of its problem's main instances if it states none."""
        if solver.called is not None or solver.problem not in self.problems:
            return solver
        return dataclasses.replace(solver, called=self.problems[solver.problem].instance_type.called)

    def _in_own_file(self, key: tuple[str, str]) -> Solver | None:
        """Return the solver "mlf-h" from the file `mlf_h.py` of its problem, or None if it is missing.

        Return None also if other packages have solvers of the problem, because duplicate names show only when all are
        loaded.
        """
        problem, name = key
        if problem not in self.problems or self._plugins.get(problem):
            return None
        for folder in packages_of(LAYERS, problem):
            if (file := f"{folder}.{name.replace('-', '_')}") in _public_modules(folder):
                for candidate in solvers_in(plugins.imported(file)):
                    if (candidate.problem, candidate.name) == key:
                        return self.completed(candidate)
        return None

    def _solvers_of(self, problem: str) -> dict[tuple[str, str], Solver]:
        """Return the solvers in the folders of a problem, and those of other packages for it."""
        solvers: dict[tuple[str, str], Solver] = {}
        if problem in self.problems:
            for folder in packages_of(LAYERS, problem):
                for name in _public_modules(folder):
                    for candidate in solvers_in(plugins.imported(name)):
                        self._add_to(candidate, solvers)
        for candidate in self._plugins.get(problem, ()):
            self._add_to(candidate, solvers)
        return solvers

    @functools.cached_property
    def _plugins(self) -> dict[str, list[Solver]]:
        """Solvers of other packages by problem."""
        solvers: dict[str, list[Solver]] = {}
        for candidate in _entry_points():
            solvers.setdefault(candidate.problem, []).append(candidate)
        return solvers

    def problem(self, name: str) -> Problem:
        """Return the problem of that name, or raise UnknownName."""
        if name not in self.problems:
            names = sorted(self.problems)
            raise UnknownName(f"unknown problem '{name}'{did_you_mean(name, names)}; there are {', '.join(names)}")
        return self.problems[name]

    def available(self, problem: str | None = None, kind: Kind | None = None) -> list[Solver]:
        """Return the solvers, exact first, then heuristics, then trained policies, by name."""
        if problem is not None:
            self.problem(problem)
        order = get_args(Kind)
        among = self.solvers if problem is None else self.solvers.part(problem)
        selection = [a for a in among.values() if kind in (None, a.kind)]
        return sorted(selection, key=lambda a: (a.problem, order.index(a.kind), a.name))

    def solver(self, problem: str, text: str) -> tuple[Solver, dict[str, Any]]:
        """Return the solver that `text` ("fitgpp:s=8") names for `problem`, and its non-default parameters."""
        name, settings = split_settings(text)
        match = self.solvers.get((problem, name))
        if match is None:
            names = [a.name for a in self.available(problem)]
            other_problems = [p for p, other in self.solvers if other == name]
            hint = f" (there is one for {', '.join(other_problems)})" if other_problems else did_you_mean(name, names)
            raise UnknownName(f"unknown solver '{name}' for {problem}{hint}; there are {', '.join(names)}")
        return match, resolve(name, match.parameters, settings)


def solver(
    name: str, *, problem: str, backend: str | None = None, **details: Unpack[SolverDetails]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare the decorated function a solver: `@solver("fitgpp", problem="preemption", objectives=(...))`.

    Args:
        name: Name in calls, commands and tables.
        problem: Problem that it answers.
        backend: None: the function is a rule or policy `(instance, *, rng, **params) -> plan`. With `stateful=True` it
            also takes and returns memory, `(instance, *, memory, rng, **params) -> (plan, memory)`; a search may
            declare `limits`. "direct": an exact algorithm `(instance, *, objective, limits, **params) -> Outcome`,
            which may declare `hint`. "cp-sat" or "highs": the builder `(instance, *, objectives, **params) ->
            Formulation | OneOf` of a model for that backend, which may declare `limits`.
        details: Further fields of `Solver`. The kind follows from the layer of the file; outside mlsched it is required
            (`kind="heuristic"`).

    Returns:
        The decorator; it returns the function, callable with each parameter by its own name.

    Examples:
        >>> @mlsched.solver("all-wait", problem="preemption", kind="heuristic", paper="none")
        ... def all_wait(instance, *, rng):
        ...     return instance.plan_type(te_node=[-1] * len(instance.te_demand), victims=[])
        >>> mlsched.solve(mlsched.generate("preemption", "small"), all_wait).solver
        'all-wait'
    """

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        if backend is None:
            return _attach_solver(function, name, problem, {}, details)
        form = adapt_signature(flatten_groups(function))
        if backend == "direct":
            return _attach_solver(
                function, name, problem, {"algorithm": form, "takes_hint": "hint" in form.takes}, details
            )
        return _attach_solver(function, name, problem, {"model": form, "backend": backend, "takes_hint": True}, details)

    return declare


def exact_algorithm(
    name: str, *, problem: str, objectives: tuple[str, ...], **details: Unpack[AlgorithmDetails]
) -> Callable[[A], A]:
    """Declare the decorated function an exact algorithm (`Algorithm`); `details` are fields of `Solver`.

    Args:
        name: Name of the solver.
        problem: Problem that it answers.
        objectives: Objectives that it can optimise.
        details: Further fields of `Solver`.
    """

    def declare(function: A) -> A:
        return _attach_solver(function, name, problem, {"algorithm": function, "objectives": objectives}, details)

    return declare


def model_builder(
    name: str, *, problem: str, backend: str, objectives: tuple[str, ...], **details: Unpack[Details]
) -> Callable[[M], M]:
    """Declare the decorated function the builder of a model (`ModelBuilder`).

    Args:
        name: Name of the solver.
        problem: Problem that it answers.
        backend: Backend that solves the model, "cp-sat" or "highs".
        objectives: Objectives that the model has.
        details: Further fields of `Solver`.
    """

    def declare(function: M) -> M:
        form = {"model": function, "backend": backend, "takes_hint": True, "objectives": objectives}
        return _attach_solver(function, name, problem, form, details)

    return declare


def _attach_solver(function: F, name: str, problem: str, form: dict[str, Any], details: Details) -> F:
    """Attach a `Solver` to the function that declares it, and return the function.

    Args:
        function: The decorated function.
        name: Name of the solver.
        problem: Problem that it answers.
        form: Fields of `Solver` that follow from the decorator.
        details: Further fields of `Solver`.
    """
    root, _, inside = function.__module__.partition(".")
    kind = LAYERS.get(inside.partition(".")[0])
    if kind is not None and root != plugins.CORE and root not in plugins.packages().values():
        kind = None
    fields = {"kind": kind, **form, **details}
    if fields["kind"] is None:
        raise ValueError(f"solver '{name}': kind must be given, one of {', '.join(get_args(Kind))}")
    parameters, flattened = parameters_of(function), flatten_groups(function)
    if fields.get("backend") == "highs":
        parameters[ENGINE] = Parameter(ENGINE, str, "highs")
    solver = Solver(name, problem, function=flattened, parameters=parameters, **fields)
    flattened.__dict__.setdefault("__mlsched__", []).append(solver)
    return cast(F, flattened)


def package_of(layer: str, problem: str) -> str:
    """Return the package of a layer for a problem, whether or not it exists."""
    package = plugins.packages().get(problem) if problem not in _core_folders() else None
    return f"{plugins.CORE}.{layer}.{problem}" if package is None else f"{package}.{layer}"


def packages_of(layers: Iterable[str], problem: str) -> Iterator[str]:
    """Yield the packages of layers for a problem: its own, then those of further plug-ins."""
    for layer in layers:
        yield package_of(layer, problem)
    for own, package in plugins.packages().items():
        if own != problem:
            for layer in layers:
                yield f"{package}.{layer}.{problem}"


def _public_modules(package: str, *, packages: bool = False) -> list[str]:
    """Return the public modules (or sub-packages) directly inside a package; a layer of one file is a module."""
    spec = plugins.module_spec(package)
    if spec is not None and spec.submodule_search_locations is None:
        return [] if packages else [package]
    inside = pkgutil.iter_modules(spec.submodule_search_locations if spec else ())
    return [f"{package}.{info.name}" for info in inside if info.ispkg == packages and not info.name.startswith("_")]


def scan_exports(package: str, attribute: str, kind: type[T]) -> list[T]:
    """Return the objects of a type that the sub-packages of `package` export under the name `attribute`."""
    return _exported_objects(_public_modules(package, packages=True), attribute, kind)


def scan_problems(layer: str, attribute: str, kind: type[T], problem: str | None = None) -> list[T]:
    """Return the objects of a type that the packages of a layer, one per problem, export under a name.

    Args:
        layer: Name of the layer.
        attribute: Exported name.
        kind: Type of the exported object.
        problem: Import only the package of this problem.
    """
    if problem is not None:
        return _exported_objects([package_of(layer, problem)], attribute, kind)
    names = [
        *_public_modules(f"{plugins.CORE}.{layer}", packages=True),
        *(package_of(layer, p) for p in plugins.packages()),
    ]
    return _exported_objects(names, attribute, kind)


def _exported_objects(packages: Iterable[str], attribute: str, kind: type[T]) -> list[T]:
    modules = [plugins.imported(name) for name in packages if plugins.module_spec(name)]
    objects = [getattr(module, attribute, None) for module in modules]
    return [one for one in objects if isinstance(one, kind)]


def solvers_in(module: Any) -> list[Solver]:
    """Return the solvers that functions of a module declare, without imported ones; empty for None."""
    if module is None:
        return []
    functions = [f for _, f in inspect.getmembers(module, inspect.isfunction) if f.__module__ == module.__name__]
    return [a for f in functions for a in f.__dict__.get("__mlsched__", ())]


@functools.cache
def _core_folders() -> list[str]:
    """Return the folders of `instances/`, which include those of the core's problems."""
    return [name.rpartition(".")[2] for name in _public_modules(f"{plugins.CORE}.instances", packages=True)]


def _folders() -> list[str]:
    """Return the folders of `instances/` and the problems of plug-ins."""
    return [*_core_folders(), *plugins.packages()]


def _exported_problem(folder: str) -> dict[str, Problem]:
    """Return the problem that a folder of `instances/`, or a plug-in, exports, by its name."""
    if folder not in _core_folders() and folder not in plugins.packages():
        return {}  # never import a module by a name that a user typed
    problems = scan_problems("instances", "PROBLEM", Problem, folder)
    if misnamed := [p.name for p in problems if p.name != folder]:
        raise ValueError(
            f"{package_of('instances', folder)}: its problem is named '{misnamed[0]}', expected '{folder}'"
        )
    return {problem.name: problem for problem in problems}


@functools.cache
def registry() -> Registry:
    """Return the library's registry; each problem's part is filled at its first look-up."""
    return Registry()


def _entry_points() -> Iterator[Solver]:
    """Yield single solvers of plug-ins: entry points that load to a decorated function or to a module with some."""
    for point in plugins.points_of_group("solvers"):
        if (target := plugins.load_point(point)) is None:
            continue
        solvers = solvers_in(target) if inspect.ismodule(target) else getattr(target, "__mlsched__", [])
        if not solvers:
            warnings.warn(f"plug-in '{point.name}' of {point.group} is left out: declares no solver", stacklevel=2)
        yield from solvers
