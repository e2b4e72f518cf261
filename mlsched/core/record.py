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
from collections.abc import Iterable
from typing import Any, ClassVar, Self

import numpy as np

from mlsched.core import html
from mlsched.core.errors import InvalidInput, a_or_an
from mlsched.core.fields import LabelsSpec, Spec

#: Signs of a record's text at most: one that has more says how many of what there are.
MOST_SIGNS = 240
#: True makes `Record.trusted` validate like the constructor does. Set by MLSCHED_VALIDATE=1.
validate_trusted = os.environ.get("MLSCHED_VALIDATE", "") == "1"


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


def _same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return bool(a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes())
    if isinstance(a, Record):
        return a.same_as(b)
    return bool(a == b)


_LATER: dict[type[Any], dict[str, Any]] = {}


def _later(cls: type[Record]) -> dict[str, Any]:
    """The fields that came when records were in files already (`fields.array`), and the defaults that say nothing."""
    if cls not in _LATER:
        _LATER[cls] = {f.name: f.metadata["default"] for f in dataclasses.fields(cls) if f.metadata.get("later")}
    return _LATER[cls]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Record:
    """Base of every instance, plan and workload. Subclasses are `@dataclass(frozen=True, eq=False, repr=False)`."""

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
            if lacking := [name for name in specs(cls) if name not in fields and getattr(cls, name, None) == ()]:
                raise TypeError(f"{cls.__name__}.trusted: {', '.join(lacking)}: must be given")
            return cls(**fields)
        self = object.__new__(cls)
        self.__dict__.update(fields)
        return self

    def to_json(self) -> dict[str, Any]:
        """The record as plain JSON data, with its kind and version."""
        return self._json(specs(type(self)))

    def _json(self, names: Iterable[str]) -> dict[str, Any]:
        """These fields as plain JSON data; later ones that say nothing are left out."""
        known, later = specs(type(self)), _later(type(self))
        said = [name for name in names if name not in later or not np.all(getattr(self, name) == later[name])]
        body = {name: known[name].to_json(getattr(self, name)) for name in said}
        return {"kind": self.kind, "version": self.version, **body}

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
                raise InvalidInput(f"{name}: unknown field of {a_or_an(cls.kind)}; it has {', '.join(known)}")
        for field in dataclasses.fields(cls):
            if field.name not in body and field.default is dataclasses.MISSING:
                raise InvalidInput(f"{field.name}: is missing; {a_or_an(cls.kind)} needs it")
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
        copied = object.__new__(type(self))
        mine, its = self.__dict__, copied.__dict__
        for name in self.visible():
            value = its[name] = mine[name]
            if type(value) is np.ndarray:
                its[name] = value = value.copy()
                value.setflags(write=False)
            elif isinstance(value, Record):
                its[name] = value.private()
        return copied

    def same_as(self, other: Record) -> bool:
        """Whether `other`, of the same type, holds the same: quicker than ==, and without what a subclass may say."""
        mine, others = self.__dict__, other.__dict__
        return all(_same(mine.get(name), others.get(name)) for name in specs(type(self)))

    def replace(self, **changes: Any) -> Self:
        """A validated copy with some fields changed; later columns that say nothing take the length they must."""
        if unknown := [name for name in changes if name not in specs(type(self))]:
            raise InvalidInput(
                f"{unknown[0]}: unknown field of {a_or_an(self.kind)}; it has {', '.join(specs(type(self)))}"
            )
        unsaid = {
            name: ()
            for name, default in _later(type(self)).items()
            if isinstance(getattr(self, name), np.ndarray) and np.all(getattr(self, name) == default)
        }
        return dataclasses.replace(self, **{**unsaid, **changes})
