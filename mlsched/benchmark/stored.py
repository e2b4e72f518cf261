"""Validation of a store's rows: a store may be untrusted, and its texts are printed and exported."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from typing import Any

from mlsched.benchmark.row import RowStatus
from mlsched.core.contract import Sense
from mlsched.core.errors import InvalidInput, shorten
from mlsched.core.foreign import check_plain, printable
from mlsched.core.result import Evidence
from mlsched.core.solver import Kind

#: Required and optional texts of a row.
_TEXTS = ("suite", "problem", "instance_hash", "objective", "unit", "solver")
_OPTIONAL_TEXTS = (
    *("preset", "stopped_by", "error", "confirmed_by", "doubt", "source", "machine", "made", "proof_engine"),
)
_WORDS: dict[str, tuple[Any, ...]] = {
    "sense": typing.get_args(Sense),
    "kind": typing.get_args(Kind),
    "status": typing.get_args(RowStatus),
    "evidence": (None, *typing.get_args(Evidence)),
}
_INTEGERS = ("seed", "size", "answer_seed")
_NUMBERS = (
    "time_limit",
    "work_limit",
    "sort_key",
    "sort_bound",
    "gap",
    "seconds",
    "confirm_seconds",
    "cpu_seconds",
    "peak_mib",
)
#: Objects of a row, and the optional ones among them.
_OBJECTS = ("sizes", "primary", "params", "sort_keys", "work", "cases", "binding", "versions")
_OPTIONAL_OBJECTS = ("primary", "sort_keys", "cases", "binding")
#: Longest text in characters, enough for an error.
MAX_TEXT = 4000


def check_row(values: Mapping[str, object]) -> None:
    """Raise InvalidInput if a value of a row has another type, is unprintable, or is an unknown word."""
    for name in _TEXTS:
        printable(values[name], name, MAX_TEXT)
    for name in _OPTIONAL_TEXTS:
        if values[name] is not None:
            printable(values[name], name, MAX_TEXT)
    for name, words in _WORDS.items():
        if values[name] not in words:
            raise InvalidInput(f"{name}: {shorten(ascii(values[name]))}, expected one of {', '.join(map(str, words))}")
    for name in _INTEGERS:
        if type(values[name]) is not int:
            raise InvalidInput(f"{name}: is of type {type(values[name]).__name__}, expected an integer")
    for name in _NUMBERS:
        if values[name] is not None and type(values[name]) not in (int, float):
            raise InvalidInput(f"{name}: is of type {type(values[name]).__name__}, expected a number")
    for name in _OBJECTS:
        if not isinstance(values[name], dict) and not (values[name] is None and name in _OPTIONAL_OBJECTS):
            raise InvalidInput(f"{name}: is of type {type(values[name]).__name__}, expected an object")
        check_plain(values[name], name)
