"""Fields of foreign JSON, read one by one: errors name file, object, field, value and rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from mlsched.core.aliases import Data
from mlsched.core.errors import InvalidFile, shorten
from mlsched.core.fields import EXACT


class Entry:
    """One object of a document, and its place.

    Fields are named by the keys that lead to them. Absent fields, null, and fields of an empty object are equal: the
    default. Values of another type are never converted silently.
    """

    __slots__ = ("value", "where")

    def __init__(self, value: Data, where: str) -> None:
        self.value, self.where = value, where

    def fail(self, problem: str, remedy: str = "") -> NoReturn:
        """Raise InvalidFile about the object."""
        raise InvalidFile(f"{self.where}: {problem}" + (f"; {remedy}" if remedy else "")) from None

    def bad(self, keys: tuple[str, ...], value: object, rule: str, remedy: str = "") -> NoReturn:
        """Raise InvalidFile about the value of the field at `keys`: it breaks `rule`."""
        self.fail(f"{'.'.join(keys)}: {shorten(repr(value), 60)}, {rule}", remedy)

    def get(self, *keys: str) -> Any:
        """Return the value of a field; None if it is absent."""
        value: Any = self.value
        for depth, key in enumerate(keys):
            if value is None:
                return None
            if not isinstance(value, dict):
                self.bad(keys[:depth], value, "expected an object")
            value = value.get(key)
        return value

    def text(self, *keys: str, default: str = "") -> str:
        """Return a text; it is printed in one-line reports, so it must be printable."""
        value = self.get(*keys)
        if value is None:
            return default
        if not isinstance(value, str) or not value.isprintable():
            self.bad(keys, value, "expected printable text")
        return value

    def needed(self, *keys: str, remedy: str = "") -> str:
        """Return a required text."""
        value = self.text(*keys)
        if not value:
            self.fail(f"{'.'.join(keys)} is missing", remedy or "give the object as the cluster printed it")
        return value

    def whole(self, *keys: str, default: int = 0, low: int = -EXACT) -> int:
        """Return an integer within the limits of instances."""
        value = self.get(*keys)
        if value is None:
            return default
        if type(value) is not int or not low <= value <= EXACT:
            self.bad(keys, value, f"expected an integer >= {low}" if low > -EXACT else "expected an integer below 2^53")
        return value

    def flag(self, *keys: str) -> bool:
        """Return whether the field is true; absent is false."""
        value = self.get(*keys)
        if value is None:
            return False
        if type(value) is not bool:
            self.bad(keys, value, "expected true or false")
        return value

    def under(self, *keys: str) -> Entry:
        """Return the object in a field, or an empty one."""
        value = self.get(*keys)
        if value is None:
            value = {}
        if not isinstance(value, dict):
            self.bad(keys, value, "expected an object")
        return Entry(value, f"{self.where}, {'.'.join(keys)}")

    def entries(self, *keys: str) -> Iterator[Entry]:
        """Yield the objects of the list in a field; an absent list is empty."""
        for index, item in enumerate(self.items(*keys)):
            if not isinstance(item, dict):
                self.bad((*keys, str(index)), item, "expected an object")
            yield Entry(item, f"{self.where}, {'.'.join(keys)}[{index}]")

    def items(self, *keys: str) -> list[Any]:
        """Return the list in a field, or an empty one."""
        value = self.get(*keys)
        if value is None:
            return []
        if not isinstance(value, list):
            self.bad(keys, value, "expected a list")
        return value

    def texts(self, *keys: str) -> list[str]:
        """Return a list of texts."""
        values = self.items(*keys)
        for value in values:
            if not isinstance(value, str) or not value.isprintable():
                self.bad(keys, value, "expected a list of printable texts")
        return values

    def mapping(self, *keys: str) -> dict[str, str]:
        """Return texts by name: labels, annotations, quantities as written (numbers become their text)."""
        value = self.get(*keys)
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.bad(keys, value, "expected an object of texts")
        texts: dict[str, str] = {}
        for name, item in value.items():
            if type(item) not in (str, int, float):
                self.bad((*keys, name), item, "expected a text")
            texts[name] = str(item)
        return texts
