"""Records: the frozen dataclasses behind instances, plans and workloads.

The fields of a record carry a specification (`core/fields.py`). Construction validates; equality and hash are by
content; `to_json` and `from_json` use the same specifications. `trusted` skips validation for the simulator's hot path,
unless `MLSCHED_VALIDATE=1` (set by mlsched's own tests).
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import json
import os
from collections.abc import Callable, Container, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np

from mlsched.core import html
from mlsched.core.aliases import Data
from mlsched.core.errors import InvalidInput, with_article
from mlsched.core.fields import ArraySpec, LabelsSpec, Spec

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

#: Longest representation in characters; longer records show their sizes.
MAX_REPR_CHARACTERS = 240
#: True makes `Record.trusted` validate as the constructor does. Set by MLSCHED_VALIDATE=1.
validate_trusted = os.environ.get("MLSCHED_VALIDATE", "") == "1"


AnyRecord = TypeVar("AnyRecord", bound="Record")
T = TypeVar("T")

#: Key in a record's `__dict__` of the function that computes its lazy fields.
LAZY = "_unread"
_SPECS: dict[type[Any], dict[str, Spec]] = {}


def specs(cls: type[Record]) -> dict[str, Spec]:
    """Return the specifications of a record class by field name, in declaration order."""
    if cls not in _SPECS:
        _SPECS[cls] = _read_specs(cls)
    return _SPECS[cls]


def _read_specs(cls: type[Record]) -> dict[str, Spec]:
    specs = {f.name: f.metadata.get("spec") for f in dataclasses.fields(cls)}
    lacking = [name for name, spec in specs.items() if not isinstance(spec, Spec)]
    if lacking:
        raise TypeError(f"{cls.__name__}: fields without a specification: {', '.join(lacking)}")
    # A default's length follows from the fields before it: those without a default come first, also across bases.
    optional = {f.name for f in dataclasses.fields(cls) if f.default is not dataclasses.MISSING}
    ordered = sorted(specs, key=optional.__contains__)
    return {name: spec for name in ordered if isinstance(spec := specs[name], Spec)}


def defaults(of: DataclassInstance | type[DataclassInstance]) -> Data:
    """Return the defaults of a dataclass by field name."""
    return {f.name: f.default for f in dataclasses.fields(of) if f.default is not dataclasses.MISSING}


def without_defaults_of(of: DataclassInstance | type[DataclassInstance], data: Mapping[str, T]) -> dict[str, T]:
    """Drop fields of a dataclass, given as plain data, that equal their default (as in `Record`)."""
    usual = defaults(of)
    return {name: value for name, value in data.items() if name not in usual or value != usual[name]}


def _equal_values(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return bool(a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes())
    if isinstance(a, Record):
        return a.same_as(b)
    return bool(a == b)


def _field_value(record: Record, name: str) -> object:
    """Return a record's value of a field, ignoring its class; None if it is missing."""
    mine = record.__dict__
    return mine[LAZY](name) if name not in mine and LAZY in mine else mine.get(name)


def _private_copy(value: object) -> object:
    """Copy a field's value so that no writable data are shared."""
    if isinstance(value, Record):
        return value.private()
    if type(value) is not np.ndarray:
        return value
    copied = value.copy()
    copied.setflags(write=False)
    return copied


def lazy_record(cls: type[AnyRecord], unread: Callable[[str], Any], /, **fields: object) -> AnyRecord:
    """Create a trusted instance whose missing fields are computed by `unread(name)` when they are first read.

    The class must not have defaults of these fields (`drop_class_defaults`). If trusted records are validated, all
    fields are computed at once.
    """
    if validate_trusted:
        return cls(**fields, **{name: unread(name) for name in specs(cls) if name not in fields})
    record = object.__new__(cls)
    record.__dict__.update(fields, **{LAZY: unread})
    return record


