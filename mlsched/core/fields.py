"""Field specifications: what a field of an instance or a plan may hold, said once, checked everywhere.

A record (`core/record.py`) declares its fields with the functions below. The same declaration validates a value that
research code passes in, a value read from a JSON file, and documents shape, range and unit. What is wrong is said in
one sentence that names field, value and rule.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from mlsched.core.errors import InvalidInput, a_or_an

IntArray = npt.NDArray[np.int64]

#: Largest magnitude of an integer in a record: up to here a float64, in which MIP solvers compute, holds it exactly.
EXACT = 2**53
#: Stands for "no limit" wherever a limit is an integer.
UNLIMITED = 2**31 - 1


def ints(values: Iterable[int]) -> IntArray:
    """`values` as an int64 array, for handing to a record."""
    return np.array(list(values), dtype=np.int64)


def fail(field: str, value: object, rule: str) -> InvalidInput:
    """The one sentence for a wrong value: field, value (shortened) and rule."""
    try:
        shown = repr(value)
    except ValueError:  # an integer of thousands of digits
        shown = "a number of thousands of digits"
    return InvalidInput(f"{field} = {shown if len(shown) <= 60 else shown[:57] + '...'}: {rule}")


def refuse_first(
    wrong: npt.NDArray[np.bool_], name: str, values: npt.NDArray[np.int64], rule: str, *, shift: int = 0
) -> None:
    """Raise InvalidInput for the first entry of `values` marked `wrong`; `shift` is added to the last index shown."""
    if wrong.any():
        index = tuple(int(i) for i in np.argwhere(wrong)[0])
        place = "".join(f"[{i}]" for i in (*index[:-1], index[-1] + shift))
        raise InvalidInput(f"{name}{place} = {int(values[index])}: {rule}")


def refuse_falling(name: str, times: IntArray) -> None:
    """Raise InvalidInput for the first of `times` that is before the one that precedes it."""
    falling = np.flatnonzero(np.diff(times) < 0)
    if falling.size:
        k = int(falling[0]) + 1
        raise InvalidInput(f"{name}[{k}] = {times[k]}: must not be before {name}[{k - 1}] = {times[k - 1]}")


def as_int(field: str, value: object) -> int:
    """`value` as a Python int; bools, floats and strings are refused rather than rounded."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise fail(field, value, "must be an integer")
    return int(value)


@dataclasses.dataclass(frozen=True)
class Spec:
    """Base of the field specifications. `doc` says what the field means and in which unit."""

    doc: str = ""

    def check(self, name: str, value: Any, dims: dict[str, int]) -> Any:
        """The value in its canonical form, or InvalidInput. `dims` collects the sizes of named dimensions."""
        raise NotImplementedError  # pragma: no cover - every subclass defines it

    def implied(self, value: Any, default: Any, dims: dict[str, int]) -> bool:
        """Whether a checked `value` is what stands in a record where the field is left out: the rule of `Record`.

        `dims`: the sizes that the fields before it have said, as in `check`; its own are added.
        """
        return bool(value == default)

    def to_json(self, value: Any) -> Any:
        """The value as plain JSON data."""
        return value

    def form(self) -> str:
        """Type, shape and range of the value in a few words, for documentation."""
        return "value"


def _range(low: int, high: int) -> str:
    """The range as documentation shows it: limits that stand for "none" are left out."""
    lowest, highest = low > -EXACT, high < UNLIMITED
    if lowest and highest:
        return f", {low} to {high}"
    return f", >= {low}" if lowest else f", <= {high}" if highest else ""


def _range_rule(low: int, high: int) -> str:
    if high >= EXACT:
        return f"must be >= {low} and at most 2^53" if low > -EXACT else f"must be below 2^53 in magnitude ({EXACT})"
    return f"must be between {low} and {high}"


#: Of so few entries, Python finds the least and the largest sooner than NumPy.
FEW = 64


