"""Entries of a collection, one per instance and objective, read strictly."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from mlsched.api import load
from mlsched.api.records import record_types
from mlsched.core.aliases import Data
from mlsched.core.contract import Instance, Objective, Plan
from mlsched.core.errors import InvalidFile, InvalidInput, shorten
from mlsched.core.fields import EXACT
from mlsched.core.files import check_header, read_json, write_json
from mlsched.core.result import Evidence
from mlsched.core.safe_open import shown_path

KIND, ENTRY, VERSION = "mlsched.collection", "mlsched.collection.entry", 1
#: Digits of an instance's hash that name its files.
DIGITS = 16
#: Fields of an entry, and of a line of its history.
FIELDS = ("instance_hash", "objective", "value", "bound", "evidence", "plan", "history")
LINE = ("date", "by", "value", "bound", "versions")
#: Most characters of a name (of an author, of the collection) and of the description of a collection.
MAX_NAME, MAX_DOC = 80, 500
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclasses.dataclass(frozen=True)
class Entry:
    """Entry of one instance for one objective; `path` is its file.

    Only types have been checked: `value` and `bound` are those in the file.
    """

    path: Path
    instance: Instance
    objective: Objective
    plan: Plan
    value: int | float
    bound: int | float | None
    evidence: Evidence | None
    history: list[Data]

    @property
    def closed(self) -> bool:
        """Whether the bound, if valid, proves the value optimal."""
        return self.bound is not None and meets(self.instance, self.value, self.bound)

    @property
    def judged(self) -> int | float | None:
        """The judge's value of the plan; None if it is infeasible."""
        if self.instance.violations(self.plan):
            return None
        value: int | float = self.instance.evaluate(self.plan)[self.objective.name]
        return value


def meets(instance: Instance, value: int | float, bound: int | float) -> bool:
    """Return whether a bound equals a value, within the instance's tolerance."""
    return abs(bound - value) <= instance.tolerance * abs(value)


def refutes(instance: Instance, objective: Objective, value: int | float, bound: int | float) -> bool:
    """Return whether a plan of that value is better than the bound allows."""
    sign = 1 if objective.sense == "min" else -1
    return sign * (value - bound) < -instance.tolerance * abs(value)


