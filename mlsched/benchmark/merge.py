"""Stores of one suite made one: the parts that machines ran apart, a store that was interrupted and its second try.

Nothing is taken on trust that decides what the rows mean: the stores must have asked the same of the same suite with
the same versions, and where two of them hold the same row, it must say the same. Which stores come first makes no
difference to what comes out, and a target that exists is one of the stores, so that no row of it is lost.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mlsched.benchmark.request import Request, digest
from mlsched.benchmark.row import Key, Row
from mlsched.benchmark.shards import Shard
from mlsched.benchmark.store import Store
from mlsched.core.arguments import validate_arguments
from mlsched.core.errors import InvalidInput
from mlsched.core.safe_open import open_file, shown_path, target_of

#: What must be the same of a row that two stores hold. The rest is of a machine and an hour: times, memory, the path of
#: a file, whether a second engine had an answer in its seconds, the words of an error.
SAME = (
    "status",
    "sort_key",
    "sort_bound",
    "sort_keys",
    "answer_seed",
    "time_limit",
    "work_limit",
    "primary",
    "cases",
    "binding",
)
#: The evidence that is kept of such a row: the better one.
_EVIDENCE = ("certified", "confirmed", "unconfirmed", None)


@dataclasses.dataclass(frozen=True)
class Merged:
    """What was written: `rows` of the `total` that the suite has, `repeated` of them from more than one store.

    absent: parts that no store has asked. unfinished: stores that lack rows of the parts that they asked, which no
    other store has either.
    """

    suite: str
    rows: int
    total: int
    repeated: int
    absent: tuple[Shard, ...]
    unfinished: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether every row of the suite is there."""
        return self.rows >= self.total


@dataclasses.dataclass(frozen=True)
class _Part:
    """A store as it was read."""

    name: str
    request: Request
    rows: list[Row]


@validate_arguments
def merge(
    stores: Sequence[str | os.PathLike[str]], output: str | os.PathLike[str], *, any_versions: bool = False
) -> Merged:
    """Write the rows of all stores into one, in the order of the suite.

    The write is one transaction: whenever it ends, the output has all of the rows, or those that it had.

    Args:
        stores: files that `run_suite` or `mlsched bench --store` wrote.
        output: a new file; or a store of the same suite, which is then one of those merged.
        any_versions: accept rows that other versions of mlsched, solvers or Python made; each row says which.

    Raises:
        InvalidInput: the stores do not belong together or contradict each other; nothing is written then.
        InvalidFile: one of them is no store.

    Examples:
        >>> import pathlib
        >>> pathlib.Path("instances").mkdir()
        >>> for seed in range(2):
        ...     mlsched.save(mlsched.generate("quality", "small", seed=seed), f"instances/{seed}.json")
        >>> for part in (1, 2):
        ...     rows = mlsched.run_suite("instances", solvers=["dp"], shard=(part, 2), store=f"{part}.sqlite")
        >>> mlsched.merge(["1.sqlite", "2.sqlite"], "all.sqlite").rows
        4
    """
    if not stores:
        raise InvalidInput("there is no store to merge; give one or more files that mlsched bench --store wrote")
    target = Path(output)
    there = target.exists()
    named = {os.path.realpath(path): path for path in [*stores, *([output] if there else [])]}
    parts = [_read(path) for path in named.values()]
    for part in parts[1:]:
        _refuse_others(parts[0], part)
    if not any_versions:
        _refuse_versions(parts)
    found, repeated = _united(parts)
    request = parts[0].request
    for part in parts[1:]:
        request = request.joined(part.request)
    last = len(request.places)
    rows = sorted(found.values(), key=lambda row: (request.places.get(digest(row.key), last), row.key))
    target_of(output, folders=True)
    try:
        with Store(output) as store:
            store.replace(rows, request)
    except BaseException:
        if not there:
            target.unlink(missing_ok=True)
        raise
    return _summary(parts, request, found, repeated)


