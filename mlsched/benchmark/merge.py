"""Merging the stores of one suite: parts that machines ran separately, or an interrupted store and its continuation.

The stores must have the same request for the same suite with the same versions, and rows in several stores must agree.
The order of the stores does not affect the result. An existing target is one of the stores, so that its rows are kept.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path

from mlsched.benchmark.request import Request, key_digest
from mlsched.benchmark.row import Key, Row
from mlsched.benchmark.shards import Shard
from mlsched.benchmark.store import Store
from mlsched.core.arguments import validate_arguments
from mlsched.core.errors import InvalidInput
from mlsched.core.safe_open import open_file, shown_path, target_of

#: Fields that must agree if two stores have the same row. Other fields depend on the machine and the time: durations,
#: memory, the path of a file, whether a second engine answered in time, the text of an error.
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
#: Order of evidence; the better one is kept.
_EVIDENCE = ("certified", "confirmed", "unconfirmed", None)


@dataclasses.dataclass(frozen=True)
class MergeSummary:
    """Summary of the written store.

    Attributes:
        suite: Name of the suite.
        rows: Number of written rows.
        total: Number of rows of the suite.
        repeated: Number of rows that several stores have.
        absent: Parts that no store covers.
        unfinished: Stores that lack rows of their parts, which are in no other store either.
    """

    suite: str
    rows: int
    total: int
    repeated: int
    absent: tuple[Shard, ...]
    unfinished: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether the store has every row of the suite."""
        return self.rows >= self.total


@dataclasses.dataclass(frozen=True)
class _Part:
    """Content of a store."""

    name: str
    request: Request
    rows: list[Row]


