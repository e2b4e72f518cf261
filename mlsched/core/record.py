"""Records: the frozen structs that instances, plans and workloads are.

A record is a frozen dataclass whose fields carry a specification (`core/fields.py`). Construction validates; equality
and hash are by content; `to_json`/`from_json` go through the same specifications. `trusted` skips validation for the
simulator's hot path, unless `MLSCHED_VALIDATE=1` (mlsched's own tests have them validated).
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import json
import os
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from mlsched.core import html
from mlsched.core.errors import InvalidInput, with_article
from mlsched.core.fields import ArraySpec, LabelsSpec, Spec

#: Signs of a record's text at most: one that has more says how many of what there are.
MOST_SIGNS = 240
#: True makes `Record.trusted` validate like the constructor does. Set by MLSCHED_VALIDATE=1.
validate_trusted = os.environ.get("MLSCHED_VALIDATE", "") == "1"


AnyRecord = TypeVar("AnyRecord", bound="Record")

#: Under this name a record holds what makes its fields that nobody has read yet.
UNREAD = "_unread"
_SPECS: dict[type[Any], dict[str, Spec]] = {}


def specs(cls: type[Record]) -> dict[str, Spec]:
    """Field name -> specification of a record class, in declaration order."""
    if cls not in _SPECS:
        _SPECS[cls] = _read_specs(cls)
    return _SPECS[cls]


def _read_specs(cls: type[Record]) -> dict[str, Spec]:
    specs = {f.name: f.metadata.get("spec") for f in dataclasses.fields(cls)}
    lacking = [name for name, spec in specs.items() if not isinstance(spec, Spec)]
    if lacking:
        raise TypeError(f"{cls.__name__}: fields without a specification: {', '.join(lacking)}")
    return {name: spec for name, spec in specs.items() if isinstance(spec, Spec)}


def defaults(of: Any) -> dict[str, Any]:
    """Field name -> default, of the fields of any dataclass that have one."""
    return {f.name: f.default for f in dataclasses.fields(of) if f.default is not dataclasses.MISSING}


def said(of: Any, data: Mapping[str, Any]) -> dict[str, Any]:
    """Of the fields of any dataclass as plain data, those that do not hold their default: the rule of `Record`."""
    usual = defaults(of)
    return {name: value for name, value in data.items() if name not in usual or value != usual[name]}


def _same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return bool(a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes())
    if isinstance(a, Record):
        return a.same_as(b)
    return bool(a == b)


def _held(record: Record, name: str) -> Any:
    """What a record holds in a field, whatever its class says of it; None where it holds nothing."""
    mine = record.__dict__
    return mine[UNREAD](name) if name not in mine and UNREAD in mine else mine.get(name)


def _own(value: Any) -> Any:
    """A copy of a field's value that shares nothing that can be written to."""
    if isinstance(value, Record):
        return value.private()
    if type(value) is not np.ndarray:
        return value
    copied = value.copy()
    copied.setflags(write=False)
    return copied


def partly_made(cls: type[AnyRecord], unread: Callable[[str], Any], /, **fields: Any) -> AnyRecord:
    """A trusted instance, of which `unread` makes the fields that are not given, by name, each when it is first read.

    Its class has no defaults of them (`without_defaults`). Where trusted records are validated, all are made at once.
    """
    if validate_trusted:
        return cls(**fields, **{name: unread(name) for name in specs(cls) if name not in fields})
    made = object.__new__(cls)
    made.__dict__.update(fields, **{UNREAD: unread})
    return made


