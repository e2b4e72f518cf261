"""Fields of the files of results, fronts and runs: each is taken once and checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from mlsched.core.contract import Instance, Plan
from mlsched.core.errors import InvalidInput, shorten
from mlsched.core.fields import IntArray
from mlsched.core.files import check_header
from mlsched.core.record import Record
from mlsched.core.registry import registry


class Fields:
    """Fields of a JSON object, each taken once and checked; remaining fields are rejected at the end.

    `defaults` has the values of fields that may be omitted.
    """

    def __init__(self, data: object, where: str = "", defaults: Mapping[str, object] = MappingProxyType({})) -> None:
        if not isinstance(data, dict):
            raise InvalidInput(f"{where or 'the document'}: expected a JSON object")
        self.data, self.where, self.defaults = dict(data), f"{where}: " if where else "", defaults

    def wrong(self, name: str, value: object, rule: str) -> InvalidInput:
        return InvalidInput(f"{self.where}{name}: {shorten(repr(value))}, {rule}")

    def any(self, name: str) -> Any:
        """Take a field without a check."""
        if name not in self.data and name not in self.defaults:
            raise InvalidInput(f"{self.where}{name}: is missing")
        return self.data.pop(name) if name in self.data else self.defaults[name]

    def text(self, name: str, choices: tuple[str, ...] = (), none: bool = False) -> Any:
        value = self.any(name)
        if (value is None and none) or (isinstance(value, str) and (not choices or value in choices)):
            return value
        raise self.wrong(name, value, f"expected {'one of ' + ', '.join(choices) if choices else 'text'}")

    def integer(self, name: str, none: bool = False) -> Any:
        value = self.any(name)
        if (value is None and none) or (type(value) is int and abs(value) < 2**62):
            return value
        raise self.wrong(name, value, "expected an integer")

    def number(self, name: str, none: bool = False, low: float = -math.inf) -> Any:
        value = self.any(name)
        if (value is None and none) or (type(value) in (int, float) and low <= value and abs(value) < 2.0**1000):
            return value
        raise self.wrong(name, value, "expected a number" + (f" >= {low:g}" if low > -math.inf else ""))

    def integers(self, name: str, none: bool = False) -> Any:
        """Take a tuple of integers below 2^62 in magnitude; with `none`, some may be null."""
        value = self.any(name)
        valid = isinstance(value, list) and all(
            (v is None and none) or (type(v) is int and abs(v) < 2**62) for v in value
        )
        if not valid:
            raise self.wrong(name, value, "expected a list of integers")
        return tuple(value)

    def texts(self, name: str) -> tuple[str, ...]:
        value = self.any(name)
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            raise self.wrong(name, value, "expected a list of texts")
        return tuple(value)

    def elements(self, name: str) -> list[Any]:
        """Take a list of anything."""
        value = self.any(name)
        if not isinstance(value, list):
            raise self.wrong(name, value, "expected a list")
        return value

    def rows(self, name: str, width: int) -> list[tuple[Any, ...]]:
        """Take a list of lists of `width` integers each, some of which may be null."""
        return [self._row(value, width) for value in self.elements(name)]

    def matrix(self, name: str, width: int) -> IntArray:
        """Take a list of lists of `width` integers each, without null."""
        rows = self.rows(name, width)
        if any(v is None for row in rows for v in row):
            raise InvalidInput(f"{self.where}{name}: expected integers")
        return np.array(rows, dtype=np.int64).reshape(len(rows), width)

    def row(self, name: str, width: int) -> tuple[Any, ...] | None:
        """Take `width` integers, some of which may be null; or null."""
        value = self.any(name)
        return None if value is None else self._row(value, width)

    def _row(self, value: object, width: int) -> tuple[Any, ...]:
        row: tuple[Any, ...] = Fields({"row": value}, self.where.removesuffix(": ")).integers("row", none=True)
        if len(row) != width:
            raise self.wrong("row", value, f"expected {width} entries")
        return row

    def mapping(self, name: str, *kinds: type) -> dict[str, Any]:
        """Take a JSON object whose values are of these types."""
        value = self.any(name)
        if not isinstance(value, dict) or not all(type(v) in kinds for v in value.values()):
            raise self.wrong(name, value, f"expected an object of {' or '.join(k.__name__ for k in kinds)}")
        return value

    def inner(self, name: str) -> Fields:
        """Take a JSON object as further fields."""
        return Fields(self.any(name), f"{self.where}{name}")

    def record(self, name: str, types: dict[str, type[Record]]) -> Any:
        """Take an instance, plan or workload of one of these kinds."""
        value = self.any(name)
        if not isinstance(value, dict):
            raise self.wrong(name, value, "expected a JSON object")
        try:
            kind = check_header(f"{self.where}{name}", value, {k: t.version for k, t in types.items()})
            return types[kind].from_json(value)
        except InvalidInput as error:
            text = str(error)
            raise InvalidInput(text if text.startswith(name) else f"{self.where}{name}: {text}") from None

    def instance(self) -> Instance:
        """Take the instance beside an answer, of any problem."""
        types = [t for p in registry().problems.values() for t in p.instance_types]
        instance: Instance = self.record("instance", {t.kind: t for t in types})
        return instance

    def plan(self, instance: Instance) -> Plan:
        """Take a plan for `instance`."""
        plan: Plan = self.record("plan", {instance.plan_type.kind: instance.plan_type})
        return plan

    def end(self) -> None:
        """Raise InvalidInput for a field that was not taken."""
        if self.data:
            raise InvalidInput(f"{self.where}{next(iter(self.data))}: unknown field")