def drop_class_defaults(cls: type[Record], names: Iterable[str]) -> None:
    """Delete the class attributes of fields with defaults, which would hide that a record lacks the field."""
    for base in cls.__mro__:
        for name in vars(base).keys() & set(names):
            delattr(base, name)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Record:
    """Base class of every instance, plan and workload; subclasses are `@dataclass(frozen=True, eq=False, repr=False)`.

    A field equal to its default is omitted from files and hashes, in every record. The default of an array is `fill` in
    every row, with the number of rows of earlier fields. A column may therefore be added, with a default and behind the
    fields that share its dimension, without changing existing files and hashes. A file may state a default explicitly.
    Defaults never change because files rely on them. Parameters follow the same rule (`params.resolve`).
    """

    #: Kind of the record in files: "<problem>.instance", "<problem>.plan", "<problem>.workload".
    kind: ClassVar[str] = ""
    #: Version of the file layout; files of other versions are rejected.
    version: ClassVar[int] = 1

    def __init_subclass__(cls, **options: object) -> None:
        """Append the fields' descriptions to the class's docstring, so that `help` shows shapes, ranges and units."""
        super().__init_subclass__(**options)
        specs = {f.name: f.metadata.get("spec") for base in cls.__bases__ for f in dataclasses.fields(base)}
        specs |= {name: f.metadata.get("spec") for name, f in vars(cls).items() if isinstance(f, dataclasses.Field)}
        lines = [f"    {name} ({spec.form()}): {spec.doc}" for name, spec in specs.items() if isinstance(spec, Spec)]
        if lines and cls.__doc__:
            cls.__doc__ = inspect.cleandoc(cls.__doc__) + "\n\nFields:\n" + "\n".join(lines)

    def __post_init__(self) -> None:
        dims: dict[str, int] = {}
        for name, spec in specs(type(self)).items():
            object.__setattr__(self, name, spec.check(name, getattr(self, name), dims))
        self.check()

    def check(self) -> None:
        """Check rules across fields; raise InvalidInput with one sentence. The default accepts everything."""

    @classmethod
    def trusted(cls, **fields: object) -> Self:
        """Build without validation from arrays that the caller created and will not change (about a microsecond).

        Arrays are never filled in; each must be given. A missing array raises TypeError if trusted records are
        validated.
        """
        if validate_trusted:
            # Only validation fills an array's default; without it, a rule would see an empty tuple.
            optional = [field.name for field in dataclasses.fields(cls) if field.default == ()]
            if lacking := [name for name in optional if name not in fields]:
                raise TypeError(f"{cls.__name__}.trusted: {', '.join(lacking)}, expected a value for each array")
            return cls(**fields)
        self = object.__new__(cls)
        self.__dict__.update(fields)
        return self

    def __getstate__(self) -> dict[str, object]:
        """Return the state for copies and other processes: every field, with lazy fields computed."""
        if LAZY not in self.__dict__:
            return self.__dict__
        fields = {name: getattr(self, name) for name in self.visible()}
        return {name: value for name, value in self.__dict__.items() if name != LAZY} | fields

    def to_json(self) -> Data:
        """Return the record as plain JSON data, with its kind and version."""
        return self._plain_data(specs(type(self)))

    def _plain_data(self, names: Container[str]) -> dict[str, Any]:
        """Return the named fields that differ from their default as plain JSON data."""
        body = {name: specs(type(self))[name].to_json(getattr(self, name)) for name in self.stated_fields(names)}
        return {"kind": self.kind, "version": self.version, **body}

    def stated_fields(self, names: Container[str]) -> list[str]:
        """Return the named fields that differ from their default, in the order of `specs`."""
        known, dims = specs(type(self)), dict[str, int]()
        usual = defaults(type(self))
        asked = [name for name in known if name in names]
        return [n for n in asked if not known[n].implied(getattr(self, n), usual.get(n, dataclasses.MISSING), dims)]

    def visible(self) -> list[str]:
        """Return the field names; for an instance without secrets (`Instance.shown`), only those it has."""
        return list(specs(type(self)))

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Build a record from the data of `to_json`.

        Unknown and missing fields are errors, so that a typo cannot select a default.
        """
        body = {k: v for k, v in data.items() if k not in ("kind", "version")}
        specifications = specs(cls)
        for name in body:
            if name not in specifications:
                raise InvalidInput(
                    f"{name}: unknown field of {with_article(cls.kind)}; it has {', '.join(specifications)}"
                )
        for field in dataclasses.fields(cls):
            if field.name not in body and field.default is dataclasses.MISSING:
                raise InvalidInput(f"{field.name}: is missing; {with_article(cls.kind)} needs it")
        return cls(**body)

    @functools.cached_property
    def hash(self) -> str:
        """SHA-256 of the canonical JSON of the content; equal on every machine.

        Display-only names (`LabelsSpec.display_only`) are excluded.
        """
        specifications = specs(type(self))
        names = [name for name in self.visible() if not getattr(specifications[name], "display_only", False)]
        canonical = json.dumps(self._plain_data(names), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        mine, others = self.visible(), other.visible()
        return mine == others and all(np.array_equal(getattr(self, name), getattr(other, name)) for name in mine)

    def __hash__(self) -> int:
        return hash(self.hash)

    def __repr__(self) -> str:
        """Show the fields if they are short, else the sizes."""
        full = self.whole()
        return (
            full
            if len(full) <= MAX_REPR_CHARACTERS
            else f"<{self.kind}: {', '.join(self._sizes())}, hash {self.hash[:12]}>"
        )

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print in IPython, and in full for Hypothesis, to show why a property failed."""
        full = type(printer).__module__.startswith("hypothesis.")
        printer.text(self.whole() if full else repr(self))

    def _sizes(self) -> list[str]:
        """Return the sizes of the dimensions in words: "8 nodes", "24 jobs"."""
        sizes = dict[str, int]()
        for name in self.visible():
            value, spec = getattr(self, name), specs(type(self))[name]
            if isinstance(value, np.ndarray):
                sizes |= zip(spec.shape, value.shape, strict=True)  # type: ignore[attr-defined]
        return [f"{size} {dim}" for dim, size in sizes.items() if size]

    def whole(self) -> str:
        """Return all fields as text, with the shape of long arrays."""
        parts = []
        for name in self.visible():
            value = getattr(self, name)
            if isinstance(value, np.ndarray):
                text = str(value.tolist()) if value.size <= 12 else f"<{'x'.join(map(str, value.shape))} integers>"
            else:
                text = repr(value)
            parts.append(f"{name}={text}")
        return f"{self.kind}({', '.join(parts)})"

    def _repr_html_(self) -> str:
        """Show the sizes in a notebook, and the fields with their values in a closed block."""
        rows = []
        for name in self.visible():
            value, spec = getattr(self, name), specs(type(self))[name]
            if isinstance(value, np.ndarray):
                text = html.first_numbers(value.ravel())
            elif isinstance(spec, LabelsSpec):
                text = html.first_names(value)
            else:
                text = value.kind if isinstance(value, Record) else str(value)
            rows.append([name, spec.form(), text, spec.doc])
        fields = html.html_table(["field", "form", "values", "meaning"], rows)
        return html.titled_block(
            self.kind, [", ".join(self._sizes()), f"hash {self.hash[:12]}"], html.collapsible("fields", fields)
        )

    def private(self) -> Self:
        """Return a copy that shares neither arrays nor cached values with this record."""
        specifications = specs(type(self))
        fields = {name: _private_copy(value) for name, value in self.__dict__.items() if name in specifications}
        return self._copy_with(fields, lambda name: _private_copy(getattr(self, name)))

    def _copy_with(self, fields: dict[str, Any], unread: Callable[[str], Any]) -> Self:
        """Return a record of these fields; lazy fields of this record are computed by `unread`."""
        copied = object.__new__(type(self))
        copied.__dict__.update(fields)
        if LAZY in self.__dict__:
            copied.__dict__[LAZY] = unread
        return copied

    def same_as(self, other: Record) -> bool:
        """Return whether `other` has the same type and content; faster than ==, and independent of subclasses."""
        mine = set(self.visible())
        return all(
            _equal_values(getattr(self, name), _field_value(other, name))
            if name in mine
            else name not in other.__dict__
            for name in specs(type(self))
        )

    def replace(self, **changes: object) -> Self:
        """Return a validated copy with some fields changed; columns equal to their default adapt their length."""
        if unknown := [name for name in changes if name not in specs(type(self))]:
            raise InvalidInput(
                f"{unknown[0]}: unknown field of {with_article(self.kind)}; it has {', '.join(specs(type(self)))}"
            )
        stated = self.stated_fields(specs(type(self)))
        arrays = [name for name, spec in specs(type(self)).items() if isinstance(spec, ArraySpec)]
        return dataclasses.replace(self, **{name: () for name in arrays if name not in stated} | changes)
