"""A collection of instances with their best known plans, that anyone can check and improve.

A folder with a file `collection.json`, and for every instance, named by the first 16 digits of its hash:

    PROBLEM/HASH.json               the instance
    PROBLEM/HASH.OBJECTIVE.json     what is known for the objective: an entry
    PROBLEM/HASH.OBJECTIVE.proof/   where the optimum is certified: its certificate (`mlsched check` reads it)

An entry has the best known plan and its value, the best proven bound, what they rest on (`backing`, where they meet:
see `Result`), and its history: who brought which value and bound, when, with which versions. `TABLE.md` is generated
from the entries. Values are recomputed by the judge whenever a collection is verified, and certificates are checked;
other bounds are what their solver proved, and can be told wrong only by a better plan. So an outsider's better plan is
accepted by `submit` alone.
"""

from __future__ import annotations

import dataclasses
import datetime
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from mlsched.api import load, save
from mlsched.api.records import record_types
from mlsched.core.contract import Instance, Objective, Plan
from mlsched.core.errors import InvalidFile, InvalidInput, SolverError, TooLarge
from mlsched.core.files import atomic_write, check_header, read_json, write_json
from mlsched.core.gap import percentage
from mlsched.core.result import Backing, Result, relative_gap
from mlsched.core.versions import versions

KIND, ENTRY, VERSION = "mlsched.collection", "mlsched.collection.entry", 1
#: Digits of an instance's hash that name its files.
DIGITS = 16
#: Fields of an entry, and of a line of its history.
FIELDS = ("instance_hash", "objective", "value", "bound", "backing", "plan", "history")
LINE = ("date", "by", "value", "bound", "versions")


@dataclasses.dataclass(frozen=True)
class Entry:
    """What is known of one instance for one objective; `path` is its file."""

    path: Path
    instance: Instance
    objective: Objective
    plan: Plan
    value: int
    bound: int | float | None
    backing: Backing | None
    history: list[dict[str, Any]]

    @property
    def closed(self) -> bool:
        """Whether the bound proves the value optimal."""
        return self.bound is not None and abs(self.bound - self.value) <= self.instance.tolerance * abs(self.value)