@validate_arguments
def merge(
    stores: Sequence[str | os.PathLike[str]], output: str | os.PathLike[str], *, any_versions: bool = False
) -> MergeSummary:
    """Write the rows of all stores into one, in the order of the suite.

    The write is one transaction: the output has either all rows, or those it had before.

    Args:
        stores: Files from `run_suite` or `mlsched bench --store`.
        output: A new file, or a store of the same suite, which is then merged too.
        any_versions: Accept rows computed by different versions of mlsched, solvers or Python; each row states its own.

    Returns:
        A summary of the written store.

    Raises:
        InvalidInput: The stores do not belong together or contradict each other; the output is unchanged.
        InvalidFile: A file is not a store.

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
        raise InvalidInput("a store is missing; give one or more files that mlsched bench --store wrote")
    target = Path(output)
    existed = target.exists()
    paths = {os.path.realpath(path): path for path in [*stores, *([output] if existed else [])]}
    parts = [_read_part(path) for path in paths.values()]
    for part in parts[1:]:
        _check_same_request(parts[0], part)
    if not any_versions:
        _check_same_versions(parts)
    rows_by_key, repeated = _unite_rows(parts)
    request = parts[0].request
    for part in parts[1:]:
        request = request.joined(part.request)
    last = len(request.places)
    rows = sorted(rows_by_key.values(), key=lambda row: (request.places.get(key_digest(row.key), last), row.key))
    target_of(output, folders=True)
    try:
        with Store(output) as store:
            store.replace(rows, request)
    except BaseException:
        if not existed:
            target.unlink(missing_ok=True)
        raise
    return _summary(parts, request, rows_by_key, repeated)


def _read_part(path: str | os.PathLike[str]) -> _Part:
    name = shown_path(path)
    open_file(path).close()
    with Store(path) as store:
        suites, requests = store.suites(), store.requests()
        if unknown := [suite for suite in suites if suite not in requests]:
            raise InvalidInput(
                f"{name}: the request of suite {unknown[0]} is missing; repeat its mlsched bench with --resume "
                "to add it"
            )
        if len(requests) != 1:
            content = f"has suites {', '.join(requests)}" if requests else "has no suite"
            raise InvalidInput(f"{name}: {content}, expected one; bench each into a store of its own")
        ((suite, request),) = requests.items()
        return _Part(name, request, store.rows(suite))


def _check_same_request(first: _Part, part: _Part) -> None:
    """Raise InvalidInput for a store with another request than the first."""
    first_request, second_request = first.request, part.request
    both = f"{first.name} and {part.name}"
    if first_request.suite != second_request.suite:
        raise InvalidInput(
            f"{both}: have different suites, {first_request.suite} and {second_request.suite}; "
            "merge stores of one suite"
        )
    if first_request.fingerprint == second_request.fingerprint:
        return
    differences = [
        f"{name} {_setting_text(first_request.settings.get(name))} and "
        f"{_setting_text(second_request.settings.get(name))}"
        for name in sorted({*first_request.settings, *second_request.settings})
        if first_request.settings.get(name) != second_request.settings.get(name)
    ]
    reason = "; ".join(differences) or "its instances, solvers or limits were others"
    raise InvalidInput(
        f"{both}: different requests for suite {first_request.suite}: {reason}; bench both with the same call"
    )


def _setting_text(setting: object) -> str:
    if setting is None:
        return "not given"
    return ", ".join(map(str, setting)) if isinstance(setting, list) else str(setting).lower()


def _check_same_versions(parts: Sequence[_Part]) -> None:
    """Raise InvalidInput for rows computed by other versions than the first row."""
    versions_by_store = [(part.name, row.versions) for part in parts for row in part.rows]
    for name, versions in versions_by_store:
        first, expected = versions_by_store[0]
        for package in sorted({*versions, *expected}):
            first_version, second_version = expected.get(package), versions.get(package)
            if first_version != second_version:
                places = f"{first} and {name}" if name != first else name
                raise InvalidInput(
                    f"{places}: rows of different versions, {package} {first_version or 'absent'} and "
                    f"{second_version or 'absent'}; bench with the same, or accept them with --any-versions"
                )


def _unite_rows(parts: Sequence[_Part]) -> tuple[dict[Key, Row], int]:
    """Return every row once, and the number of repeated rows; raise InvalidInput for contradictions."""
    rows_by_key: dict[Key, tuple[str, Row]] = {}
    repeated: set[Key] = set()
    conflicts: list[str] = []
    for part in parts:
        for row in part.rows:
            if row.key not in rows_by_key:
                rows_by_key[row.key] = part.name, row
                continue
            name, earlier = rows_by_key[row.key]
            repeated.add(row.key)
            differing_fields = [
                field_name for field_name in SAME if getattr(row, field_name) != getattr(earlier, field_name)
            ]
            if differing_fields:
                field_name = differing_fields[0]
                remark = ", which the wall clock cut" if "time limit" in (row.stopped_by, earlier.stopped_by) else ""
                conflicts.append(
                    f"{row.place}, {row.solver}{remark}: {field_name} {getattr(earlier, field_name)} in {name}, "
                    f"{getattr(row, field_name)} in {part.name}"
                )
            rows_by_key[row.key] = min(rows_by_key[row.key], (part.name, row), key=lambda entry: _preference(entry[1]))
    if conflicts:
        more = f"; and {len(conflicts) - 1} more rows contradict each other" if len(conflicts) > 1 else ""
        raise InvalidInput(f"{conflicts[0]}{more}; merge only the stores that you trust")
    return {key: row for key, (_, row) in rows_by_key.items()}, len(repeated)


def _preference(row: Row) -> tuple[int, str]:
    """Return the order of equivalent rows: best evidence first, independent of the order of stores."""
    return _EVIDENCE.index(row.evidence), str(dataclasses.astuple(row))


def _summary(parts: Sequence[_Part], request: Request, rows_by_key: dict[Key, Row], repeated: int) -> MergeSummary:
    digests = {key_digest(key) for key in rows_by_key}
    return MergeSummary(
        suite=request.suite,
        rows=len(digests & set(request.places)),
        total=request.total,
        repeated=repeated,
        absent=tuple(request.absent),
        unfinished=tuple(part.name for part in parts if not part.request.places.keys() <= digests),
    )
