"""Making, reading and writing instances, plans and workloads."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from mlsched.core.arguments import validate_arguments
from mlsched.core.contract import Generator, Instance, Plan, Problem, Reader
from mlsched.core.errors import InvalidFile, InvalidInput, UnknownName, did_you_mean
from mlsched.core.files import check_header, read_json, write_json
from mlsched.core.params import Seed, parameters_of, resolve
from mlsched.core.record import Record
from mlsched.core.registry import registry
from mlsched.core.safe_open import open_file, shown_path
from mlsched.core.unread_files import refuse_unread


@validate_arguments
def generate(problem: str, preset: str | None = None, seed: Seed = 0, **sizes: Any) -> Instance:
    """A random instance of a problem. The same call gives the same instance on every machine.

    Args:
        problem: its name; `mlsched list problems` names all.
        preset: a name for sizes that are frozen; by default the generator's own. It also says which form of the problem
            is asked: a decision, or a whole horizon.
        seed: an integer >= 0.
        sizes: further keywords change single sizes ("jobs=5").

    Raises:
        UnknownName: there is no such problem, preset or size.
        InvalidInput: a size is out of its range.

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
    """The generator that has a preset of that name."""
    for generator in problem.generators:
        if preset in generator.presets:
            return generator
    known = [name for generator in problem.generators for name in generator.presets]
    raise UnknownName(
        f"{problem.name} has no preset '{preset}'{did_you_mean(preset, known)}; there are {', '.join(known)}"
    )


#: Kinds of files that hold answers beside their questions, and their versions; `saved.py` reads and writes them.
ANSWERS = {"result": 1, "front": 1, "run": 1}


def record_types() -> dict[str, type[Record]]:
    """File kind -> class, of every record that can be saved."""
    return {kind: found for problem in registry().problems for kind, found in _types_of(problem).items()}


def _types_of(problem: str) -> dict[str, type[Record]]:
    """File kind -> class, of every record of a problem, workloads included."""
    from mlsched.simulation import simulations_of

    workloads: dict[str, type[Record]] = {s.workload_type.kind: s.workload_type for s in simulations_of(problem)}
    return _questions_of(problem) | workloads


def _questions_of(problem: str) -> dict[str, type[Record]]:
    """File kind -> class, of the instances and plans of a problem."""
    pairs = [(t, t.plan_type) for t in registry().problem(problem).instance_types]
    return {found.kind: found for pair in pairs for found in pair}


def _types_for(kind: object) -> dict[str, type[Record]]:
    """Kinds and classes, that kind among them where there is one: no more is imported than it takes to know.

    A kind begins with the name of its problem. Workloads are of the problem's world, which questions do not need.
    """
    problem = str(kind).partition(".")[0]
    for types in (_questions_of, _types_of) if problem in registry().problems else ():
        if kind in (found := types(problem)):
            return found
    return record_types()


@validate_arguments
def load(path: str | os.PathLike[str], **options: Any) -> Any:
    """What `save` or the command line wrote to a file; or the instance in a file of others.

    Files of others are known by their suffix: `.stg` (Standard Task Graphs, with `processors=`), `.sm` (PSPLIB) and
    `.txt` (job shop) become taskgraph instances. An instance does not know of the file it came from: for the
    makespan, `solve(instance, "cp-sat", objective="makespan")`. What a file says is checked as if it came from a
    stranger: plans of results and fronts are judged again, a front's completeness follows again from its
    certificate, and a run must pass its replay.

    Args:
        path: the file.
        options: further keywords are those of the suffix's reader.

    Raises:
        InvalidFile: the file cannot be read, or what it says does not hold; one line says what and where.

    Examples:
        >>> mlsched.save(mlsched.generate("quality", "small"), "inst.json")
        >>> mlsched.load("inst.json").kind
        'quality.instance'
    """
    return load_with_hash(path, **options)[0]


def load_with_hash(path: str | os.PathLike[str], **options: Any) -> tuple[Any, str | None]:
    """`load`, and the hash of the instance that a plan file says it answers (None elsewhere)."""
    reader = _reader(path)
    if reader is not None:
        return reader.read(path, **resolve(shown_path(path), parameters_of(reader.read), options)), None
    if options:
        raise InvalidInput(f"{shown_path(path)}: {', '.join(options)}: a file of ours takes no options")
    refuse_unread(path)
    data = read_json(path)
    if data.get("kind") in [*ANSWERS]:
        from mlsched.api import saved  # fronts take a tenth of a second to import

        return saved.read(path, data), None
    types = _types_for(data.get("kind"))
    kind = check_header(path, data, {name: t.version for name, t in types.items()} | ANSWERS)
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
    if Path(path).suffix == ".json":  # no problem is imported to know that
        return None
    readers = [p.readers[Path(path).suffix] for p in registry().problems.values() if Path(path).suffix in p.readers]
    if len(readers) > 1:
        raise InvalidInput(f"{shown_path(path)}: several problems read {Path(path).suffix} files; rename it")
    return readers[0] if readers and not _is_json(path) else None


def _is_json(path: str | os.PathLike[str]) -> bool:
    with open_file(path) as stream:
        return stream.read(64).lstrip().startswith(b"{")


@validate_arguments
def save(thing: Any, path: str | os.PathLike[str], *, instance: Instance | None = None) -> None:
    """Write an instance, plan, workload, result, front or run as one JSON file, atomically; `load` reads it.

    Files of results, fronts and runs hold the instance or the workload as well, so that `load` can judge again what
    they say. Of a run's recorded decisions they hold questions and plans, but not the memory of a rule.

    Args:
        thing: what to write.
        path: the file; one that is there is replaced.
        instance: of a plan, what it answers: the file then carries its hash.

    Raises:
        InvalidInput: it is something else, the path cannot be written, or a front of one's own model has plans that are
            no plans of mlsched.

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
