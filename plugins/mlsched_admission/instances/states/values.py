"""Amounts and times of Kubernetes and Slurm, converted to integers once."""

from __future__ import annotations

import functools
import math
import re
from datetime import UTC, datetime
from fractions import Fraction

from mlsched.core.errors import InvalidInput, shorten
from mlsched.core.fields import EXACT

_QUANTITY = re.compile(r"([+-]?)([0-9]{1,30})?(?:\.([0-9]{0,20}))?([eE][+-]?[0-9]{1,2}|[numkMGTPE]|[KMGTPE]i)?")
_FACTORS: dict[str, Fraction] = {
    "": Fraction(1),
    **{sign: Fraction(1000) ** power for sign, power in zip("num", (-3, -2, -1), strict=True)},
    **{sign: Fraction(1000) ** power for power, sign in enumerate("kMGTPE", start=1)},
    **{f"{sign}i": Fraction(1024) ** power for power, sign in enumerate("KMGTPE", start=1)},
}
_SPAN = re.compile(r"(?:([0-9]{1,5})d)?(?:([0-9]{1,6})h)?(?:([0-9]{1,7})m(?:in)?)?(?:([0-9]{1,9})s)?")
_CLOCK = re.compile(r"(?:([0-9]{1,6})-)?([0-9]{1,3}):([0-9]{2})(?::([0-9]{2}))?")


def parse_quantity(text: str) -> Fraction | None:
    """Parse a quantity of Kubernetes ("500m", "16Gi", "1e3"); None if it is invalid."""
    match = _QUANTITY.fullmatch(text.strip())
    if not match or not (match[2] or match[3]):
        return None
    sign, whole, part, suffix = match.groups()
    digits = Fraction(int((whole or "0") + (part or "")), 10 ** len(part or ""))
    factor = Fraction(10) ** int(suffix[1:]) if suffix and suffix[0] in "eE" and len(suffix) > 1 else None
    return (-1 if sign == "-" else 1) * digits * (factor if factor is not None else _FACTORS[suffix or ""])


@functools.lru_cache(maxsize=100_000)
def parse_amount(resource: str, text: str, *, down: bool = False, cap: bool = False) -> int | None:
    """Convert a quantity as schedulers do: CPU in thousandths, all else in units; rounded up (`down`: available
    amounts).

    None if it is not a quantity, or beyond the limits of instances.
    """
    value = parse_quantity(text)
    if value is None:
        return None
    in_units = value * 1000 if resource == "cpu" else value
    rounded = math.floor(in_units) if down else math.ceil(in_units)
    if cap and EXACT < rounded < 2**65:
        return EXACT
    return rounded if abs(rounded) <= EXACT else None


def parse_time(text: str) -> int | None:
    """Parse a time of RFC 3339 as seconds since 1970; None if it is invalid."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return int(time.timestamp()) if time.tzinfo else None


def shown_moment(seconds: int) -> str:
    """Format seconds since 1970 as a time in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_span(name: str, text: str) -> int:
    """Parse "2h", "90min", "1h30m", "1-12:00:00" or "02:00:00" as seconds; InvalidInput names the source."""
    if (text and (match := _SPAN.fullmatch(text))) or (match := _CLOCK.fullmatch(text)):
        days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    else:
        raise InvalidInput(f"{name}: {shorten(text)!r}, expected a time such as 2h, 90m, 1h30m or 02:00:00")
    total = 86400 * days + 3600 * hours + 60 * minutes + seconds
    if not total:
        raise InvalidInput(f"{name}: {shorten(text)!r}, expected longer than 0")
    return total