def without_defaults(cls: type[Record], names: Iterable[str]) -> None:
    """Take the defaults of fields off a class, where they would be found of a record that does not hold the field."""
    for name in names:
        if name in vars(cls):
            delattr(cls, name)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Record:
    """Base of every instance, plan and workload. Subclasses are `@dataclass(frozen=True, eq=False, repr=False)`.

    The rule for columns: a field that holds its default is left out of files and of hashes, in every record. An array's
    default is `fill` in every row, for as many rows as the fields before it have. So a column may be added, with a
    default and behind those that it shares a dimension with, and all files and hashes stay what they were. A file may
    name a field that holds its default; it is read as if it did not. A default never changes: files mean it.
    Parameters follow the same rule (`params.resolve`).
    """

    #: What the record is, in files: "<problem>.instance", "<problem>.plan", "<problem>.workload".
    kind: ClassVar[str] = ""
    #: Version of the file layout; a file of another version is refused.
    version: ClassVar[int] = 1

    def __init_subclass__(cls, **given: Any) -> None:
        """Put the fields' own texts into the class's docstring, so that `help` shows shapes, ranges and units."""
        super().__init_subclass__(**given)
        specs = {name: f.metadata.get("spec") for name, f in vars(cls).items() if isinstance(f, dataclasses.Field)}
        lines = [f"    {name} ({spec.form()}): {spec.doc}" for name, spec in specs.items() if isinstance(spec, Spec)]
        if lines and cls.__doc__:
            cls.__doc__ = inspect.cleandoc(cls.__doc__) + "\n\nFields:\n" + "\n".join(lines)

    def __post_init__(self) -> None:
        dims: dict[str, int] = {}
        for name, spec in specs(type(self)).items():
            object.__setattr__(self, name, spec.check(name, getattr(self, name), dims))
        self.check()

    def check(self) -> None:
        """Rules across fields; raise InvalidInput with one sentence. The default has none."""

    @classmethod
    def trusted(cls, **fields: Any) -> Self:
        """Build without validation from arrays the caller made and will not touch again (about a microsecond).

        Arrays are not filled in: each must be given. A missing one is a TypeError where trusted records are validated.
        """
        if validate_trusted:
            # Only validation fills an array's default, so that without it a rule would find an empty tuple.
            optional = [field.name for field in dataclasses.fields(cls) if field.default == ()]
            if lacking := [name for name in optional if name not in fields]:
                raise TypeError(f"{cls.__name__}.trusted: {', '.join(lacking)}: must be given")
            return cls(**fields)
        self = object.__new__(cls)
        self.__dict__.update(fields)
        return self

    def __getstate__(self) -> dict[str, Any]:
        """What is copied, and sent to other processes: every field, read by now or not."""
        if UNREAD not in self.__dict__:
            return self.__dict__
        fields = {name: getattr(self, name) for name in self.visible()}
        return {name: value for name, value in self.__dict__.items() if name != UNREAD} | fields

    def to_json(self) -> dict[str, Any]:
        """The record as plain JSON data, with its kind and version."""
        return self._json(specs(type(self)))

    def _json(self, names: Container[str]) -> dict[str, Any]:
        """Those of the fields that do not hold their default, as plain JSON data."""
        body = {name: specs(type(self))[name].to_json(getattr(self, name)) for name in self.stated_fields(names)}
        return {"kind": self.kind, "version": self.version, **body}

    def stated_fields(self, names: Container[str]) -> list[str]:
        """Those of the fields that do not hold their default, in the order of their declaration."""
        known, dims = specs(type(self)), dict[str, int]()
        fields = [field for field in dataclasses.fields(self) if field.name in names]
        return [f.name for f in fields if not known[f.name].implied(getattr(self, f.name), f.default, dims)]

    def visible(self) -> list[str]:
        """The names of the fields; of an instance without its secrets (`Instance.shown`), of those that it has."""
        return list(specs(type(self)))

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """The inverse of `to_json`. Unknown and missing fields are errors: a typo must not become a default."""
        body = {k: v for k, v in data.items() if k not in ("kind", "version")}
        known = specs(cls)
        for name in body:
            if name not in known:
                raise InvalidInput(f"{name}: unknown field of {with_article(cls.kind)}; it has {', '.join(known)}")
        for field in dataclasses.fields(cls):
            if field.name not in body and field.default is dataclasses.MISSING:
                raise InvalidInput(f"{field.name}: is missing; {with_article(cls.kind)} needs it")
        return cls(**body)

    @functools.cached_property
    def hash(self) -> str:
        """SHA-256 over the canonical JSON of the content: equal records have equal hashes on every machine.

        Names that are for people alone (`LabelsSpec.spoken`) are not part of it.
        """
        known = specs(type(self))
        asked = [name for name in self.visible() if not getattr(known[name], "spoken", False)]
        canonical = json.dumps(self._json(asked), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        mine, others = self.visible(), other.visible()
        return mine == others and all(np.array_equal(getattr(self, name), getattr(other, name)) for name in mine)

    def __hash__(self) -> int:
        return hash(self.hash)

    def __repr__(self) -> str:
        """The fields where that is short, else how many of what there are."""
        whole = self.whole()
        return (
            whole if len(whole) <= MOST_SIGNS else f"<{self.kind}: {', '.join(self._sizes())}, hash {self.hash[:12]}>"
        )

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """For the prompt of IPython, and in full for Hypothesis: it shows what a property failed for."""
        full = type(printer).__module__.startswith("hypothesis.")
        printer.text(self.whole() if full else repr(self))

    def _sizes(self) -> list[str]:
        """How many of what there are: "8 nodes", "24 jobs"."""
        sizes = dict[str, int]()
        for name in self.visible():
            value, spec = getattr(self, name), specs(type(self))[name]
            if isinstance(value, np.ndarray):
                sizes |= zip(spec.shape, value.shape, strict=True)  # type: ignore[attr-defined]
        return [f"{size} {dim}" for dim, size in sizes.items() if size]

    def whole(self) -> str:
        """All fields as text; of long arrays, the shape."""
        parts = []
        for name in self.visible():
            value = getattr(self, name)
            if isinstance(value, np.ndarray):
                shown = str(value.tolist()) if value.size <= 12 else f"<{'x'.join(map(str, value.shape))} integers>"
            else:
                shown = repr(value)
            parts.append(f"{name}={shown}")
        return f"{self.kind}({', '.join(parts)})"

    def _repr_html_(self) -> str:
        """For notebooks: how many of what there are, and the fields with their values, folded away."""
        rows = []
        for name in self.visible():
            value, spec = getattr(self, name), specs(type(self))[name]
            if isinstance(value, np.ndarray):
                shown = html.numbers(value.ravel())
            elif isinstance(spec, LabelsSpec):
                shown = html.names(value)
            else:
                shown = value.kind if isinstance(value, Record) else str(value)
            rows.append([name, spec.form(), shown, spec.doc])
        fields = html.table(["field", "form", "values", "meaning"], rows)
        return html.block(
            self.kind, [", ".join(self._sizes()), f"hash {self.hash[:12]}"], html.folded("fields", fields)
        )

    def private(self) -> Self:
        """A copy that shares no array with this record, and nothing that was computed from it."""
        known = specs(type(self))
        given = {name: _own(value) for name, value in self.__dict__.items() if name in known}
        return self._like(given, lambda name: _own(getattr(self, name)))

    def _like(self, fields: dict[str, Any], unread: Callable[[str], Any]) -> Self:
        """A record of these fields; of those that nobody has read here yet, `unread` makes its own."""
        copied = object.__new__(type(self))
        copied.__dict__.update(fields)
        if UNREAD in self.__dict__:
            copied.__dict__[UNREAD] = unread
        return copied

    def same_as(self, other: Record) -> bool:
        """Whether `other`, of the same type, holds the same: quicker than ==, and without what a subclass may say."""
        mine = set(self.visible())
        return all(
            _same(getattr(self, name), _held(other, name)) if name in mine else name not in other.__dict__
            for name in specs(type(self))
        )

    def replace(self, **changes: Any) -> Self:
        """A validated copy with some fields changed; columns that hold their default take the length they must."""
        if unknown := [name for name in changes if name not in specs(type(self))]:
            raise InvalidInput(
                f"{unknown[0]}: unknown field of {with_article(self.kind)}; it has {', '.join(specs(type(self)))}"
            )
        said = self.stated_fields(specs(type(self)))
        arrays = [name for name, spec in specs(type(self)).items() if isinstance(spec, ArraySpec)]
        return dataclasses.replace(self, **{name: () for name in arrays if name not in said} | changes)