def create(folder: Path, name: str, doc: str) -> None:
    """Create an empty collection; the folder must be new or empty."""
    _check_description({"name": name, "doc": doc})
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidInput(f"{shown_path(folder)}: exists already; give a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "collection.json", {"kind": KIND, "version": VERSION, "name": name, "doc": doc})


def _check_description(data: dict[str, Any]) -> None:
    check_line("name", data.get("name"), MAX_NAME)
    if data.get("doc") != "":
        check_line("doc", data.get("doc"), MAX_DOC)


def check_line(field: str, text: object, most: int) -> None:
    """Raise InvalidInput for anything but one printable line of at most `most` characters."""
    if not isinstance(text, str) or not text.strip() or len(text) > most or not text.isprintable():
        text_shown = shorten(ascii(text))
        raise InvalidInput(f"{field}: {text_shown}, expected one line of 1 to {most} characters that can be printed")


def read_description(folder: Path) -> Data:
    """Return the content of `collection.json`; raise InvalidInput for a folder without it."""
    path = folder / "collection.json"
    if not path.is_file():
        raise InvalidInput(
            f"{shown_path(folder)}: collection.json is missing; `mlsched collection make` writes a collection"
        )
    data = read_json(path)
    check_header(path, data, {KIND: VERSION})
    try:
        _check_description(data)
    except InvalidInput as error:
        raise InvalidFile(f"{shown_path(path)}: {error}") from None
    return data


def entry_path(folder: Path, instance_hash: str, problem: str, objective: str) -> Path:
    """Return the file of an entry."""
    return folder / problem / f"{instance_hash[:DIGITS]}.{objective}.json"


def instance_path(path: Path) -> Path:
    """Return the file with the instance of the entry in `path`."""
    return path.with_name(f"{path.name.partition('.')[0]}.json")


def proof_of(entry: Entry) -> Path:
    """Return the folder of the entry's certificate, which may be missing."""
    return entry.path.with_suffix(".proof")


def entries(folder: Path) -> Iterator[Entry]:
    """Yield all entries, by problem, instance and objective; raise InvalidFile for damaged ones."""
    read_description(folder)
    for path in sorted(folder.glob("*/*.*.json")):
        yield read_entry(path, read_instance(instance_path(path)))


def read_instance(path: Path) -> Instance:
    """Return the instance in a file of a collection, which is named by its hash."""
    if not path.is_file():
        raise InvalidFile(f"{shown_path(path)}: is missing; it is the instance of the entries of its name")
    instance = load(path)
    if not isinstance(instance, Instance) or path.stem != instance.hash[:DIGITS]:
        raise InvalidFile(f"{shown_path(path)}: its content does not match its name")
    return instance


def read_entry(path: Path, instance: Instance) -> Entry:
    """Return the entry in a file with checked types, or raise InvalidFile."""
    data = read_json(path)
    check_header(path, data, {ENTRY: VERSION})
    try:
        return _parse_entry(path, instance, data)
    except InvalidInput as error:
        raise InvalidFile(f"{shown_path(path)}: {error}") from None


def _parse_entry(path: Path, instance: Instance, data: dict[str, Any]) -> Entry:
    if set(data) - {"kind", "version"} != set(FIELDS):
        raise InvalidInput(f"an entry has exactly {', '.join(FIELDS)}")
    if data["instance_hash"] != instance.hash:
        raise InvalidInput(
            f"is for instance {shorten(ascii(data['instance_hash']), 20)}; the file beside it is another instance"
        )
    if data["evidence"] is not None and data["evidence"] not in get_args(Evidence):
        shown = shorten(ascii(data["evidence"]))
        raise InvalidInput(f"evidence: {shown}, expected {', '.join(get_args(Evidence))} or null")
    if not isinstance(data["objective"], str):
        raise InvalidInput(f"objective: {shorten(ascii(data['objective']))}, expected a string")
    objective = instance.objective(data["objective"])
    value, bound = _parse_number("value", data["value"], instance), _parse_bound("bound", data["bound"], instance)
    lines = data["history"]
    if not isinstance(lines, list) or not lines or any(not isinstance(x, dict) or set(x) != set(LINE) for x in lines):
        raise InvalidInput(f"history: expected lines of {', '.join(LINE)}")
    for number, line in enumerate(lines):
        _check_line_of_history(f"history[{number}]", line, instance)
    if not isinstance(data["plan"], dict):
        raise InvalidInput("plan: expected an object")
    plan = record_types()[instance.plan_type.kind].from_json(data["plan"])
    assert isinstance(plan, Plan)
    return Entry(path, instance, objective, plan, value, bound, data["evidence"], lines)


def _check_line_of_history(where: str, line: Data, instance: Instance) -> None:
    if not isinstance(line["date"], str) or not _DATE.fullmatch(line["date"]):
        raise InvalidInput(f"{where}.date: {shorten(ascii(line['date']))}, expected YYYY-MM-DD")
    check_line(f"{where}.by", line["by"], MAX_NAME)
    _parse_number(f"{where}.value", line["value"], instance)
    _parse_bound(f"{where}.bound", line["bound"], instance)
    versions = line["versions"]
    if not isinstance(versions, dict) or not all(isinstance(v, str) for v in versions.values()):
        raise InvalidInput(f"{where}.versions: expected an object of strings")


def _parse_bound(name: str, value: object, instance: Instance) -> int | float | None:
    """Return a bound: an integer, a real number (from linear relaxations), or None."""
    if value is None:
        return None
    return _parse_number(name, value, instance, real=True)


def _parse_number(name: str, value: object, instance: Instance, *, real: bool = False) -> int | float:
    """Return an integer; also a real number if `real`, or if the instance's values are real (`tolerance`)."""
    kinds = (int, float) if real or instance.tolerance else (int,)
    if isinstance(value, bool) or not isinstance(value, kinds) or not abs(value) <= EXACT:
        expected_type = "a number" if float in kinds else "an integer"
        raise InvalidInput(f"{name}: {shorten(ascii(value))}, expected {expected_type} of at most 2^53")
    return value
