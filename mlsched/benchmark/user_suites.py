"""User suites: a folder of instance files, or a TOML file with instances and their solvers.

    name = "mine"                   # of the suite; by default that of the file

    [[case]]
    problem = "preemption"          # drawn instances: a preset, with changed sizes
    preset = "small"
    sizes = {nodes = 4}
    seeds = [0, 1, 2]               # or a number N: seeds 0 to N - 1

    [[case]]
    name = "cluster-a"              # instances in files: paths or patterns, from the folder of this file
    files = ["instances/*.json"]
    read = {processors = 4}         # options of the readers of foreign files (.stg)
    solvers = ["cp-sat", "my_rules:rule"]
    objectives = ["total_score"]
    time_limit = 60                 # wall seconds per solve, for exact solvers
    work_limit = {cp-sat = 10}      # a backend's deterministic measure
    reference = false               # do not add an exact solver if `solvers` has none

In both, `solvers` (all registered), `objectives` (all), the limits (unlimited) and `reference` (true) are optional.
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
from mlsched.core.aliases import Data
from mlsched.core.contract import Instance
from mlsched.core.errors import InvalidFile, InvalidInput, UnknownName, did_you_mean, with_article
from mlsched.core.params import split_settings
from mlsched.core.registry import registry
from mlsched.core.safe_open import open_file, shown_path

#: Types of values of a case, by name.
_FIELD_TYPES: Mapping[str, tuple[type, ...]] = {
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
#: Fields of only one of the two kinds of cases.
_DRAWN_FIELDS, _FILE_FIELDS = ("problem", "preset", "sizes"), ("files", "read", "name")
#: Largest size of a suite file in bytes, and most seeds of a case.
_MOST_BYTES, _MOST_SEEDS = 10**6, 10**6


def find_suite(name: str) -> Suite:
    """Return the suite of that name, or in the TOML file or folder of that path."""
    if name == "outside":
        return outside()
    if name in SUITES:
        return SUITES[name]
    path = Path(name)
    if path.is_dir():
        return _folder_suite(path)
    if path.suffix == ".toml":
        return _file_suite(path)
    choices = f"{', '.join(SUITES)}, folders of instances, and .toml files"
    raise UnknownName(f"unknown suite '{name}'{did_you_mean(name, SUITES)}; there are {choices}")


def _folder_suite(folder: Path) -> Suite:
    """Return all instance files of a folder, with every solver."""
    suffixes = {".json", *(suffix for p in registry().problems.values() for suffix in p.readers)}
    files = sorted(path for path in folder.iterdir() if path.suffix in suffixes and path.is_file())
    if not files:
        raise InvalidInput(f"{shown_path(folder)}: instance files are missing ({', '.join(sorted(suffixes))})")
    name = folder.resolve().name
    return Suite(name, f"the {len(files)} files of {shown_path(folder)}", tuple(_file_cases(name, files, {}, {})))


def _file_suite(path: Path) -> Suite:
    """Return the suite that a TOML file describes."""
    where = shown_path(path)
    with open_file(path) as stream:
        text = stream.read(_MOST_BYTES + 1)
    if len(text) > _MOST_BYTES:
        raise InvalidFile(f"{where}: is larger than {_MOST_BYTES} bytes; a suite is a page of text")
    try:
        data = tomllib.loads(text.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidFile(f"{where}: is not a TOML file: {' '.join(str(error).split())}") from None
    name, case_tables = data.pop("name", path.stem), data.pop("case", [])
    if not isinstance(name, str) or not name:
        raise InvalidFile(f"{where}: name: {name!r}, expected a text")
    if name in SUITES:
        raise InvalidFile(f"{where}: name: {name!r}, expected a name that mlsched does not use; choose another")
    if data:
        raise InvalidFile(f"{where}: {next(iter(data))}: unknown; a suite has `name` and one or more [[case]]")
    if not isinstance(case_tables, list) or not case_tables or not all(isinstance(case, dict) for case in case_tables):
        raise InvalidFile(f"{where}: [[case]] is missing; add one")
    cases = [
        case
        for k, case_table in enumerate(case_tables)
        for case in _cases(f"{where}: case {k + 1}", path.parent, case_table)
    ]
    return Suite(name, f"as {where} says", tuple(cases))


def _cases(where: str, folder: Path, table: Data) -> list[Case]:
    """Return the cases of a table in the file: one, or one per problem of its files."""
    for key, value in table.items():
        if key not in _FIELD_TYPES:
            raise InvalidFile(f"{where}: {key}: unknown; a case has {', '.join(_FIELD_TYPES)}")
        if not isinstance(value, _FIELD_TYPES[key]) or isinstance(value, bool) != (_FIELD_TYPES[key] == (bool,)):
            kinds = " or ".join(kind.__name__ for kind in _FIELD_TYPES[key])
            raise InvalidFile(f"{where}: {key}: {value!r}, expected of kind {kinds}")
    if ("files" in table) == ("problem" in table):
        raise InvalidFile(f"{where}: must name either a problem or files")
    for key in _DRAWN_FIELDS if "files" in table else _FILE_FIELDS:
        if key in table:
            raise InvalidFile(
                f"{where}: {key}: belongs to cases with {'a problem' if key in _DRAWN_FIELDS else 'files'}"
            )
    common = {
        "seeds": _seeds(where, table.get("seeds", [0])),
        "solvers": _text_list(where, table, "solvers"),
        "objectives": _text_list(where, table, "objectives"),
        "time_limit": table.get("time_limit"),
        "work_limit": table.get("work_limit", {}),
        "reference": table.get("reference", True),
    }
    try:
        if "problem" in table:
            return [Case(table["problem"], table.get("preset"), table.get("sizes", {}), **common)]
        files = _matching_files(where, folder, _text_list(where, table, "files") or ())
        return _file_cases(table.get("name", "files"), files, table.get("read", {}), common)
    except InvalidInput as error:
        raise InvalidFile(f"{where}: {error}" if where not in str(error) else str(error)) from None


def _seeds(where: str, value: Any) -> tuple[int, ...]:
    seeds = range(value) if isinstance(value, int) and 0 < value <= _MOST_SEEDS else value
    if isinstance(seeds, int) or not seeds or any(type(seed) is not int or seed < 0 for seed in seeds):
        raise InvalidFile(f"{where}: seeds: {value!r}, expected a list of integers >= 0, or how many")
    return tuple(seeds)


def _text_list(where: str, table: Data, key: str) -> tuple[str, ...] | None:
    if key not in table:
        return None
    texts = table[key]
    if not texts or not all(isinstance(text, str) for text in texts):
        raise InvalidFile(f"{where}: {key}: {texts!r}, expected a list of texts")
    return tuple(texts)


def _matching_files(where: str, folder: Path, patterns: tuple[str, ...]) -> list[Path]:
    """Return the files of these paths and patterns, each once, in order of their names."""
    matching: set[Path] = set()
    for pattern in patterns:
        given_path = Path(pattern)
        base, rest = (
            (Path(given_path.anchor), str(given_path.relative_to(given_path.anchor)))
            if given_path.anchor
            else (folder, pattern)
        )
        matches = {path for path in base.glob(rest) if path.is_file()}
        if not matches:
            raise InvalidFile(f"{where}: files: {pattern}: does not match any file")
        matching |= matches
    return sorted(matching)


def _file_cases(name: str, files: list[Path], read: Data, common: Data) -> list[Case]:
    """Return one case per problem for the files with its instances."""
    of_problem: dict[str, list[str]] = {}
    for path in files:
        instance = load(path, **(read if path.suffix != ".json" else {}))
        if not isinstance(instance, Instance):
            raise InvalidFile(f"{shown_path(path)}: is {with_article(instance.kind)}, expected an instance")
        if instance.called != registry().problem(instance.problem).instance_type.called:
            raise InvalidFile(
                f"{shown_path(path)}: is {with_article(instance.kind)}, expected a kind with an objective"
            )
        of_problem.setdefault(instance.problem, []).append(str(path))
    cases = [
        Case(problem, name, read, files=tuple(paths), **{"seeds": (0,), **common})
        for problem, paths in of_problem.items()
    ]
    for kind, field in (("solvers", "solvers"), ("objectives", "objectives")):
        for text in common.get(field) or ():
            if not any(_has_name(case.problem, field, text) for case in cases):
                raise InvalidInput(f"{kind}: '{text}' is unknown to the problems of these files")
    return [
        dataclasses.replace(
            case, solvers=_names_of_problem(case, "solvers"), objectives=_names_of_problem(case, "objectives")
        )
        for case in cases
    ]


def _has_name(problem: str, kind: str, text: str) -> bool:
    """Return whether the problem has a solver or an objective of that name."""
    if kind == "objectives":
        return any(text == objective.name for objective in registry().problem(problem).objectives)
    return is_function(text) or any(split_settings(text)[0] == a.name for a in registry().available(problem))


def _names_of_problem(case: Case, field: str) -> tuple[str, ...] | None:
    """Return the solvers or objectives of a folder that belong to the problem of this case."""
    names: tuple[str, ...] | None = getattr(case, field)
    return None if names is None else tuple(text for text in names if _has_name(case.problem, field, text))