def _read(path: str | os.PathLike[str]) -> _Part:
    name = shown_path(path)
    open_file(path).close()
    with Store(path) as store:
        suites, requests = store.suites(), store.requests()
        if unknown := [suite for suite in suites if suite not in requests]:
            raise InvalidInput(
                f"{name}: does not say what was asked of suite {unknown[0]}; repeat its mlsched bench with --resume, "
                "which adds that"
            )
        if len(requests) != 1:
            held = f"holds suites {', '.join(requests)}" if requests else "holds no suite"
            raise InvalidInput(f"{name}: {held}; a store to merge holds one suite: bench each into a store of its own")
        ((suite, request),) = requests.items()
        return _Part(name, request, store.rows(suite))


def _refuse_others(first: _Part, part: _Part) -> None:
    """Refuse a store that was asked something else than the first."""
    one, other = first.request, part.request
    both = f"{first.name} and {part.name}"
    if one.suite != other.suite:
        raise InvalidInput(f"{both}: hold different suites, {one.suite} and {other.suite}; merge stores of one suite")
    if one.fingerprint == other.fingerprint:
        return
    differing = [
        f"{name} {_said(one.settings.get(name))} and {_said(other.settings.get(name))}"
        for name in sorted({*one.settings, *other.settings})
        if one.settings.get(name) != other.settings.get(name)
    ]
    why = "; ".join(differing) or "its instances, solvers or limits were others"
    raise InvalidInput(f"{both}: asked different things of suite {one.suite}: {why}; bench both with the same call")


def _said(setting: Any) -> str:
    if setting is None:
        return "not given"
    return ", ".join(map(str, setting)) if isinstance(setting, list) else str(setting).lower()


def _refuse_versions(parts: Sequence[_Part]) -> None:
    """Refuse rows that other versions made than the first row."""
    made = [(part.name, row.versions) for part in parts for row in part.rows]
    for name, versions in made:
        first, expected = made[0]
        for what in sorted({*versions, *expected}):
            one, other = expected.get(what), versions.get(what)
            if one != other:
                places = f"{first} and {name}" if name != first else name
                raise InvalidInput(
                    f"{places}: rows of different versions, {what} {one or 'absent'} and {other or 'absent'}; bench "
                    "with the same, or accept them with --any-versions"
                )


def _united(parts: Sequence[_Part]) -> tuple[dict[Key, Row], int]:
    """Every row once, and how many were there more than once. Raises InvalidInput where two contradict each other."""
    found: dict[Key, tuple[str, Row]] = {}
    repeated: set[Key] = set()
    conflicts: list[str] = []
    for part in parts:
        for row in part.rows:
            if row.key not in found:
                found[row.key] = part.name, row
                continue
            name, known = found[row.key]
            repeated.add(row.key)
            differing = [what for what in SAME if getattr(row, what) != getattr(known, what)]
            if differing:
                what = differing[0]
                cut = ", which the wall clock cut" if "time limit" in (row.stopped_by, known.stopped_by) else ""
                conflicts.append(
                    f"{row.place}, {row.solver}{cut}: {what} {getattr(known, what)} in {name}, "
                    f"{getattr(row, what)} in {part.name}"
                )
            found[row.key] = min(found[row.key], (part.name, row), key=lambda named: _preference(named[1]))
    if conflicts:
        more = f"; and {len(conflicts) - 1} more rows contradict each other" if len(conflicts) > 1 else ""
        raise InvalidInput(f"{conflicts[0]}{more}; merge only the stores that you trust")
    return {key: row for key, (_, row) in found.items()}, len(repeated)


def _preference(row: Row) -> tuple[int, str]:
    """Of rows that say the same, the one that is kept has the best evidence, and is the same whatever the order."""
    return _EVIDENCE.index(row.evidence), str(dataclasses.astuple(row))


def _summary(parts: Sequence[_Part], request: Request, found: dict[Key, Row], repeated: int) -> Merged:
    there = {digest(key) for key in found}
    return Merged(
        suite=request.suite,
        rows=len(there & set(request.places)),
        total=request.total,
        repeated=repeated,
        absent=tuple(request.absent),
        unfinished=tuple(part.name for part in parts if not part.request.places.keys() <= there),
    )
