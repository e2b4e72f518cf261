"""Entries of `mlsched list` and of shell completion, cached so that solvers are not imported every time.

Solvers declare themselves in their own files, so listing them imports all of these files: two CPU seconds. The result
is cached in the user's cache folder ($XDG_CACHE_HOME, else ~/.cache) until a file of mlsched, or of its own plug-ins,
changes its size or its time. If other distributions have plug-ins, the cache is not used, because their files are not
known here.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import mlsched
from mlsched.core import plugins
from mlsched.core.aliases import Data
from mlsched.core.errors import InvalidFile, UnknownName, did_you_mean
from mlsched.core.files import read_json, write_json

#: Seconds after which the cache of other files is deleted.
MAX_AGE = 30 * 86400.0


def entries(what: str) -> list[Data]:
    """Return the "problems", "solvers" or "suites", or a plug-in's list, as plain JSON data."""
    lists = {"problems": _problems, "solvers": _solvers, "suites": _suites}
    further = {point.name: point for point in plugins.points_of_group("lists")}
    if what not in lists | further:
        names = [*lists, *further]
        raise UnknownName(f"unknown list '{what}'{did_you_mean(what, names)}; there are {', '.join(names)}")
    cache = _cache_folder()
    if cache is not None and (cached := _cached_entries(cache, what)) is not None:
        return cached
    if what in lists:
        result = lists[what]()
    else:
        function = plugins.load_point(further[what])
        result = [] if function is None else function()
    if cache is not None:
        _cache_entries(cache, what, result)
    return result


def check_problem(name: str) -> None:
    """Raise UnknownName for an unknown problem."""
    names = [entry["name"] for entry in entries("problems")]
    if name not in names:
        raise UnknownName(f"unknown problem '{name}'{did_you_mean(name, names)}; there are {', '.join(names)}")


def names_beginning(what: str, incomplete: str) -> list[str]:
    """Return the names in a list that begin with a text, for completion in the shell."""
    return sorted({entry["name"] for entry in entries(what) if entry["name"].startswith(incomplete)})


def presets_beginning(line: list[str], incomplete: str) -> list[str]:
    """Return the presets that begin with a text, of the problem in the line, else of all problems."""
    presets_of = {entry["name"]: entry["presets"] for entry in entries("problems")}
    candidates = [presets_of[word] for word in line if word in presets_of] or presets_of.values()
    return sorted({preset for presets in candidates for preset in presets if preset.startswith(incomplete)})


def _cache_folder() -> Path | None:
    """Return the cache folder for the installed files, or None if other distributions have plug-ins."""
    if any(point.dist is None or point.dist.name != plugins.CORE for point in plugins.declared_points()):
        return None
    state = hashlib.sha256(f"{mlsched.__version__} {sys.version}".encode())
    for package in sorted(plugins.own_packages()):
        spec = importlib.util.find_spec(package)
        for folder in (spec and spec.submodule_search_locations) or ():
            for path, size, changed in sorted(_files(folder)):
                state.update(f"{path} {size} {changed}\n".encode())
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "mlsched" / f"list-{state.hexdigest()[:16]}"


def _files(folder: str) -> Iterator[tuple[str, int, int]]:
    """Yield path, size and time of every Python file below a folder."""
    with os.scandir(folder) as inside:
        for entry in inside:
            if entry.is_dir(follow_symlinks=False):
                yield from _files(entry.path)
            elif entry.name.endswith(".py"):
                status = entry.stat()
                yield entry.path, status.st_size, status.st_mtime_ns


def _cached_entries(place: Path, what: str) -> list[Data] | None:
    """Return the cached entries, or None without a readable cache."""
    try:
        cached = read_json(place / f"{what}.json").get(what)
    except InvalidFile:
        return None
    return cached if isinstance(cached, list) and all(isinstance(entry, dict) for entry in cached) else None


def _cache_entries(place: Path, what: str, entries: list[Data]) -> None:
    """Cache the entries and delete caches older than a month; an unwritable folder disables the cache."""
    try:
        write_json(place / f"{what}.json", {"kind": "mlsched.list", "version": 1, what: entries}, folders=True)
        for old in place.parent.glob("list-*/*.json"):
            if old.stat().st_mtime < time.time() - MAX_AGE:
                old.unlink(missing_ok=True)
    except (InvalidFile, OSError):
        return


def _problems() -> list[dict[str, object]]:
    from mlsched.core.params import parameters_of
    from mlsched.core.registry import registry

    return [
        {
            "name": name,
            "about": problem.title,
            "paper": problem.paper,
            "objectives": [f"{o.name} ({o.sense})" for o in problem.instance_type.objectives],
            "presets": [name for generator in problem.generators for name in generator.presets],
            "sizes": {p.name: p.default for p in parameters_of(problem.generate).values()},
        }
        for name, problem in sorted(registry().problems.items())
    ]


def _solvers() -> list[dict[str, object]]:
    from mlsched.core.registry import registry

    return [
        {
            "name": solver.name,
            "problem": solver.problem,
            "kind": solver.kind,
            "information": solver.information,
            "objectives": list(solver.objectives),
            "parameters": {p.name: p.default for p in solver.parameters.values()},
            "about": solver.summary,
        }
        for solver in registry().available()
    ]


def _suites() -> list[dict[str, object]]:
    from mlsched.benchmark.suites import SUITES

    return [{"name": s.name, "about": s.doc} for s in SUITES.values()]
