"""Making, reading and writing instances, plans and workloads."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from mlsched.core.contract import Instance, Plan, Problem, Reader
from mlsched.core.errors import InvalidFile, InvalidInput, UnknownName
from mlsched.core.files import check_header, read_json, write_json
from mlsched.core.opening import open_file, shown_path
from mlsched.core.params import parameters_of, resolve
from mlsched.core.record import Record
from mlsched.core.registry import registry
from mlsched.core.result import Result
from mlsched.simulation import every_simulation


def generate(problem: str, preset: str | None = None, seed: int = 0, **sizes: Any) -> Instance:
    """A random instance of `problem`: a preset's sizes (default: the generator's own), changed by `sizes`.

    The same problem, preset, seed and sizes give the same instance on every machine.
    """
    found = registry().problem(problem)
    settings: dict[str, Any] = dict(_preset(found, preset).sizes) if preset is not None else {}
    settings.update(sizes)
    values = resolve(f"generate {problem}", parameters_of(found.generate), settings)
    return found.generate(np.random.default_rng(check_seed(seed)), **values)


def _preset(problem: Problem, name: str) -> Any:
    if name not in problem.presets:
        raise UnknownName(f"{problem.name} has no preset '{name}'; there are {', '.join(problem.presets)}")
    return problem.presets[name]


def check_seed(seed: int) -> int:
    """`seed` as an int >= 0, or InvalidInput."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InvalidInput(f"seed = {seed!r}: must be an integer >= 0")
    return int(seed)


def record_types() -> dict[str, type[Record]]:
    """File kind -> class, of every record that can be saved."""
    types: list[type[Record]] = [s.workload_type for s in every_simulation()]
    for problem in registry().problems.values():
        for instance_type in problem.instance_types:
            types += [instance_type, instance_type.plan_type]
    return {t.kind: t for t in types}


def load(path: str | os.PathLike[str], **options: Any) -> Any:
    """The instance, plan or workload in a file that `save` or the command line wrote; or others' instance files.

    Files of others are known by their suffix: `.stg` (Standard Task Graphs, with `processors=`), `.sm` (PSPLIB) and
    `.txt` (job shop) become taskgraph instances. Options are those of the suffix's reader. An instance does not know
    of the file it came from: for the makespan, `solve(instance, objective="makespan")`.
    """
    return load_with_hash(path, **options)[0]


def load_with_hash(path: str | os.PathLike[str], **options: Any) -> tuple[Any, str | None]:
    """`load`, and the hash of the instance that a plan file says it answers (None elsewhere)."""
    reader = _reader(path)
    if reader is not None:
        return reader.read(path, **resolve(shown_path(path), parameters_of(reader.read), options)), None
    if options:
        raise InvalidInput(f"{shown_path(path)}: {', '.join(options)}: a file of ours takes no options")
    data = read_json(path)
    types = record_types()
    kind = check_header(path, data, {name: t.version for name, t in types.items()})
    answers = data.pop("instance_hash", None) if issubclass(types[kind], Plan) else None
    if answers is not None and not isinstance(answers, str):
        raise InvalidFile(f"{shown_path(path)}: instance_hash = {answers!r}: must be a string")
    try:
        return types[kind].from_json(data), answers
    except InvalidInput as error:
        raise InvalidFile(f"{shown_path(path)}: {error}") from None


def published_objective(path: str | os.PathLike[str]) -> str | None:
    """The objective for which files like this one are published (makespan of a job shop); None for files of ours."""
    reader = _reader(path)
    return None if reader is None else reader.objective


def _reader(path: str | os.PathLike[str]) -> Reader | None:
    """The reader of a file of others, by its suffix; None for ours, which are JSON objects whatever their name."""
    found = [p.readers[Path(path).suffix] for p in registry().problems.values() if Path(path).suffix in p.readers]
    if len(found) > 1:
        raise InvalidInput(f"{shown_path(path)}: several problems read {Path(path).suffix} files; rename it")
    return found[0] if found and not _is_json(path) else None


def _is_json(path: str | os.PathLike[str]) -> bool:
    with open_file(path) as stream:
        return stream.read(64).lstrip().startswith(b"{")


def save(record: Any, path: str | os.PathLike[str], *, instance: Instance | None = None) -> None:
    """Write an instance, plan, workload, or the plan of a Result, atomically.

    A plan's file carries the hash of the instance it answers: taken from the Result, or from `instance`.
    """
    answers = instance.hash if instance is not None else None
    if isinstance(record, Result):
        answers = record.instance_hash
        if record.plan is None:
            raise InvalidInput(f"{Path(path)}: the result is '{record.status}' and has no plan to save")
        record = record.plan
    if not isinstance(record, Record):
        raise InvalidInput(
            f"{Path(path)}: a {type(record).__name__} cannot be saved; give an instance, plan or workload"
        )
    data = record.to_json()
    if isinstance(record, Plan) and answers is not None:
        data["instance_hash"] = answers
    write_json(path, data)
