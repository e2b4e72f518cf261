"""Field specifications of instances and plans.

A record (`core/record.py`) declares its fields with the functions below. The same declaration validates values from
research code and from JSON files, and documents shape, range and unit. Errors are one sentence with field, value and
rule.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mlsched.core.errors import InvalidInput, with_article

if TYPE_CHECKING:
    from mlsched.core.record import Record

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

#: Largest magnitude of an integer in a record: a float64, as used by MIP solvers, is exact up to here.
EXACT = 2**53
#: Value of an unlimited integer limit.
UNLIMITED = 2**31 - 1


def ints(values: Iterable[int]) -> IntArray:
    """Convert `values` to an int64 array for a record."""
    return np.array(list(values), dtype=np.int64)


def field_error(field: str, value: object, rule: str) -> InvalidInput:
    """Return the error for an invalid value: field, shortened value and rule."""
    try:
        text = repr(value)
    except ValueError:  # an integer of thousands of digits
        text = "a number of thousands of digits"
    return InvalidInput(f"{field}: {text if len(text) <= 60 else text[:57] + '...'}, {rule}")


def refuse_first(
    wrong: npt.NDArray[np.bool_], name: str, values: npt.NDArray[np.int64], rule: str, *, shift: int = 0
) -> None:
    """Raise InvalidInput for the first entry of `values` that is marked in `wrong`.

    Args:
        wrong: Marks of the invalid entries, in the shape of `values`.
        name: Name of the field.
        values: Entries of the field.
        rule: The violated rule.
        shift: Number added to the last index in the message.
    """
    if wrong.any():
        index = tuple(int(i) for i in np.argwhere(wrong)[0])
        place = "".join(f"[{i}]" for i in (*index[:-1], index[-1] + shift))
        raise InvalidInput(f"{name}{place}: {int(values[index])}, {rule}")


def refuse_falling(name: str, times: IntArray) -> None:
    """Raise InvalidInput for the first entry of `times` that is earlier than its predecessor."""
    decreases = np.flatnonzero(np.diff(times) < 0)
    if decreases.size:
        k = int(decreases[0]) + 1
        raise InvalidInput(f"{name}[{k}]: {times[k]}, expected at least {name}[{k - 1}] = {times[k - 1]}")


def as_int(field: str, value: object) -> int:
    """Return `value` as a Python int; reject booleans, floats and strings instead of rounding."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise field_error(field, value, "expected an integer")
    return int(value)


@dataclasses.dataclass(frozen=True)
class Spec:
    """Base class of field specifications; `doc` states meaning and unit."""

    doc: str = ""

    def check(self, name: str, value: object, dims: dict[str, int]) -> Any:
        """Return the value in canonical form or raise InvalidInput; `dims` collects the sizes of named dimensions."""
        raise NotImplementedError  # pragma: no cover - every subclass defines it

    def implied(self, value: object, default: object, dims: dict[str, int]) -> bool:
        """Return whether a checked `value` equals the default of an omitted field (`Record`).

        Args:
            value: The checked value.
            default: The default of the field.
            dims: Sizes of named dimensions from earlier fields, as in `check`; the field's own are added.
        """
        return bool(value == default)

    def to_json(self, value: object) -> Any:
        """Return the value as plain JSON data."""
        return value

    def form(self) -> str:
        """Describe type, shape and range in a few words for documentation."""
        return "value"


def _range_text(low: int, high: int) -> str:
    """Format the range for documentation, without limits that mean "unlimited"."""
    lowest, highest = low > -EXACT, high < UNLIMITED
    if lowest and highest:
        return f", {low} to {high}"
    return f", >= {low}" if lowest else f", <= {high}" if highest else ""


def _range_rule(low: int, high: int) -> str:
    if high >= EXACT:
        return f"expected >= {low} and at most 2^53" if low > -EXACT else f"expected below 2^53 in magnitude ({EXACT})"
    return f"expected between {low} and {high}"


#: Up to this size, Python's min and max are faster than NumPy's.
SMALL_SIZE = 64