def create(folder: Path, name: str, doc: str) -> None:
    """Make an empty collection; the folder may exist, and must be empty."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidInput(f"{folder}: exists already; give a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "collection.json", {"kind": KIND, "version": VERSION, "name": name, "doc": doc})


def described(folder: Path) -> dict[str, Any]:
    """What `collection.json` says; refuses a folder that is no collection."""
    if not (folder / "collection.json").is_file():
        raise InvalidInput(f"{folder}: has no collection.json; `mlsched collection make` writes a collection")
    data = read_json(folder / "collection.json")
    check_header(folder / "collection.json", data, {KIND: VERSION})
    return data


def add(folder: Path, instance: Instance, result: Result, by: str) -> bool:
    """Note a result: a new entry, a better value or a better bound. False where it adds nothing.

    Raises InvalidInput for a result of another instance or without a plan. The result's values are the judge's.
    """
    if result.instance_hash != instance.hash:
        raise InvalidInput(f"the result answers instance {result.instance_hash[:12]}, not {instance.hash[:12]}")
    if result.plan is None or result.value is None:
        raise InvalidInput(f"the result is '{result.status}' and has no plan")
    return _note(folder, instance, result.objective, result.plan, result.bound, result.backing, by)


def submit(folder: Path, instance: Instance, plan: Plan, objective: str, by: str) -> bool:
    """Note a plan: True where it is better than the best known one. The judge values it; nothing else is believed."""
    if wrong := instance.violations(plan):
        raise InvalidInput(f"the plan is infeasible: {wrong[0]}")
    return _note(folder, instance, objective, plan, None, None, by)


def _note(
    folder: Path, instance: Instance, name: str, plan: Plan, bound: float | None, backing: Backing | None, by: str
) -> bool:
    described(folder)
    objective, value = instance.objective(name), instance.evaluate(plan)[name]
    path = folder / instance.problem / f"{instance.hash[:DIGITS]}.{name}.json"
    known = _entry(path, instance) if path.is_file() else None
    if known is not None:
        sign = 1 if objective.sense == "min" else -1
        better = sign * value < sign * known.value
        tighter = bound is not None and (known.bound is None or sign * bound > sign * known.bound)
        if not better and not tighter:
            return False
        if not better:
            plan, value = known.plan, known.value
        bound = bound if tighter else known.bound
    _refuse_contradiction(instance, objective, value, bound, f"{path.name}: {by}")
    closed = bound is not None and abs(bound - value) <= instance.tolerance * abs(value)
    line = {"date": _today(), "by": by, "value": value, "bound": bound, "versions": versions()}
    path.parent.mkdir(exist_ok=True)
    of_instance = folder / instance.problem / f"{instance.hash[:DIGITS]}.json"
    if not of_instance.exists():
        save(instance, of_instance)
    write_json(
        path,
        {
            "kind": ENTRY,
            "version": VERSION,
            "instance_hash": instance.hash,
            "objective": name,
            "value": value,
            "bound": bound,
            "backing": (backing or (known.backing if known else None) or "claimed") if closed else None,
            "plan": plan.to_json(),
            "history": [*(known.history if known else []), line],
        },
    )
    return True


def _today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def _refuse_contradiction(
    instance: Instance, objective: Objective, value: int, bound: int | float | None, where: str
) -> None:
    """A plan that is better than what was proved impossible refutes the proof."""
    sign = 1 if objective.sense == "min" else -1
    if bound is not None and sign * (value - bound) < -instance.tolerance * abs(value):
        raise InvalidInput(f"{where}: the value {value} is better than the bound {bound}: one of the two is wrong")


def entries(folder: Path) -> Iterator[Entry]:
    """All entries, by problem, instance and objective. Raises InvalidFile for what is damaged."""
    described(folder)
    for path in sorted(folder.glob("*/*.*.json")):
        of_instance = path.with_name(f"{path.name.partition('.')[0]}.json")
        if not of_instance.is_file():
            raise InvalidFile(f"{path}: its instance, {of_instance.name}, is missing")
        yield _entry(path, load(of_instance))


def _entry(path: Path, instance: Instance) -> Entry:
    data = read_json(path)
    check_header(path, data, {ENTRY: VERSION})
    if set(data) - {"kind", "version"} != set(FIELDS):
        raise InvalidFile(f"{path}: an entry has exactly {', '.join(FIELDS)}")
    if data["instance_hash"] != instance.hash:
        raise InvalidFile(
            f"{path}: is for instance {str(data['instance_hash'])[:12]}; the file beside it holds another"
        )
    if data["backing"] is not None and data["backing"] not in get_args(Backing):
        raise InvalidFile(f"{path}: backing = {data['backing']!r}: must be {', '.join(get_args(Backing))} or null")
    lines = data["history"]
    if not isinstance(lines, list) or not lines or any(not isinstance(x, dict) or set(x) != set(LINE) for x in lines):
        raise InvalidFile(f"{path}: history: must be lines of {', '.join(LINE)}")
    plan, found = data["plan"], record_types()[instance.plan_type.kind]
    if not isinstance(plan, dict):
        raise InvalidFile(f"{path}: plan: must be an object")
    try:
        read = found.from_json(plan)
        objective = instance.objective(str(data["objective"]))
    except InvalidInput as error:
        raise InvalidFile(f"{path}: {error}") from None
    assert isinstance(read, Plan)
    return Entry(path, instance, objective, read, data["value"], data["bound"], data["backing"], lines)


def verify(folder: Path) -> tuple[int, list[str]]:
    """How many entries there are, and what is wrong with the collection, a sentence each: files, values, bounds, table.

    Every plan is judged and valued anew.
    """
    wrong, count = [], 0
    described(folder)
    for path in sorted(folder.glob("*/*.json")):
        is_instance = path.name.count(".") == 1
        try:
            if is_instance:
                instance = load(path)
                if not isinstance(instance, Instance) or path.stem != instance.hash[:DIGITS]:
                    wrong.append(f"{path}: holds something else than its name says")
                continue
            count += 1
            of_instance = path.with_name(f"{path.name.partition('.')[0]}.json")
            if not of_instance.is_file():
                raise InvalidFile(f"{path}: its instance, {of_instance.name}, is missing")
            wrong += _faults(_entry(path, load(of_instance)))
        except InvalidInput as error:
            wrong.append(str(error))
    table = folder / "TABLE.md"
    if not wrong and (not table.is_file() or table.read_text(encoding="utf-8") != text_table(folder)):
        wrong.append(f"{table}: is not what the entries say; `mlsched collection table {folder}` writes it")
    return count, wrong


def _faults(entry: Entry) -> list[str]:
    """What is wrong with an entry that can be read."""
    if entry.path.name != f"{entry.instance.hash[:DIGITS]}.{entry.objective.name}.json":
        return [f"{entry.path}: is an entry for {entry.objective.name}"]
    if violated := entry.instance.violations(entry.plan):
        return [f"{entry.path}: the plan is infeasible: {violated[0]}"]
    value = entry.instance.evaluate(entry.plan)[entry.objective.name]
    if value != entry.value:
        return [f"{entry.path}: value = {entry.value}: the plan's is {value}"]
    try:
        _refuse_contradiction(entry.instance, entry.objective, value, entry.bound, str(entry.path))
    except InvalidInput as error:
        return [str(error)]
    if (entry.backing is not None) != entry.closed:
        return [
            f"{entry.path}: backing = {entry.backing!r}: must be null exactly where the bound does not meet the value"
        ]
    if entry.backing == "certified" and (uncertified := _uncertified(entry)):
        return [uncertified]
    last = entry.history[-1]
    if (last["value"], last["bound"]) != (entry.value, entry.bound):
        return [f"{entry.path}: history ends with another value or bound than the entry's"]
    return []


def proof_of(entry: Entry) -> Path:
    """Where the entry's certificate is, if it has one."""
    return entry.path.with_suffix(".proof")


