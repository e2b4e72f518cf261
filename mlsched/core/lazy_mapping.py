"""Mapping that is filled part by part, so that looking up one problem imports only that problem."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LazyMapping(MutableMapping[K, V]):
    """Mapping whose parts are filled on demand: a look-up fills one part, an iteration fills every part.

    Keys are sorted, independent of the order in which parts are filled.
    """

    def __init__(
        self,
        parts: Callable[[], Iterable[str]],
        part_of: Callable[[K], str],
        load_part: Callable[[str], dict[K, V]],
        alone: Callable[[K], V | None] = lambda key: None,
    ) -> None:
        self._parts, self._part_of, self._gather, self._find = parts, part_of, load_part, alone
        self._filled: dict[str, dict[K, V]] = {}
        self._alone: dict[K, V] = {}
        self._lock = threading.RLock()

    def part(self, name: str) -> dict[K, V]:
        """Return the entries of one part; empty for an unknown part."""
        with self._lock:
            if name not in self._filled:
                self._filled[name] = {key: self._alone.get(key, value) for key, value in self._gather(name).items()}
            return self._filled[name]

    def __getitem__(self, key: K) -> V:
        with self._lock:
            if self._part_of(key) in self._filled:
                return self._filled[self._part_of(key)][key]
            if key not in self._alone and (value := self._find(key)) is not None:
                self._alone[key] = value
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