@dataclasses.dataclass(frozen=True)
class ArraySpec(Spec):
    """A read-only int64 array whose dimensions are named; equal names must have equal sizes within one record.

    With a `fill`, the field may be left out: it is then full of that value, its dimensions known from fields before it.
    """

    shape: tuple[str, ...] = ()
    low: int = 0
    high: int = EXACT
    fill: int | None = None

    def form(self) -> str:
        left_out = "" if self.fill is None else f"; {self.fill} where left out"
        return f"int64 array, {' x '.join(self.shape)}{_range(self.low, self.high)}{left_out}"

    def check(self, name: str, value: Any, dims: dict[str, int]) -> IntArray:
        if self.fill is not None and isinstance(value, tuple) and not value:
            array = np.full(tuple(dims.get(d, 0) for d in self.shape), self.fill, dtype=np.int64)
        else:
            array = self._as_array(name, value, dims)
        for axis, (dim, size) in enumerate(zip(self.shape, array.shape, strict=True)):
            if dims.setdefault(dim, size) != size:
                where = "length" if array.ndim == 1 else f"length of dimension {axis}"
                raise InvalidInput(f"{name}: {where} is {size}: must be {dims[dim]} (the number of {dim})")
        if array.size <= FEW:
            entries = array.ravel().tolist()
            admitted = not entries or (self.low <= min(entries) and max(entries) <= self.high)
        else:
            admitted = bool(array.min() >= self.low and array.max() <= self.high)
        if not admitted:
            bad = (array < self.low) | (array > self.high)
            index = tuple(int(i) for i in np.argwhere(bad)[0])
            place = name + "".join(f"[{i}]" for i in index)
            raise fail(place, int(array[index]), _range_rule(self.low, self.high))
        array.setflags(write=False)
        return array

    def implied(self, value: Any, default: Any, dims: dict[str, int]) -> bool:
        """Full of `fill`, and as long as the fields before it say: what is longer could not be restored."""
        known = tuple(dims.get(d, 0) for d in self.shape)
        dims |= zip(self.shape, value.shape, strict=True)
        # [] is written for every array without rows, and read as one of the sizes that are known.
        same = value.shape == known or not (len(value) or known[0])
        return self.fill is not None and same and bool((value == self.fill).all())

    def _as_array(self, name: str, value: Any, dims: dict[str, int]) -> IntArray:
        """A private copy as int64. Integers only: a float array would be truncated silently."""
        ndim = len(self.shape)
        if type(value) is np.ndarray and value.dtype == np.int64 and value.ndim == ndim and value.size:
            return value.copy()
        if not isinstance(value, (np.ndarray, list, tuple)):
            raise fail(name, value, f"must be a list of integers ({ndim}-dimensional: {' x '.join(self.shape)})")
        try:
            array = np.array(value)
        except ValueError:
            raise InvalidInput(f"{name}: rows have different lengths; must be {' x '.join(self.shape)}") from None
        if array.size == 0:
            # [] says nothing of its dimensions: take what other fields said, and 0 where they said nothing.
            shape = array.shape if array.ndim == ndim else tuple(dims.get(d, 0) for d in self.shape)
            if math.prod(shape):
                raise InvalidInput(f"{name}: is empty; must be {' x '.join(self.shape)} = {shape}")
            return np.zeros(shape, dtype=np.int64)
        if array.ndim != ndim:
            raise InvalidInput(f"{name}: has {array.ndim} dimension(s); must have {ndim}: {' x '.join(self.shape)}")
        # NumPy turns [1, True] into integers without a word, hence the look at the items of what is not an array yet.
        hides_bool = not isinstance(value, np.ndarray) and bool in set(map(type, np.array(value, dtype=object).flat))
        if array.dtype.kind not in "iu" or array.dtype == np.uint64 or hides_bool:
            for index, item in np.ndenumerate(np.array(value, dtype=object)):
                as_int(name + "".join(f"[{i}]" for i in index), item)
                if not -EXACT <= item <= EXACT:
                    raise fail(name + "".join(f"[{i}]" for i in index), item, _range_rule(self.low, self.high))
        return array.astype(np.int64)

    def to_json(self, value: Any) -> Any:
        return value.tolist()


@dataclasses.dataclass(frozen=True)
class IntSpec(Spec):
    """One integer within a closed range."""

    low: int = 0
    high: int = EXACT

    def form(self) -> str:
        return f"integer{_range(self.low, self.high)}"

    def check(self, name: str, value: Any, dims: dict[str, int]) -> int:
        number = as_int(name, value)
        if not self.low <= number <= self.high:
            raise fail(name, number, _range_rule(self.low, self.high))
        return number


@dataclasses.dataclass(frozen=True)
class TextSpec(Spec):
    """A string, one of `choices` if there are any."""

    choices: tuple[str, ...] = ()

    def form(self) -> str:
        return " or ".join(repr(choice) for choice in self.choices) or "text"

    def check(self, name: str, value: Any, dims: dict[str, int]) -> str:
        if not isinstance(value, str):
            raise fail(name, value, "must be a string")
        if self.choices and value not in self.choices:
            raise fail(name, value, f"must be one of {', '.join(self.choices)}")
        return value


