"""Plug-ins: what installed distributions declare by entry points, mlsched's own packages beside the core among them.

| group | name | value |
|---|---|---|
| `mlsched.problems` | the problem | a package with the layers of this one: `instances`, `formulations`, ... |
| `mlsched.solvers` | any | a decorated function, or a module that has some |
| `mlsched.commands` | the command | a function with Typer's annotations; the first line of its docstring is its help |
| `mlsched.lists` | a word for `mlsched list` | a function that returns entries, each with "name" and "about" |

A plug-in that fails, with whatever it raises, is left out and named in a warning of one line; so is a distribution
whose entry points cannot be read. The rest works.
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
    """The result of a call into a plug-in; None, and a warning, where it raises anything but KeyboardInterrupt.

    what: what is left out then, in words.
    """
    try:
        return call()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # sys.exit at import as well: a plug-in must not end the library
        reason = describe_exception(error)
    warnings.warn(one_line(f"{what} is left out: {reason}"), stacklevel=2)
    return None


@functools.cache
def declared() -> tuple[EntryPoint, ...]:
    """All entry points of mlsched's groups; of distributions of one name, those of the first on the path."""
    from importlib.metadata import distributions  # a twentieth of a second, which reading a file does not need

    found: dict[str, list[EntryPoint]] = {}
    for distribution in distributions():
        # "mlsched-1.0.dist-info": to read the name itself of every distribution takes ten times as long.
        folder = getattr(getattr(distribution, "_path", None), "name", "a distribution")
        if (name := folder.partition("-")[0].lower()) not in found:
            found[name] = attempt(f"what {folder} declares", functools.partial(_points, distribution)) or []
    return tuple(point for points in found.values() for point in points)


def _points(distribution: Any) -> list[EntryPoint]:
    return [point for point in distribution.entry_points if point.group.startswith(GROUP)]


@functools.cache
def ours() -> frozenset[str]:
    """The packages of mlsched's own distribution: the core, and those that this distribution declares."""
    own = [point for point in declared() if point.dist is not None and point.dist.name == CORE]
    return frozenset({CORE, *(point.value.partition(":")[0].partition(".")[0] for point in own)})


def points(group: str) -> list[EntryPoint]:
    """The entry points of one group, "problems" say."""
    return [point for point in declared() if point.group == GROUP + group]


def load(point: EntryPoint) -> Any | None:
    """What an entry point names; None, and a warning, where it cannot be had."""
    return attempt(f"plug-in '{point.name}' of {point.group}", point.load)


@functools.cache
def packages() -> dict[str, str]:
    """Problem -> the package of a plug-in that has it."""
    found: dict[str, str] = {}
    for point in points("problems"):
        if point.name in found:
            warnings.warn(
                f"problem '{point.name}' of {point.value} is left out: {found[point.name]} has one", stacklevel=2
            )
        elif load(point) is not None:
            found[point.name] = point.value
    return found


def imported(module: str) -> Any | None:
    """A module by name; of a plug-in, None and a warning where its import fails."""
    if module.partition(".")[0] == CORE:
        return importlib.import_module(module)
    return attempt(module, lambda: importlib.import_module(module))


def spec(module: str) -> Any | None:
    """Return the spec of a module; None if it, or a package around it, is missing. Packages around it are imported."""
    around = module.rpartition(".")[0]
    if around.partition(".")[0] in ("", CORE):
        return importlib.util.find_spec(module)
    inside = spec(around) and hasattr(imported(around), "__path__")
    return importlib.util.find_spec(module) if inside else None


def forget() -> None:
    """Look for plug-ins anew, since distributions have come or gone."""
    declared.cache_clear()
    ours.cache_clear()
    packages.cache_clear()
