"""The screen of `mlsched judge STATE --free`: one row for each number of nodes or domains."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlsched.cli.output import emit, only_documents, table, waiting
from mlsched.core.errors import InvalidInput
from mlsched_admission.cli.judge import short_list

if TYPE_CHECKING:
    from mlsched_admission.api.free import Freeing


def free(states: Sequence[Path], request: str, time_limit: float | None, seed: int, *, as_json: bool) -> None:
    """Print the cheapest ways to free nodes or domains. wanted: "rack=2"."""
    import mlsched_admission

    level, equals, number = request.rpartition("=")
    if not equals or not level or not number.isdecimal() or len(number) > 3:
        raise InvalidInput(f"--free: {request!r}, expected LEVEL=NUMBER; write node=4 or rack=2")
    with waiting("freeing", time_limit), only_documents():
        freeing = mlsched_admission.free_nodes(*states, level=level, most=int(number), time_limit=time_limit, seed=seed)
    emit(as_json, freeing.to_json, lambda: _lines_of_screen(freeing))


def _lines_of_screen(freeing: Freeing) -> list[Any]:
    document = freeing.to_json()
    rows = [
        [
            str(way.count),
            freeing.cost(way),
            *(short_list(row[k]) if row[k] else "" for k in ("nodes", "moves", "evicts")),
        ]
        for way, row in zip(freeing.ways, document["ways"], strict=True)
    ]
    title = (
        f"whole {freeing.level}s to free" if freeing.level == "node" else f"domains of level {freeing.level} to free"
    )
    return [
        table(title, ["free", "cost", "nodes", "moves", "evicts"], rows),
        "Every unit may move to any node on which it fits; evictions only if moves do not suffice.",
    ]
