"""Generating, reading and writing instances, plans and workloads."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsched.core.arguments import validate_arguments
from mlsched.core.contract import Generator, Instance, Plan, Problem, Reader
from mlsched.core.errors import InvalidFile, InvalidInput, UnknownName, did_you_mean
from mlsched.core.files import check_header, read_json, write_json
from mlsched.core.params import Seed, Value, parameters_of, resolve
from mlsched.core.record import Record
from mlsched.core.registry import registry
from mlsched.core.safe_open import open_file, shown_path
from mlsched.core.unread_files import refuse_unread

if TYPE_CHECKING:
    from mlsched.core.result import Result
    from mlsched.simulation import Run
    from mlsched.solvers.front import Front


@validate_arguments
def generate(problem: str, preset: str | None = None, seed: Seed = 0, **sizes: Value) -> Instance:
    """Draw a random instance of a problem; the same call gives the same instance on every machine.

    Args:
        problem: Name of the problem; `mlsched list problems` shows all.
        preset: Name of frozen sizes; by default the generator's own sizes. It also selects the form of the problem: one
            decision, or a complete horizon.
        seed: Random seed, an integer >= 0.
        sizes: Further keywords change single sizes ("jobs=5").

    Returns:
        The instance.

    Raises:
        UnknownName: The problem, preset or size is unknown.
        InvalidInput: A size is out of its range.

    Examples:
        >>> inst = mlsched.generate("placement", preset="small", seed=0, jobs=3)
        >>> inst.problem, [objective.name for objective in inst.objectives]
        ('placement', ['total_speed'])
    """
    entry = registry().problem(problem)
    generator = entry.generators[0] if preset is None else _generator(entry, preset)
    settings: dict[str, Any] = dict(generator.presets[preset].sizes) if preset is not None else {}
    settings.update(sizes)
    values = resolve(f"generate {problem}", parameters_of(generator.generate), settings)
    return generator.generate(np.random.default_rng(int(seed)), **values)


def _generator(problem: Problem, preset: str) -> Generator:
    """Return the generator that has a preset of that name."""
    for generator in problem.generators:
        if preset in generator.presets:
            return generator
    names = [name for generator in problem.generators for name in generator.presets]
    raise UnknownName(
        f"unknown preset '{preset}' of {problem.name}{did_you_mean(preset, names)}; there are {', '.join(names)}"
    )


#: Kinds of files with answers beside their instances, and their versions; `saved.py` reads and writes them.
ANSWERS = {"result": 1, "front": 1, "run": 1}


def record_types() -> dict[str, type[Record]]:
    """Return the class of every record that can be saved, by file kind."""
    return {kind: record_type for problem in registry().problems for kind, record_type in _types_of(problem).items()}


def _types_of(problem: str) -> dict[str, type[Record]]:
    """Return the class of every record of a problem, workloads included, by file kind."""
    from mlsched.simulation import simulations_of

    workloads: dict[str, type[Record]] = {s.workload_type.kind: s.workload_type for s in simulations_of(problem)}
    return _questions_of(problem) | workloads


def _questions_of(problem: str) -> dict[str, type[Record]]:
    """Return the classes of the instances and plans of a problem, by file kind."""
    pairs = [(t, t.plan_type) for t in registry().problem(problem).instance_types]
    return {record_type.kind: record_type for pair in pairs for record_type in pair}


def _types_for(kind: object) -> dict[str, type[Record]]:
    """Return classes by kind, including the given kind if it is known, with as few imports as possible.

    A kind begins with the name of its problem. Workloads belong to the problem's simulator, which instances do not
    need.
    """
    problem = str(kind).partition(".")[0]
    for types in (_questions_of, _types_of) if problem in registry().problems else ():
        if kind in (classes := types(problem)):
            return classes
    return record_types()


@validate_arguments
def load(path: str | os.PathLike[str], **options: Value) -> Any:
    """Read a file that `save` or the command line wrote, or an instance in a foreign format.

    Foreign formats are recognised by their suffix: `.stg` (Standard Task Graphs, with `processors=`), `.sm` (PSPLIB)
    and `.txt` (job shop) become taskgraph instances. An instance does not record the file it came from: for the
    makespan, call `solve(instance, "cp-sat", objective="makespan")`. The content is checked as untrusted: plans of
    results and fronts are judged again, the completeness of a front is derived again from its certificate, and a run
    must pass its replay.

    Args:
        path: The file.
        options: Further keywords are options of the suffix's reader.

    Returns:
        The instance, plan, workload, result, front or run.

    Raises:
        InvalidFile: The file cannot be read, or its content is invalid; one line names the fault and its place.

    Examples:
        >>> mlsched.save(mlsched.generate("quality", "small"), "inst.json")
        >>> mlsched.load("inst.json").kind
        'quality.instance'
    """
    return load_with_hash(path, **options)[0]


def load_with_hash(path: str | os.PathLike[str], **options: Value) -> tuple[Any, str | None]:
    """Load a file, and return the hash of the instance that a plan file answers (None for other files)."""
    reader = _reader(path)
    if reader is not None:
        return reader.read(path, **resolve(shown_path(path), parameters_of(reader.read), options)), None
    if options:
        raise InvalidInput(
            f"{shown_path(path)}: {', '.join(options)}: options are for files of other programs; leave them out"
        )
    refuse_unread(path)
    data = read_json(path)
    if data.get("kind") in [*ANSWERS]:
        from mlsched.api import saved  # imported here because fronts take 0.1 s to import

        return saved.read(path, data), None
    types = _types_for(data.get("kind"))
    kind = check_header(path, data, {name: t.version for name, t in types.items()} | ANSWERS)
    answers = data.pop("instance_hash", None) if issubclass(types[kind], Plan) else None
    if answers is not None and not isinstance(answers, str):
        raise InvalidFile(f"{shown_path(path)}: instance_hash: {answers!r}, expected a string")
    try:
        return types[kind].from_json(data), answers
    except InvalidInput as error:
        raise InvalidFile(f"{shown_path(path)}: {error}") from None


def published_objective(path: str | os.PathLike[str]) -> str | None:
    """Return the objective for which files of a format are published (job shops: makespan); None for own files."""
    reader = _reader(path)
    return None if reader is None else reader.objective


def _reader(path: str | os.PathLike[str]) -> Reader | None:
    """Return the reader of a foreign file by its suffix; None for own files, which are JSON objects under any name."""
    if Path(path).suffix == ".json":  # avoids importing any problem
        return None
    readers = [p.readers[Path(path).suffix] for p in registry().problems.values() if Path(path).suffix in p.readers]
    if len(readers) > 1:
        raise InvalidInput(f"{shown_path(path)}: several problems read {Path(path).suffix} files; rename it")
    return readers[0] if readers and not _is_json(path) else None


def _is_json(path: str | os.PathLike[str]) -> bool:
    with open_file(path) as stream:
        return stream.read(64).lstrip().startswith(b"{")


@validate_arguments
def save(
    thing: Record | Result | Front | Run, path: str | os.PathLike[str], *, instance: Instance | None = None
) -> None:
    """Write an instance, plan, workload, result, front or run as one JSON file, atomically; `load` reads it.

    Files of results, fronts and runs also have the instance or the workload, so that `load` can judge the content
    again. Recorded decisions of a run are saved as instances and plans, without the memory of a rule.

    Args:
        thing: The object to write.
        path: The file; an existing file is replaced.
        instance: The instance that a plan answers; the file then has its hash.

    Raises:
        InvalidInput: The object cannot be saved, the path cannot be written, or the front of a user's own model has
            foreign plans.

    Examples:
        >>> inst = mlsched.generate("quality", "small")
        >>> mlsched.save(mlsched.solve(inst, "slaq").plan, "plan.json", instance=inst)
        >>> inst.violations(mlsched.load("plan.json"))
        []
    """
    if isinstance(thing, Record):
        answers = {"instance_hash": instance.hash} if isinstance(thing, Plan) and instance is not None else {}
        write_json(path, {**thing.to_json(), **answers})
        return
    from mlsched.api import saved

    write_json(path, saved.document(thing, shown_path(path), instance))
