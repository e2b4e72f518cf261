"""What the benchmark's tests share: small suites, a temporary solver, and rows made by hand."""

from __future__ import annotations

import contextlib
import dataclasses
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mlsched.benchmark.row import Row
from mlsched.benchmark.store import FIELDS, checksum_of
from mlsched.benchmark.suites import Case, Suite
from mlsched.core.registry import registry
from mlsched.core.solver import Solver


def suite(*solvers: str, seeds: Sequence[int] = (0, 1, 2), preset: str = "small", **details: Any) -> Suite:
    """A preemption suite named "tiny"."""
    case = Case("preemption", preset, seeds=tuple(seeds), solvers=solvers or None, **details)
    return Suite("tiny", "for tests", (case,))


@contextlib.contextmanager
def registered(name: str, function: Callable[..., Any], **details: Any) -> Iterator[None]:
    """A preemption solver that the registry knows inside the block only."""
    registry().add(Solver(name, "preemption", details.pop("kind", "heuristic"), function, **details))
    try:
        yield
    finally:
        del registry().solvers["preemption", name]


def row(**changes: Any) -> Row:
    """A row: cp-sat proves the optimum 10 of objective `cost` (min) on instance "h0"."""
    value = changes.get("sort_key", 10)
    base = Row(
        suite="made",
        problem="p",
        preset="small",
        sizes={},
        seed=0,
        instance_hash="h0",
        size=5,
        objective="cost",
        sense="min",
        unit="s",
        primary=None,
        solver="cp-sat",
        kind="exact",
        params={},
        answer_seed=7,
        time_limit=None,
        work_limit=None,
        status="optimal",
        sort_key=value,
        sort_keys=None if value is None else {"cost": value},
        sort_bound=value,
        gap=0.0,
        stopped_by="proof",
        seconds=0.5,
        versions={"mlsched": "1"},
    )
    return dataclasses.replace(base, **changes)


def rule(value: int | None, **changes: Any) -> Row:
    """A heuristic's row on the same instance."""
    details: dict[str, Any] = {"solver": "rule", "kind": "heuristic", "status": "feasible", "sort_bound": None}
    return row(sort_key=value, **{**details, "gap": None, "stopped_by": None, **changes})


def timeless(rows: Sequence[Row]) -> list[Row]:
    """Rows without what may differ between two runs."""
    blank = dict.fromkeys(("seconds", "evidence", "confirmed_by", "confirm_seconds", "cpu_seconds", "peak_mib", "made"))
    return [dataclasses.replace(r, **blank) for r in rows]


def changed(path: Any, column: str, value: Any, where: str = "1") -> Any:
    """Set a column of a store's rows, with the checksums that a forger would compute."""
    names = ", ".join(f"[{name}]" for name in FIELDS)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"UPDATE rows SET [{column}] = ? WHERE {where}", (value,))
        for number, *cells in connection.execute(f"SELECT id, {names} FROM rows WHERE {where}").fetchall():
            connection.execute("UPDATE rows SET checksum = ? WHERE id = ?", (checksum_of(cells), number))
    return path