@dataclasses.dataclass(frozen=True)
class ArraySpec(Spec):
    """Read-only int64 array with named dimensions; equal names mean equal sizes within one record.

    A field with a `fill` may be omitted. It is then filled with that value, in the size given by earlier fields.
    """

    shape: tuple[str, ...] = ()
    low: int = 0
    high: int = EXACT
    fill: int | None = None

    def form(self) -> str:
        omission = "" if self.fill is None else f"; {self.fill} where left out"
        return f"int64 array, {' x '.join(self.shape)}{_range_text(self.low, self.high)}{omission}"

    def check(self, name: str, value: object, dims: dict[str, int]) -> IntArray:
        if self.fill is not None and isinstance(value, tuple) and not value:
            array = np.full(tuple(dims.get(d, 0) for d in self.shape), self.fill, dtype=np.int64)
        else:
            array = self._as_array(name, value, dims)
        for axis, (dim, size) in enumerate(zip(self.shape, array.shape, strict=True)):
            if dims.setdefault(dim, size) != size:
                where = "length" if array.ndim == 1 else f"length of dimension {axis}"
                raise InvalidInput(f"{name}: {where} is {size}, expected {dims[dim]} (the number of {dim})")
        if array.size <= SMALL_SIZE:
            entries = array.ravel().tolist()
            within_range = not entries or (self.low <= min(entries) and max(entries) <= self.high)
        else:
            within_range = bool(array.min() >= self.low and array.max() <= self.high)
        if not within_range:
            outside = (array < self.low) | (array > self.high)
            index = tuple(int(i) for i in np.argwhere(outside)[0])
            place = name + "".join(f"[{i}]" for i in index)
            raise field_error(place, int(array[index]), _range_rule(self.low, self.high))
        array.setflags(write=False)
        return array

    def implied(self, value: Any, default: Any, dims: dict[str, int]) -> bool:
        """Return whether `value` consists of the field's `fill`, in the size that earlier fields give (`dims`).

        A longer array must be written because its length could not be restored.
        """
        expected_shape = tuple(dims.get(d, 0) for d in self.shape)
        dims |= zip(self.shape, value.shape, strict=True)
        # An array without rows is written as [] and read back in the known size.
        same_shape = value.shape == expected_shape or not (len(value) or expected_shape[0])
        return self.fill is not None and same_shape and bool((value == self.fill).all())

    def _as_array(self, name: str, value: object, dims: dict[str, int]) -> IntArray:
        """Return a private int64 copy; reject floats, which would be truncated silently."""
        ndim = len(self.shape)
        if type(value) is np.ndarray and value.dtype == np.int64 and value.ndim == ndim and value.size:
            return value.copy()
        if not isinstance(value, (np.ndarray, list, tuple)):
            raise field_error(
                name, value, f"expected a list of integers ({ndim}-dimensional: {' x '.join(self.shape)})"
            )
        try:
            array = np.array(value)
        except ValueError:
            raise InvalidInput(f"{name}: rows have different lengths, expected {' x '.join(self.shape)}") from None
        if array.size == 0:
            # [] does not state its dimensions: use the sizes of earlier fields, or 0 if they are unknown.
            shape = array.shape if array.ndim == ndim else tuple(dims.get(d, 0) for d in self.shape)
            if math.prod(shape):
                raise InvalidInput(f"{name}: is empty, expected {' x '.join(self.shape)} = {shape}")
            return np.zeros(shape, dtype=np.int64)
        if array.ndim != ndim:
            raise InvalidInput(f"{name}: has {array.ndim} dimension(s), expected {ndim}: {' x '.join(self.shape)}")
        # NumPy converts [1, True] to integers silently, so the items of a list are checked.
        hides_bool = not isinstance(value, np.ndarray) and bool in set(map(type, np.array(value, dtype=object).flat))
        if array.dtype.kind not in "iu" or array.dtype == np.uint64 or hides_bool:
            for index, item in np.ndenumerate(np.array(value, dtype=object)):
                as_int(name + "".join(f"[{i}]" for i in index), item)
                if not -EXACT <= item <= EXACT:
                    raise field_error(name + "".join(f"[{i}]" for i in index), item, _range_rule(self.low, self.high))
        return array.astype(np.int64)

    def to_json(self, value: Any) -> Any:
        return value.tolist()


@dataclasses.dataclass(frozen=True)
class IntSpec(Spec):
    """One integer within a closed range."""

    low: int = 0
    high: int = EXACT

    def form(self) -> str:
        return f"integer{_range_text(self.low, self.high)}"

    def check(self, name: str, value: object, dims: dict[str, int]) -> int:
        number = as_int(name, value)
        if not self.low <= number <= self.high:
            raise field_error(name, number, _range_rule(self.low, self.high))
        return number


@dataclasses.dataclass(frozen=True)
class TextSpec(Spec):
    """String, limited to `choices` if there are any."""

    choices: tuple[str, ...] = ()

    def form(self) -> str:
        return " or ".join(repr(choice) for choice in self.choices) or "text"

    def check(self, name: str, value: object, dims: dict[str, int]) -> str:
        if not isinstance(value, str):
            raise field_error(name, value, "expected a string")
        if self.choices and value not in self.choices:
            raise field_error(name, value, f"expected one of {', '.join(self.choices)}")
        return value


