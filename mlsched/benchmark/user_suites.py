"""Suites of one's own: a folder of instance files, or a TOML file that says which instances are put to whom.

    name = "mine"                   # of the suite; by default that of the file
    [[case]]
    problem = "preemption"          # instances that are drawn: a preset, with changed sizes
    preset = "small"
    sizes = {nodes = 4}
    seeds = [0, 1, 2]               # or a number: so many, from 0 on
    [[case]]
    name = "cluster-a"              # instances in files: paths or patterns, from the folder of this file
    files = ["instances/*.json"]
    read = {processors = 4}         # for the readers of others' files (.stg)
    solvers = ["cp-sat", "my_rules:rule"]
    objectives = ["total_score"]
    time_limit = 60                 # wall seconds per solve, for exact solvers
    work_limit = {cp-sat = 10}      # a backend's deterministic measure
    reference = false               # ask no exact solver where `solvers` names none

In both, `solvers` (all that are registered), `objectives` (all), the limits (none) and `reference` (true) may be left
out.
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlsched.api import load
from mlsched.api.functions import is_function
from mlsched.benchmark.cases import Case, Suite
from mlsched.benchmark.outside import outside
from mlsched.benchmark.suites import SUITES
from mlsched.core.contract import Instance
from mlsched.core.errors import InvalidFile, InvalidInput, UnknownName, did_you_mean, with_article
from mlsched.core.params import split_settings
from mlsched.core.registry import registry
from mlsched.core.safe_open import open_file, shown_path

#: Kinds of values of a case, by name.
_KINDS: Mapping[str, tuple[type, ...]] = {
    "name": (str,),
    "problem": (str,),
    "preset": (str,),
    "sizes": (dict,),
    "seeds": (int, list),
    "files": (list,),
    "read": (dict,),
    "solvers": (list,),
    "objectives": (list,),
    "time_limit": (int, float),
    "work_limit": (dict,),
    "reference": (bool,),
}
#: What only one of the two kinds of cases has.
_DRAWN, _FILED = ("problem", "preset", "sizes"), ("files", "read", "name")
#: Bytes that a suite file may have, and seeds that a case may.
_MOST_BYTES, _MOST_SEEDS = 10**6, 10**6


def find_suite(name: str) -> Suite:
    """The suite of that name, or in the TOML file or folder of that path."""
    if name == "outside":
        return outside()
    if name in SUITES:
        return SUITES[name]
    path = Path(name)
    if path.is_dir():
        return _of_folder(path)
    if path.suffix == ".toml":
        return _of_file(path)
    known = f"{', '.join(SUITES)}, folders of instances, and .toml files"
    raise UnknownName(f"no suite '{name}'{did_you_mean(name, SUITES)}; there are {known}")


def _of_folder(folder: Path) -> Suite:
    """All instance files of a folder, put to every solver."""
    suffixes = {".json", *(suffix for p in registry().problems.values() for suffix in p.readers)}
    files = sorted(path for path in folder.iterdir() if path.suffix in suffixes and path.is_file())
    if not files:
        raise InvalidInput(f"{shown_path(folder)}: holds no instance file ({', '.join(sorted(suffixes))})")
    name = folder.resolve().name
    return Suite(name, f"the {len(files)} files of {shown_path(folder)}", tuple(_filed(name, files, {}, {})))


def _of_file(path: Path) -> Suite:
    """The suite that a TOML file describes."""
    where = shown_path(path)
    with open_file(path) as stream:
        text = stream.read(_MOST_BYTES + 1)
    if len(text) > _MOST_BYTES:
        raise InvalidFile(f"{where}: is larger than {_MOST_BYTES} bytes; a suite is a page of text")
    try:
        data = tomllib.loads(text.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidFile(f"{where}: is no TOML file: {' '.join(str(error).split())}") from None
    name, listed = data.pop("name", path.stem), data.pop("case", [])
    if not isinstance(name, str) or not name:
        raise InvalidFile(f"{where}: name: {name!r}, expected a text")
    if name in SUITES:
        raise InvalidFile(f"{where}: name: {name!r}, expected a name that mlsched does not use; choose another")
    if data:
        raise InvalidFile(f"{where}: {next(iter(data))}: unknown; a suite has `name` and one or more [[case]]")
    if not isinstance(listed, list) or not listed or not all(isinstance(case, dict) for case in listed):
        raise InvalidFile(f"{where}: has no [[case]]; add one")
    cases = [case for k, found in enumerate(listed) for case in _cases(f"{where}: case {k + 1}", path.parent, found)]
    return Suite(name, f"as {where} says", tuple(cases))


def _cases(where: str, folder: Path, said: dict[str, Any]) -> list[Case]:
    """The cases that a table of the file stands for: one, or one per problem of its files."""
    for key, value in said.items():
        if key not in _KINDS:
            raise InvalidFile(f"{where}: {key}: unknown; a case has {', '.join(_KINDS)}")
        if not isinstance(value, _KINDS[key]) or isinstance(value, bool) != (_KINDS[key] == (bool,)):
            kinds = " or ".join(kind.__name__ for kind in _KINDS[key])
            raise InvalidFile(f"{where}: {key}: {value!r}, expected of kind {kinds}")
    if ("files" in said) == ("problem" in said):
        raise InvalidFile(f"{where}: must name either a problem or files")
    for key in _DRAWN if "files" in said else _FILED:
        if key in said:
            raise InvalidFile(f"{where}: {key}: belongs to cases with {'a problem' if key in _DRAWN else 'files'}")
    common = {
        "seeds": _seeds(where, said.get("seeds", [0])),
        "solvers": _texts(where, said, "solvers"),
        "objectives": _texts(where, said, "objectives"),
        "time_limit": said.get("time_limit"),
        "work_limit": said.get("work_limit", {}),
        "reference": said.get("reference", True),
    }
    try:
        if "problem" in said:
            return [Case(said["problem"], said.get("preset"), said.get("sizes", {}), **common)]
        files = _matching(where, folder, _texts(where, said, "files") or ())
        return _filed(said.get("name", "files"), files, said.get("read", {}), common)
    except InvalidInput as error:
        raise InvalidFile(f"{where}: {error}" if where not in str(error) else str(error)) from None


def _seeds(where: str, said: Any) -> tuple[int, ...]:
    seeds = range(said) if isinstance(said, int) and 0 < said <= _MOST_SEEDS else said
    if isinstance(seeds, int) or not seeds or any(type(seed) is not int or seed < 0 for seed in seeds):
        raise InvalidFile(f"{where}: seeds: {said!r}, expected a list of integers >= 0, or how many")
    return tuple(seeds)


def _texts(where: str, said: dict[str, Any], key: str) -> tuple[str, ...] | None:
    if key not in said:
        return None
    found = said[key]
    if not found or not all(isinstance(text, str) for text in found):
        raise InvalidFile(f"{where}: {key}: {found!r}, expected a list of texts")
    return tuple(found)


def _matching(where: str, folder: Path, patterns: tuple[str, ...]) -> list[Path]:
    """The files of these paths and patterns, each once, in order of their names."""
    matching: set[Path] = set()
    for pattern in patterns:
        given = Path(pattern)
        base, rest = (Path(given.anchor), str(given.relative_to(given.anchor))) if given.anchor else (folder, pattern)
        matches = {path for path in base.glob(rest) if path.is_file()}
        if not matches:
            raise InvalidFile(f"{where}: files: {pattern}: matches no file")
        matching |= matches
    return sorted(matching)


def _filed(name: str, files: list[Path], read: dict[str, Any], common: dict[str, Any]) -> list[Case]:
    """A case per problem, of the files that hold its instances."""
    of_problem: dict[str, list[str]] = {}
    for path in files:
        instance = load(path, **(read if path.suffix != ".json" else {}))
        if not isinstance(instance, Instance):
            raise InvalidFile(f"{shown_path(path)}: is {with_article(instance.kind)}, expected an instance")
        if instance.called != registry().problem(instance.problem).instance_type.called:
            raise InvalidFile(
                f"{shown_path(path)}: is {with_article(instance.kind)}, which has no objective; suites need one"
            )
        of_problem.setdefault(instance.problem, []).append(str(path))
    cases = [
        Case(problem, name, read, files=tuple(paths), **{"seeds": (0,), **common})
        for problem, paths in of_problem.items()
    ]
    for what, said in (("solvers", "solvers"), ("objectives", "objectives")):
        for text in common.get(said) or ():
            if not any(_knows(case.problem, said, text) for case in cases):
                raise InvalidInput(f"{what}: none of these files' problems has '{text}'")
    return [
        dataclasses.replace(case, solvers=_own(case, "solvers"), objectives=_own(case, "objectives")) for case in cases
    ]


def _knows(problem: str, what: str, text: str) -> bool:
    """Whether the problem has a solver or an objective of that name."""
    if what == "objectives":
        return any(text == objective.name for objective in registry().problem(problem).objectives)
    return is_function(text) or any(split_settings(text)[0] == a.name for a in registry().available(problem))


def _own(case: Case, what: str) -> tuple[str, ...] | None:
    """Of what is asked for all files of a folder, what is of the problem of this case."""
    said: tuple[str, ...] | None = getattr(case, what)
    return None if said is None else tuple(text for text in said if _knows(case.problem, what, text))
