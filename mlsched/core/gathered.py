"""A mapping that is filled part by part, so that looking up one problem imports that problem alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Gathered(MutableMapping[K, V]):
    """Looking a key up fills its part; going through all keys fills every part.

    parts: the names of all parts. part_of: the part in which a key is. gather: the entries of a part, asked once. Keys
    come sorted, whichever part was filled first.
    """

    def __init__(
        self, parts: Callable[[], Iterable[str]], part_of: Callable[[K], str], gather: Callable[[str], dict[K, V]]
    ) -> None:
        self._parts, self._part_of, self._gather = parts, part_of, gather
        self._filled: dict[str, dict[K, V]] = {}
        self._lock = threading.RLock()

    def part(self, name: str) -> dict[K, V]:
        """The entries of one part; none where there is no such part."""
        with self._lock:
            if name not in self._filled:
                self._filled[name] = self._gather(name)
            return self._filled[name]

    def __getitem__(self, key: K) -> V:
        return self.part(self._part_of(key))[key]

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
