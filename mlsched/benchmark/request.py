"""What a run asked for, kept in its store: by this, parts of a suite are known to belong together."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

from mlsched.benchmark.row import Key, canonical
from mlsched.benchmark.shards import Shard
from mlsched.benchmark.tasks import Asked

_FIELDS = {"suite": str, "fingerprint": str, "settings": dict, "total": int, "shards": list, "places": dict}


@dataclasses.dataclass(frozen=True)
class Request:
    """What a suite was asked.

    fingerprint: a digest of every question, solver, parameter and limit of the whole suite, whatever their order.
    settings: what the call said, by which people recognise a difference. total: rows of the whole suite. shards: the
    parts (I, N) that were asked, (1, 1) for all. places: digest of a row's key -> its place in the suite, for the rows
    of these parts.
    """

    suite: str
    fingerprint: str
    settings: dict[str, Any]
    total: int
    shards: tuple[Shard, ...]
    places: dict[str, int]

    def to_json(self) -> str:
        """The request as a store keeps it."""
        return json.dumps(dataclasses.asdict(self), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Request:
        """A request as a store has it; ValueError for anything else."""
        said = json.loads(text)
        if not isinstance(said, dict) or {name: type(value) for name, value in said.items()} != _FIELDS:
            raise ValueError(f"a request has exactly {', '.join(_FIELDS)}")
        shards = tuple((number, count) for number, count in said.pop("shards"))
        numbers = [*said["places"].values(), said["total"], *(number for shard in shards for number in shard)]
        if not all(type(number) is int for number in numbers):
            raise ValueError("places and shards are numbers")
        return cls(shards=shards, **said)

    def joined(self, other: Request) -> Request:
        """This request, with the parts and places of another one too."""
        return dataclasses.replace(
            self, shards=tuple(sorted({*self.shards, *other.shards})), places={**other.places, **self.places}
        )

    @property
    def absent(self) -> list[Shard]:
        """The parts that were not asked, where all parts are of the same division; else none can be named."""
        counts = {count for _, count in self.shards}
        if len(counts) != 1:
            return []
        (count,) = counts
        asked = {number for number, _ in self.shards}
        return [(number, count) for number in range(1, count + 1) if number not in asked]


def request_of(
    suite: str, tasks: Sequence[Asked], part: Sequence[Asked], shard: Shard | None, settings: dict[str, Any]
) -> Request:
    """The request for `part` of all `tasks` of a suite."""
    lines = sorted(canonical({"keys": sorted(map(list, task.keys)), **task.limits}) for task in tasks)
    places = {key: place for place, key in enumerate(keys_of(tasks))}
    return Request(
        suite=suite,
        fingerprint=hashlib.sha256("\n".join(lines).encode()).hexdigest(),
        settings=settings,
        total=len(places),
        shards=(shard or (1, 1),),
        places={digest(key): places[key] for key in keys_of(part)},
    )


def keys_of(tasks: Iterable[Asked]) -> list[Key]:
    """The keys of the rows that the tasks make, each once, in order."""
    return list(dict.fromkeys(key for task in tasks for key in task.keys))


def digest(key: Key) -> str:
    """A row's key in 16 digits."""
    return hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]