def certify(entry: Entry, seconds: float | None = None) -> bool:
    """Make a certificate of a closed entry: True where its backing is "certified" now. False: no proof was found.

    seconds: wall limit of each proof. Needs the extra "certify".
    """
    from mlsched.certificates import bundle

    if entry.backing == "certified" or not entry.closed:
        return entry.closed
    try:
        found = bundle.certify(entry.instance, entry.objective.name, entry.plan, proof_of(entry), seconds=seconds)
    except (SolverError, TooLarge):
        return False
    if found.backing is not None:
        write_json(entry.path, {**read_json(entry.path), "backing": found.backing})
    return found.backing is not None


def _uncertified(entry: Entry) -> str:
    """Why the entry's certificate does not certify it; empty where it does."""
    from mlsched.certificates import bundle

    folder = proof_of(entry)
    if not folder.is_dir():
        return f"{entry.path}: is called certified, and {folder.name} is missing"
    found = bundle.check(folder)
    if found.wrong:
        return f"{folder}: {found.wrong[0]}"
    if (found.instance.hash, found.objective, found.value) != (entry.instance.hash, entry.objective.name, entry.value):
        return f"{folder}: certifies something else"
    return ""


def text_table(folder: Path) -> str:
    """The table of a collection as Markdown: a line an entry."""
    said = described(folder)
    lines = [
        f"# {said['name']}",
        "",
        str(said["doc"]),
        "",
        "| problem | instance | objective | best known | bound | gap to bound | backing | by |",
        "| --- | --- | --- | ---: | ---: | ---: | --- | --- |",
    ]
    for entry in entries(folder):
        gap = "–" if entry.bound is None else percentage(relative_gap(entry.value, entry.bound))
        cells = [entry.instance.problem, entry.instance.hash[:DIGITS], entry.objective.name, str(entry.value)]
        cells += ["–" if entry.bound is None else f"{entry.bound:.10g}", gap, entry.backing or "open"]
        lines.append(f"| {' | '.join([*cells, str(entry.history[-1]['by'])])} |")
    return "\n".join([*lines, ""])


def write_table(folder: Path) -> None:
    """Write `TABLE.md`."""
    text = text_table(folder)
    with atomic_write(os.fspath(folder / "TABLE.md")) as stream:
        stream.write(text)
