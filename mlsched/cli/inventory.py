"""What `mlsched list` shows, and shell completion offers, without importing every solver anew.

Solvers declare themselves in their own files, so that finding them imports all of these files: two CPU seconds. What
was found is kept in the user's cache folder ($XDG_CACHE_HOME, else ~/.cache), for as long as no file of mlsched changes
its size or its time, plug-ins of its distribution included. Where other distributions have plug-ins nothing is kept:
their files are not known here.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mlsched
from mlsched.core import plugins
from mlsched.core.errors import InvalidFile, UnknownName, did_you_mean
from mlsched.core.files import read_json, write_json

#: Seconds after which what was kept for other files is dropped.
KEPT = 30 * 86400.0


def entries(what: str) -> list[dict[str, Any]]:
    """The "problems", "solvers" or "suites" that there are, or what a plug-in lists, as plain JSON data."""
    lists = {"problems": _problems, "solvers": _solvers, "suites": _suites}
    further = {point.name: point for point in plugins.points_of_group("lists")}
    if what not in lists | further:
        known = [*lists, *further]
        raise UnknownName(f"no list '{what}'{did_you_mean(what, known)}; there are {', '.join(known)}")
    place = _place()
    if place is not None and (kept := _kept(place, what)) is not None:
        return kept
    if what in lists:
        listed = lists[what]()
    else:
        loaded = plugins.load_point(further[what])
        listed = [] if loaded is None else loaded()
    if place is not None:
        _keep(place, what, listed)
    return listed


def check_problem(name: str) -> None:
    """Raise UnknownName unless there is a problem of that name."""
    known = [entry["name"] for entry in entries("problems")]
    if name not in known:
        raise UnknownName(f"no problem '{name}'{did_you_mean(name, known)}; there are {', '.join(known)}")


def beginning(what: str, incomplete: str) -> list[str]:
    """The names among the "problems", "solvers", ... that begin so, for the shell to complete."""
    return sorted({entry["name"] for entry in entries(what) if entry["name"].startswith(incomplete)})


def presets(line: list[str], incomplete: str) -> list[str]:
    """The presets that begin so, of the problem that is a word of the line, else of all; for the shell to complete."""
    known = {entry["name"]: entry["presets"] for entry in entries("problems")}
    own = [known[word] for word in line if word in known] or known.values()
    return sorted({preset for presets in own for preset in presets if preset.startswith(incomplete)})


def _place() -> Path | None:
    """The folder of what is kept for the installed files; None where other distributions have plug-ins."""
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
    """Path, size and time of every Python file below a folder."""
    with os.scandir(folder) as inside:
        for entry in inside:
            if entry.is_dir(follow_symlinks=False):
                yield from _files(entry.path)
            elif entry.name.endswith(".py"):
                status = entry.stat()
                yield entry.path, status.st_size, status.st_mtime_ns


def _kept(place: Path, what: str) -> list[dict[str, Any]] | None:
    """What was kept; None where there is nothing, or nothing that can be read."""
    try:
        kept = read_json(place / f"{what}.json").get(what)
    except InvalidFile:
        return None
    return kept if isinstance(kept, list) and all(isinstance(entry, dict) for entry in kept) else None


def _keep(place: Path, what: str, entries: list[dict[str, Any]]) -> None:
    """Keep it, and drop what is older than a month; a folder that cannot be written keeps nothing."""
    try:
        write_json(place / f"{what}.json", {"kind": "mlsched.list", "version": 1, what: entries}, folders=True)
        for old in place.parent.glob("list-*/*.json"):
            if old.stat().st_mtime < time.time() - KEPT:
                old.unlink(missing_ok=True)
    except (InvalidFile, OSError):
        return


def _problems() -> list[dict[str, Any]]:
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


def _solvers() -> list[dict[str, Any]]:
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


def _suites() -> list[dict[str, Any]]:
    from mlsched.benchmark.suites import SUITES

    return [{"name": s.name, "about": s.doc} for s in SUITES.values()]
