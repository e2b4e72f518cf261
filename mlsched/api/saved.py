"""Files of results, fronts and runs: their content, and how it is judged again on reading.

A file is a JSON object {"kind", "version", ...}. It has the instance beside the answer, so that a reader need not trust
it: plans are judged, gaps and senses follow from the instance, and the boxes in which points of a front may be missing
follow from its certificate. Each kind has its own module. Fields equal to their default are omitted, as in `Record`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from mlsched.api import saved_fronts, saved_results, saved_runs
from mlsched.api.records import ANSWERS
from mlsched.api.saved_fields import Fields
from mlsched.core.aliases import Data
from mlsched.core.contract import Instance
from mlsched.core.errors import InvalidFile, InvalidInput, MlschedError, with_article
from mlsched.core.files import check_header
from mlsched.core.record import defaults, without_defaults_of
from mlsched.core.result import Result
from mlsched.core.safe_open import shown_path
from mlsched.simulation import Run
from mlsched.solvers.front import Front


def document(thing: object, name: str, instance: Instance | None) -> Data:
    """Return the JSON object of a result, front or run; `name` is the file's, for messages."""
    if isinstance(thing, Result):
        return _with_header(Result, saved_results.document(thing, name, instance))
    if isinstance(thing, Front):
        return _with_header(Front, saved_fronts.document(thing, name))
    if isinstance(thing, Run):
        return _with_header(Run, saved_runs.document(thing))
    kinds = "an instance, plan, workload, result, front or run"
    raise InvalidInput(f"{name}: {with_article(type(thing).__name__)} cannot be saved; give {kinds}")


def _with_header(of: Any, body: dict[str, Any]) -> dict[str, Any]:
    return {"kind": of.kind, "version": ANSWERS[of.kind], **without_defaults_of(of, body)}


def read(path: str | os.PathLike[str], data: dict[str, Any]) -> Any:
    """Return the result, front or run in a JSON object that was read from `path`."""
    kind = check_header(path, data, ANSWERS)
    readers: dict[str, tuple[Any, Callable[[Fields], Any]]] = {
        "result": (Result, saved_results.read),
        "front": (Front, saved_fronts.read),
        "run": (Run, saved_runs.read),
    }
    of, reader = readers[kind]
    try:
        fields = Fields({key: value for key, value in data.items() if key not in ("kind", "version")}, "", defaults(of))
        answer = reader(fields)
        fields.end()
    except MlschedError as error:
        raise InvalidFile(f"{shown_path(path)}: {error}") from None
    return answer