@dataclasses.dataclass(frozen=True)
class LabelsSpec(Spec):
    """Tuple of names along one named dimension.

    Attributes:
        dim: Name of the dimension.
        optional: The tuple may be empty although the dimension is not.
        distinct: Names must be unique.
        display_only: Names are shown to people and do not change the problem: they enter files and comparisons, but not
            hashes.
    """

    dim: str = ""
    optional: bool = False
    distinct: bool = True
    display_only: bool = False

    def form(self) -> str:
        return f"names, {self.dim}{'; may be left out' if self.optional else ''}"

    def check(self, name: str, value: object, dims: dict[str, int]) -> tuple[str, ...]:
        if self.optional and isinstance(value, (list, tuple)) and not value:
            return ()
        if not isinstance(value, (list, tuple)) or not all(isinstance(v, str) for v in value):
            raise field_error(name, value, "expected a list of strings")
        if self.distinct and len(set(value)) != len(value):
            raise field_error(name, list(value), "must not name anything twice")
        if self.display_only and not all(v.isprintable() for v in value):
            raise field_error(name, list(value), "expected printable names")
        if dims.setdefault(self.dim, len(value)) != len(value):
            raise field_error(name, list(value), f"expected {dims[self.dim]} entries (the number of {self.dim})")
        return tuple(value)

    def implied(self, value: Any, default: Any, dims: dict[str, int]) -> bool:
        if value or not self.optional:
            dims[self.dim] = len(value)
        return bool(value == default)

    def to_json(self, value: Any) -> Any:
        return list(value)


@dataclasses.dataclass(frozen=True)
class RecordSpec(Spec):
    """Record inside a record, written as that record's own JSON; an `optional` record may be None."""

    of: Any = None
    optional: bool = False

    def form(self) -> str:
        return f"{self.of.kind}{' or none' if self.optional else ''}"

    def check(self, name: str, value: object, dims: dict[str, int]) -> Any:
        if value is None and self.optional:
            return None
        if isinstance(value, dict):
            kind, version = value.get("kind"), value.get("version")
            if (kind, version) != (self.of.kind, self.of.version):
                raise field_error(
                    name, (kind, version), f"expected {with_article(self.of.kind)} of version {self.of.version}"
                )
            try:
                return self.of.from_json(value)
            except InvalidInput as error:
                raise InvalidInput(f"{name}: {error}") from None
        if type(value) is not self.of:
            raise field_error(name, type(value).__name__, f"expected {with_article(self.of.kind)}")
        return value

    def to_json(self, value: Any) -> Any:
        return None if value is None else value.to_json()


def array(*shape: str, low: int = 0, high: int = EXACT, fill: int | None = None, doc: str = "") -> Any:
    """Declare an int64 array field with entries in [low, high].

    Args:
        shape: Names of the dimensions.
        low: Least entry.
        high: Greatest entry.
        fill: Value of all entries of an omitted field; None if the field is required.
        doc: Meaning and unit.
    """
    default = dataclasses.MISSING if fill is None else ()
    return dataclasses.field(default=default, metadata={"spec": ArraySpec(doc, shape, low, high, fill)})


def integer(*, low: int = 0, high: int = EXACT, default: int | None = None, doc: str = "") -> Any:
    """Declare an integer field within [low, high]; a field with a default may be omitted."""
    value = dataclasses.MISSING if default is None else default
    return dataclasses.field(default=value, metadata={"spec": IntSpec(doc, low, high)})


def text(*, choices: tuple[str, ...] = (), default: Any = dataclasses.MISSING, doc: str = "") -> Any:
    """Declare a string field, limited to `choices` if there are any."""
    return dataclasses.field(default=default, metadata={"spec": TextSpec(doc, choices)})


def labels(
    dim: str, *, default: tuple[()] | None = None, distinct: bool = True, display_only: bool = False, doc: str = ""
) -> Any:
    """Declare a field of names, one per entry of the dimension `dim`; a field with a default may be omitted.

    Args:
        dim: Name of the dimension.
        default: Value of an omitted field.
        distinct: Names must be unique.
        display_only: Names are for display and do not enter hashes.
        doc: Meaning of the names.
    """
    spec = LabelsSpec(doc, dim, default == (), distinct, display_only)
    value = dataclasses.MISSING if default is None else default
    return dataclasses.field(default=value, metadata={"spec": spec})


def record(of: type[Record], *, optional: bool = False, doc: str = "") -> Any:
    """Declare a field with a record of class `of`; an optional field may be None and is then omitted from files."""
    default = None if optional else dataclasses.MISSING
    return dataclasses.field(default=default, metadata={"spec": RecordSpec(doc, of, optional)})
