"""A mapping that is filled part by part, so that looking up one problem imports that problem alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Gathered(MutableMapping[K, V]):
    """Looking a key up fills its part; going through all keys fills every part.

    parts: the names of all parts. part_of: the part in which a key is. gather: the entries of a part, asked once.
    alone: one entry of a part that is not filled yet, None where it is not found so; the part then has this very entry.
    Keys come sorted, whichever part was filled first.
    """

    def __init__(
        self,
        parts: Callable[[], Iterable[str]],
        part_of: Callable[[K], str],
        gather: Callable[[str], dict[K, V]],
        alone: Callable[[K], V | None] = lambda key: None,
    ) -> None:
        self._parts, self._part_of, self._gather, self._find = parts, part_of, gather, alone
        self._filled: dict[str, dict[K, V]] = {}
        self._alone: dict[K, V] = {}
        self._lock = threading.RLock()

    def part(self, name: str) -> dict[K, V]:
        """The entries of one part; none where there is no such part."""
        with self._lock:
            if name not in self._filled:
                self._filled[name] = {key: self._alone.get(key, value) for key, value in self._gather(name).items()}
            return self._filled[name]

    def __getitem__(self, key: K) -> V:
        with self._lock:
            if self._part_of(key) in self._filled:
                return self._filled[self._part_of(key)][key]
            if key not in self._alone and (found := self._find(key)) is not None:
                self._alone[key] = found
            return self._alone[key] if key in self._alone else self.part(self._part_of(key))[key]

    def __setitem__(self, key: K, value: V) -> None:
        self.part(self._part_of(key))[key] = value

    def __delitem__(self, key: K) -> None:
        del self.part(self._part_of(key))[key]

    def __iter__(self) -> Iterator[K]:
        names = {*self._parts(), *self._filled}
        keys: list[Any] = [key for name in names for key in self.part(name)]
        return iter(sorted(keys))

    def __len__(self) -> int:
        return sum(1 for _ in self)
