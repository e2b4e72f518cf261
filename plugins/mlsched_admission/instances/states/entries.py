"""Fields of somebody else's JSON, read one by one: what is wrong is said with file, object, field, value and rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from mlsched.core.errors import InvalidFile, shorten
from mlsched.core.fields import EXACT


class Entry:
    """One object of a document, and where it stands.

    Fields are named by the keys that lead to them. What is absent, null, and what an empty object says are the same:
    the default. Nothing of another type is converted silently.
    """

    __slots__ = ("value", "where")

    def __init__(self, value: dict[str, Any], where: str) -> None:
        self.value, self.where = value, where

    def fail(self, problem: str, remedy: str = "") -> NoReturn:
        """Refuse the object."""
        raise InvalidFile(f"{self.where}: {problem}" + (f"; {remedy}" if remedy else "")) from None

    def bad(self, keys: tuple[str, ...], value: object, rule: str, remedy: str = "") -> NoReturn:
        """Refuse one field of it."""
        self.fail(f"{'.'.join(keys)}: {shorten(repr(value), 60)}, {rule}", remedy)

    def get(self, *keys: str) -> Any:
        """What stands there; None where nothing does."""
        value: Any = self.value
        for depth, key in enumerate(keys):
            if value is None:
                return None
            if not isinstance(value, dict):
                self.bad(keys[:depth], value, "expected an object")
            value = value.get(key)
        return value

    def text(self, *keys: str, default: str = "") -> str:
        """A text; it ends up in one-line reports, so it must be printable."""
        value = self.get(*keys)
        if value is None:
            return default
        if not isinstance(value, str) or not value.isprintable():
            self.bad(keys, value, "expected printable text")
        return value

    def needed(self, *keys: str, remedy: str = "") -> str:
        """A text that must be there."""
        value = self.text(*keys)
        if not value:
            self.fail(f"has no {'.'.join(keys)}", remedy or "give the object as the cluster printed it")
        return value

    def whole(self, *keys: str, default: int = 0, low: int = -EXACT) -> int:
        """An integer within what instances hold."""
        value = self.get(*keys)
        if value is None:
            return default
        if type(value) is not int or not low <= value <= EXACT:
            self.bad(keys, value, f"expected an integer >= {low}" if low > -EXACT else "expected an integer below 2^53")
        return value

    def flag(self, *keys: str) -> bool:
        """Whether it is true; absent is false."""
        value = self.get(*keys)
        if value is None:
            return False
        if type(value) is not bool:
            self.bad(keys, value, "expected true or false")
        return value

    def under(self, *keys: str) -> Entry:
        """The object that stands there, an empty one where none does."""
        value = self.get(*keys)
        if value is None:
            value = {}
        if not isinstance(value, dict):
            self.bad(keys, value, "expected an object")
        return Entry(value, f"{self.where}, {'.'.join(keys)}")

    def entries(self, *keys: str) -> Iterator[Entry]:
        """The objects of the list that stands there; none where there is no list."""
        for index, item in enumerate(self.items(*keys)):
            if not isinstance(item, dict):
                self.bad((*keys, str(index)), item, "expected an object")
            yield Entry(item, f"{self.where}, {'.'.join(keys)}[{index}]")

    def items(self, *keys: str) -> list[Any]:
        """The list that stands there; an empty one where none does."""
        value = self.get(*keys)
        if value is None:
            return []
        if not isinstance(value, list):
            self.bad(keys, value, "expected a list")
        return value

    def texts(self, *keys: str) -> list[str]:
        """A list of texts."""
        values = self.items(*keys)
        for value in values:
            if not isinstance(value, str) or not value.isprintable():
                self.bad(keys, value, "expected a list of printable texts")
        return values

    def mapping(self, *keys: str) -> dict[str, str]:
        """Texts by name: labels, annotations, quantities as they are written (numbers become their text)."""
        value = self.get(*keys)
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.bad(keys, value, "expected an object of texts")
        found: dict[str, str] = {}
        for name, item in value.items():
            if type(item) not in (str, int, float):
                self.bad((*keys, name), item, "expected a text")
            found[name] = str(item)
        return found
