"""Plug-ins: entry points of installed distributions, including mlsched's own packages beside the core.

| group | name | value |
|---|---|---|
| `mlsched.problems` | the problem | a package with the layers of this one: `instances`, `formulations`, ... |
| `mlsched.solvers` | any | a decorated function, or a module with some |
| `mlsched.commands` | the command | a function with Typer's annotations; the first line of its docstring is its help |
| `mlsched.lists` | a word for `mlsched list` | a function that returns entries, each with "name" and "about" |

A plug-in that raises any exception is skipped with a one-line warning. So is a distribution whose entry points cannot
be read. Everything else works.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from mlsched.core.errors import describe_exception, one_line

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")
CORE, GROUP = "mlsched", "mlsched."


def attempt(what: str, call: Callable[[], T]) -> T | None:
    """Call into a plug-in; return None, with a warning, for any exception except KeyboardInterrupt.

    Args:
        what: Description of the skipped part for the warning.
        call: The call.
    """
    try:
        return call()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # includes sys.exit at import: a plug-in must not end the library
        reason = describe_exception(error)
    warnings.warn(one_line(f"{what} is left out: {reason}"), stacklevel=2)
    return None


@functools.cache
def declared_points() -> tuple[EntryPoint, ...]:
    """Return all entry points of mlsched's groups; the first distribution of a name on the path wins."""
    from importlib.metadata import distributions  # imported here: it takes 50 ms, which reading a file does not need

    points_by_name: dict[str, list[EntryPoint]] = {}
    for distribution in distributions():
        # "mlsched-1.0.dist-info": reading the metadata of every distribution takes ten times as long.
        folder = getattr(getattr(distribution, "_path", None), "name", "a distribution")
        if (name := folder.partition("-")[0].lower()) not in points_by_name:
            points_by_name[name] = attempt(f"what {folder} declares", functools.partial(_points, distribution)) or []
    return tuple(point for points in points_by_name.values() for point in points)


def _points(distribution: Any) -> list[EntryPoint]:
    return [point for point in distribution.entry_points if point.group.startswith(GROUP)]


@functools.cache
def own_packages() -> frozenset[str]:
    """Return the packages of mlsched's own distribution: the core, and the plug-ins it declares."""
    own = [point for point in declared_points() if point.dist is not None and point.dist.name == CORE]
    return frozenset({CORE, *(point.value.partition(":")[0].partition(".")[0] for point in own)})


def points_of_group(group: str) -> list[EntryPoint]:
    """Return the entry points of one group, for example "problems"."""
    return [point for point in declared_points() if point.group == GROUP + group]


def load_point(point: EntryPoint) -> Any | None:
    """Return the object that an entry point names, or None, with a warning, if it cannot be loaded."""
    return attempt(f"plug-in '{point.name}' of {point.group}", point.load)


@functools.cache
def packages() -> dict[str, str]:
    """Return the plug-in package of each problem outside the core."""
    package_of: dict[str, str] = {}
    for point in points_of_group("problems"):
        if point.name in package_of:
            warnings.warn(
                f"problem '{point.name}' of {point.value} is left out: {package_of[point.name]} has one", stacklevel=2
            )
        elif load_point(point) is not None:
            package_of[point.name] = point.value
    return package_of


def imported(module: str) -> Any | None:
    """Import a module by name; return None, with a warning, if a plug-in's import fails."""
    if module.partition(".")[0] == CORE:
        return importlib.import_module(module)
    return attempt(module, lambda: importlib.import_module(module))


def module_spec(module: str) -> Any | None:
    """Return the spec of a module, or None if it or a parent package is missing; parent packages are imported."""
    parent = module.rpartition(".")[0]
    if parent.partition(".")[0] in ("", CORE):
        return importlib.util.find_spec(module)
    has_children = module_spec(parent) and hasattr(imported(parent), "__path__")
    return importlib.util.find_spec(module) if has_children else None


def clear_caches() -> None:
    """Clear the caches, because distributions were installed or removed."""
    declared_points.cache_clear()
    own_packages.cache_clear()
    packages.cache_clear()
