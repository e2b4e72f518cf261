"""Values of logs in any notation: points in time, spans of time, amounts.

A value is a text of a CSV file, or a cell of a DataFrame: a number, a `datetime`, a `timedelta`, or empty. A column has
one reader, which rejects a value in another notation than the previous values.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NoReturn, Protocol

from mlsched.instances.traces.source import MAX_NUMBER

#: Notations of "not known" in logs, in lower case.
MISSING = frozenset({"", "none", "nan", "nat", "null", "na", "n/a", "<na>", "unknown", "-"})
#: Texts of at least this many characters are values, unless blank.
_SHORT = 16
#: Cached lengths of time of a column with their meaning.
_REMEMBERED = 10_000
#: Unit of time -> milliseconds.
TIMES = {"ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
#: Unit of memory -> MiB.
MEMORIES = {"b": 2**-20, "kib": 2**-10, "mib": 1.0, "gib": 2.0**10, "tib": 2.0**20} | {
    "kb": 1e3 / 2**20,
    "mb": 1e6 / 2**20,
    "gb": 1e9 / 2**20,
    "tb": 1e12 / 2**20,
}
#: Unit of GPUs or CPUs -> thousandths.
COUNTS = {"whole": 1000.0, "percent": 10.0, "milli": 1.0}

_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_SPAN = re.compile(r"(?:([0-9]{1,5})(?:-| days? ))?([0-9]{1,5}):([0-9]{2}):([0-9]{2})(\.[0-9]+)?")
_EPOCH = datetime(1970, 1, 1)
_MILLISECOND = timedelta(milliseconds=1)
#: Seconds beyond which a time can only be one in milliseconds or less: the year 5138.
_TOO_MANY_SECONDS = 10**11


class Place(Protocol):
    """The source of values: names the faulty row in one line."""

    @property
    def where(self) -> str:
        """Describe the current row, for messages."""

    def fail(self, problem: str, remedy: str = "") -> NoReturn:
        """Refuse the current row."""

    def bad(self, column: str, value: object, rule: str, remedy: str = "") -> NoReturn:
        """Refuse a value of the current row."""


def missing(value: object) -> bool:
    """Check for a value that stands for "not known"."""
    if type(value) is str:  # most values, by far; notations of "not known" are short
        return value in MISSING or (value.strip().lower() in MISSING if len(value) < _SHORT else value.isspace())
    if value is None or value != value:  # NaN and NaT are not equal to themselves; pandas' NA answers with itself
        return True
    return isinstance(value, str) and value.strip().lower() in MISSING


def is_missing(value: object) -> bool:
    """Check `missing`, also for pandas' NA, which cannot be a truth value."""
    try:
        return missing(value)
    except TypeError:
        return True


def lacking(**cells: object) -> str:
    """Return "no gpus": the first unknown of these values; "" if all are known."""
    for name, value in cells.items():
        if is_missing(value):
            return f"no {name.replace('_', ' ')}"
    return ""


def number(place: Place, column: str, value: object, what: str) -> float:
    """Parse a finite number >= 0; `what` names its unit in messages."""
    if isinstance(value, str):
        text = value.strip()
        result = float(text) if _NUMBER.fullmatch(text) and text.isascii() else math.nan
    elif isinstance(value, bool) or not hasattr(value, "__float__"):
        result = math.nan
    else:
        result = float(value)
    if math.isnan(result):
        place.bad(column, value, f"expected {what}")
    if result < 0:
        place.bad(column, value, "expected at least 0", "correct it, or leave it empty where it is not known")
    return result


def amount(place: Place, column: str, value: object, factor: float, what: str) -> int:
    """Parse a number of units >= 0, times `factor`, rounded up: a small request must not become 0."""
    if is_missing(value):
        place.bad(column, value, f"expected {what}", "write 0 for none")
    total = number(place, column, value, what) * factor
    if total >= MAX_NUMBER:
        place.bad(column, value, f"expected below {MAX_NUMBER / factor:.3g}")
    return math.ceil(round(total, 6))


@dataclass
class Times:
    """Reads one column of times in milliseconds: points on a clock, or (`span`) lengths.

    A number counts units of `unit` milliseconds. A point may also be a date with a time of day as in ISO 8601, a
    length also H:MM:SS or D-HH:MM:SS. All values of a column must be of one kind.
    """

    column: str
    unit: int = 1000
    span: bool = False
    kind: str = ""
    first: str = ""
    known: dict[str, int] = field(default_factory=dict)  # lengths, of which many are alike

    def read(self, place: Place, value: object) -> int | None:
        """Return milliseconds (points: since 1970, or since the origin of numbers); None if not known."""
        if self.span and type(value) is str and value in self.known:
            return self.known[value]
        if is_missing(value):
            return None
        if isinstance(value, str):
            kind, moment = self._parse_text(place, value.strip())
        elif isinstance(value, datetime) and not self.span:
            kind, moment = _parse_date(value)
        elif isinstance(value, timedelta) and self.span:
            kind, moment = "a span of time", value // _MILLISECOND
        else:
            kind, moment = "a number", self._parse_number(place, value)
        if not self.kind:
            self.kind, self.first = kind, place.where
        elif kind != self.kind:
            place.bad(
                self.column, value, f"is {kind}, but {self.first} has {self.kind}", "write the whole column alike"
            )
        if moment < 0 and self.span:
            place.bad(self.column, value, "expected at least 0")
        if self.span and type(value) is str and len(self.known) < _REMEMBERED:
            self.known[value] = moment
        return moment

    def _parse_text(self, place: Place, text: str) -> tuple[str, int]:
        if self.span:
            if match := _SPAN.fullmatch(text):
                days, hours, minutes, seconds = (int(part or 0) for part in match.groups()[:4])
                if minutes < 60 and seconds < 60:
                    part = round(1000 * float(match[5] or 0))
                    return "a span of time", 1000 * (86400 * days + 3600 * hours + 60 * minutes + seconds) + part
        elif _DATE.match(text):
            try:
                return _parse_date(datetime.fromisoformat(text))
            except ValueError:  # month 13, hour 25
                place.bad(self.column, text, "is not a date and time of day")
        return "a number", self._parse_number(place, text)

    def _parse_number(self, place: Place, value: object) -> int:
        other = "H:MM:SS" if self.span else "YYYY-MM-DD HH:MM:SS"
        unit = next(name for name, factor in TIMES.items() if factor == self.unit)
        amount_ms = number(place, self.column, value, f"a number (of {unit}) or {other}") * self.unit
        if amount_ms >= 1000 * _TOO_MANY_SECONDS:
            place.bad(
                self.column, value, f"is too large for a time in {unit}", f"if it is in ms, read {self.column}:ms"
            )
        return round(amount_ms)


def _parse_date(value: datetime) -> tuple[str, int]:
    """Return the kind of a date and time of day, and its milliseconds; with a zone, in UTC."""
    if value.tzinfo is None:
        return "a time of day", (value - _EPOCH) // _MILLISECOND
    return "a time of day with a zone", (value.astimezone(UTC).replace(tzinfo=None) - _EPOCH) // _MILLISECOND
