"""Request of a run, kept in its store: it identifies the parts of a suite that belong together."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Sequence

from mlsched.benchmark.row import Key, canonical_json
from mlsched.benchmark.shards import Shard
from mlsched.benchmark.tasks import RowTask
from mlsched.core.aliases import Data

_FIELDS = {"suite": str, "fingerprint": str, "settings": dict, "total": int, "shards": list, "places": dict}


@dataclasses.dataclass(frozen=True)
class Request:
    """Request of a suite.

    Attributes:
        suite: Name of the suite.
        fingerprint: Digest of all calls, parameters and limits of the complete suite, in any order.
        settings: Arguments of the call, in which people recognise a difference.
        total: Number of rows of the complete suite.
        shards: Parts (I, N) that were run; (1, 1) for all.
        places: Digest of a row's key -> its place in the suite, for the rows of these parts.
    """

    suite: str
    fingerprint: str
    settings: Data
    total: int
    shards: tuple[Shard, ...]
    places: dict[str, int]

    def to_json(self) -> str:
        """Return the request as stored."""
        return json.dumps(dataclasses.asdict(self), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Request:
        """Parse a stored request; raise ValueError for anything else."""
        data = json.loads(text)
        if not isinstance(data, dict) or {name: type(value) for name, value in data.items()} != _FIELDS:
            raise ValueError(f"a request has exactly {', '.join(_FIELDS)}")
        shards = tuple((number, count) for number, count in data.pop("shards"))
        numbers = [*data["places"].values(), data["total"], *(number for shard in shards for number in shard)]
        if not all(type(number) is int for number in numbers):
            raise ValueError("places and shards are numbers")
        return cls(shards=shards, **data)

    def joined(self, other: Request) -> Request:
        """Return this request, with the parts and places of another one added."""
        return dataclasses.replace(
            self, shards=tuple(sorted({*self.shards, *other.shards})), places={**other.places, **self.places}
        )

    @property
    def absent(self) -> list[Shard]:
        """Parts that were not run, if all parts are of the same division; else empty."""
        counts = {count for _, count in self.shards}
        if len(counts) != 1:
            return []
        (count,) = counts
        present = {number for number, _ in self.shards}
        return [(number, count) for number in range(1, count + 1) if number not in present]


def request_of(
    suite: str, tasks: Sequence[RowTask], part: Sequence[RowTask], shard: Shard | None, settings: Data
) -> Request:
    """Return the request for `part` of all `tasks` of a suite.

    Args:
        suite: Name of the suite.
        tasks: All tasks.
        part: Tasks of this run.
        shard: The part (I, N), or None for all.
        settings: Arguments of the call.
    """
    lines = sorted(canonical_json({"keys": sorted(map(list, task.keys)), **task.limits}) for task in tasks)
    places = {key: place for place, key in enumerate(keys_of(tasks))}
    return Request(
        suite=suite,
        fingerprint=hashlib.sha256("\n".join(lines).encode()).hexdigest(),
        settings=settings,
        total=len(places),
        shards=(shard or (1, 1),),
        places={key_digest(key): places[key] for key in keys_of(part)},
    )


def keys_of(tasks: Iterable[RowTask]) -> list[Key]:
    """Return the keys of the rows of the tasks, each once, in order."""
    return list(dict.fromkeys(key for task in tasks for key in task.keys))


def key_digest(key: Key) -> str:
    """Return a row's key in 16 digits."""
    return hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]