@dataclasses.dataclass(frozen=True)
class LabelsSpec(Spec):
    """A tuple of names along one named dimension; an `optional` one may be empty where that is not.

    `distinct`: no name may occur twice. `spoken`: the names are for people alone, the question is the same without
    them: they are in files and in comparisons, but not in hashes.
    """

    dim: str = ""
    optional: bool = False
    distinct: bool = True
    spoken: bool = False

    def form(self) -> str:
        return f"names, {self.dim}{'; may be left out' if self.optional else ''}"

    def check(self, name: str, value: Any, dims: dict[str, int]) -> tuple[str, ...]:
        if self.optional and isinstance(value, (list, tuple)) and not value:
            return ()
        if not isinstance(value, (list, tuple)) or not all(isinstance(v, str) for v in value):
            raise fail(name, value, "must be a list of strings")
        if self.distinct and len(set(value)) != len(value):
            raise fail(name, list(value), "must not name anything twice")
        if self.spoken and not all(v.isprintable() for v in value):
            raise fail(name, list(value), "must be printable names")
        if dims.setdefault(self.dim, len(value)) != len(value):
            raise fail(name, list(value), f"must have {dims[self.dim]} entries (the number of {self.dim})")
        return tuple(value)

    def implied(self, value: Any, default: Any, dims: dict[str, int]) -> bool:
        if value or not self.optional:
            dims[self.dim] = len(value)
        return bool(value == default)

    def to_json(self, value: Any) -> Any:
        return list(value)


@dataclasses.dataclass(frozen=True)
class RecordSpec(Spec):
    """A record inside a record; from a file it comes as that record's own JSON. An `optional` one may be None."""

    of: Any = None
    optional: bool = False

    def form(self) -> str:
        return f"{self.of.kind}{' or none' if self.optional else ''}"

    def check(self, name: str, value: Any, dims: dict[str, int]) -> Any:
        if value is None and self.optional:
            return None
        if isinstance(value, dict):
            kind, version = value.get("kind"), value.get("version")
            if (kind, version) != (self.of.kind, self.of.version):
                raise fail(name, (kind, version), f"must be {a_or_an(self.of.kind)} of version {self.of.version}")
            try:
                return self.of.from_json(value)
            except InvalidInput as error:
                raise InvalidInput(f"{name}: {error}") from None
        if type(value) is not self.of:
            raise fail(name, type(value).__name__, f"must be {a_or_an(self.of.kind)}")
        return value

    def to_json(self, value: Any) -> Any:
        return None if value is None else value.to_json()


def array(*shape: str, low: int = 0, high: int = EXACT, fill: int | None = None, doc: str = "") -> Any:
    """Declare an int64 array field of the named dimensions, all entries in [low, high]; `fill` makes it optional."""
    default = dataclasses.MISSING if fill is None else ()
    return dataclasses.field(default=default, metadata={"spec": ArraySpec(doc, shape, low, high, fill)})


def integer(*, low: int = 0, high: int = EXACT, default: Any = dataclasses.MISSING, doc: str = "") -> Any:
    """Declare an integer field within [low, high]; one with a default may be left out."""
    return dataclasses.field(default=default, metadata={"spec": IntSpec(doc, low, high)})


def text(*, choices: tuple[str, ...] = (), default: Any = dataclasses.MISSING, doc: str = "") -> Any:
    """Declare a string field, one of `choices` if given."""
    return dataclasses.field(default=default, metadata={"spec": TextSpec(doc, choices)})


def labels(
    dim: str, *, default: Any = dataclasses.MISSING, distinct: bool = True, spoken: bool = False, doc: str = ""
) -> Any:
    """Declare a tuple of names, one an entry of the named dimension; with a default, it may be left out.

    `distinct`, `spoken`: see `LabelsSpec`.
    """
    spec = LabelsSpec(doc, dim, default == (), distinct, spoken)
    return dataclasses.field(default=default, metadata={"spec": spec})


def record(of: Any, *, optional: bool = False, doc: str = "") -> Any:
    """Declare a field that holds another record, of class `of`; an optional one may be None, and is then left out."""
    default = None if optional else dataclasses.MISSING
    return dataclasses.field(default=default, metadata={"spec": RecordSpec(doc, of, optional)})
