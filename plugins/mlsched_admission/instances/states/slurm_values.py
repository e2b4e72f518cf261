"""Values in Slurm's JSON, in all of data_parser 0.0.40 to 0.0.45, simple and complex.

A number is {"set", "infinite", "number"}; in complex mode null, "Infinity" or the number itself; in some fields and
versions plain. An infinite one has "set": false, "number": 0, so `infinite` is checked first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mlsched.core.fields import EXACT
from mlsched_admission.instances.states.entries import Entry
from mlsched_admission.instances.states.state import Amounts

#: Placeholder for "no limit" among numbers of Slurm.
INFINITE = EXACT
#: Most hosts of one list of hosts.
MOST_HOSTS = 100_000
_TOO_MUCH = "is more than 2^53: no node holds so much"
_INFINITE = ("infinity", "infinite", "unlimited", "inf")
_MEMORY = {"K": 1 / 1024, "M": 1, "G": 1024, "T": 1024**2, "P": 1024**3}
_AMOUNT = re.compile(r"([0-9]{1,15})(?:\.([0-9]{1,6}))?([KMGTP]?)")
#: gpu, gpu:4, gpu:h100:4, gres/gpu:4, gres:gpu:h100=4, gpu:h100:4(S:0-1); h100 alone has no count.
_GRES = re.compile(r"(?:gres[:/])?([\w.+-]+?)(?::([A-Za-z_][\w.+-]*))?(?:[:=]([0-9]{1,9})([KMGT]?))?(?:\(.*\))?")


def number_or_none(entry: Entry, *keys: str) -> int | None:
    """Return the number; None if it is not set, `INFINITE` if it is unlimited."""
    value = entry.get(*keys)
    if isinstance(value, dict):
        if value.get("infinite") is True:
            return INFINITE
        if value.get("set") is False:
            return None
        value = value.get("number")
    if value is None:
        return None
    if isinstance(value, str):
        if value.lower() in _INFINITE:
            return INFINITE
        if value.isascii() and value.isdecimal() and len(value) <= 15:
            return int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if type(value) is not int or not -EXACT <= value <= EXACT:
        entry.bad(keys, value, "expected a number as Slurm writes it: an integer, or {set, infinite, number}")
    return value


def finite_count(entry: Entry, *keys: str) -> int:
    """Return a finite number above 0, else 0: unset and unlimited both request 0."""
    value = number_or_none(entry, *keys)
    if value is not None and value < 0:
        entry.bad(keys, value, "expected at least 0")
    return 0 if value is None or value == INFINITE else value


def flags_of(entry: Entry, *keys: str) -> list[str]:
    """Return a list of flags; older versions, and complex mode, write one as a text."""
    value = entry.get(*keys)
    if isinstance(value, str):
        return [word for word in re.split(r"[,+|]", value) if word]
    return entry.texts(*keys)


def split_names(text: str) -> list[str]:
    """Split names at commas; "ALL" and "" give an empty list."""
    return [name for name in text.split(",") if name and name != "ALL"]


def tres_amounts(entry: Entry, *keys: str) -> Amounts:
    """Parse a TRES text ("cpu=64,mem=512G,gres/gpu=8"), or a list of {type, name, count}; memory in MiB."""
    value = entry.get(*keys)
    totals: Amounts = {}
    if isinstance(value, list):
        for item in entry.entries(*keys):
            name = item.needed("type") + (f"/{item.text('name')}" if item.text("name") else "")
            if (amount := number_or_none(item, "count")) is not None and amount != INFINITE:
                totals[name] = amount
        return totals
    for part in filter(None, entry.text(*keys).split(",")):
        name, equals, amount_text = part.partition("=")
        match = _AMOUNT.fullmatch(amount_text)
        if not equals or not match:
            entry.bad(keys, part, "expected TRES such as cpu=64,mem=512G,gres/gpu=8")
        totals[name] = _amount_of_match(match, memory=name == "mem")
        if totals[name] > EXACT:
            entry.bad(keys, part, _TOO_MUCH)
    return totals


def _amount_of_match(match: re.Match[str], *, memory: bool) -> int:
    value = float(f"{match[1]}.{match[2] or 0}")
    if match[3]:
        value *= _MEMORY[match[3]]
        return round(value) if memory else round(value * 1024 * 1024)
    # A bare amount of memory in a TRES counts MiB.
    return round(value)


def gres_amounts(entry: Entry, text: str, *keys: str) -> Amounts:
    """Parse generic resources: "gpu:h100:4(S:0-1),gpu:2" has 6 of gres/gpu and 4 of gres/gpu:h100.

    A suffix counts by 1,024, as in a TRES: bandwidth:4G.
    """
    totals: Amounts = {}
    for part in _split_at_commas(text):
        match = _GRES.fullmatch(part)
        if not match:
            entry.bad(keys, part, "expected a generic resource such as gpu:h100:4")
        name, kind = match[1], match[2]
        amount = (int(match[3]) if match[3] else 1) * 1024 ** " KMGT".index(match[4] or " ")
        totals[f"gres/{name}"] = totals.get(f"gres/{name}", 0) + amount
        if totals[f"gres/{name}"] > EXACT:
            entry.bad(keys, part, _TOO_MUCH)
        if kind:
            totals[f"gres/{name}:{kind}"] = totals.get(f"gres/{name}:{kind}", 0) + amount
    return totals


def _split_at_commas(text: str) -> Iterator[str]:
    """Split at commas outside of brackets."""
    depth, begin = 0, 0
    for at, sign in enumerate(text + ","):
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and (depth <= 0 or at == len(text)):
            if (part := text[begin:at].strip()) and part not in ("(null)", "N/A"):
                yield part
            begin = at + 1


def expand_hosts(entry: Entry, text: str, *keys: str) -> list[str]:
    """Expand a list of hosts: "ia[1-2,07],login"."""
    expansion: list[str] = []
    for part in _split_at_commas(text):
        expansion += _expand_part(entry, part, keys, MOST_HOSTS - len(expansion))
    return expansion


def _expand_part(entry: Entry, part: str, keys: tuple[str, ...], most: int) -> list[str]:
    before, opened, rest = part.partition("[")
    if not opened:
        return [part]
    inside, closed, after = rest.partition("]")
    tails = _expand_part(entry, after, keys, most) if after else [""]
    expansion: list[str] = []
    for span in inside.split(","):
        low, _, high = span.partition("-")
        high = high or low
        if not closed or not (low.isdecimal() and high.isdecimal() and len(low) <= 9 and len(high) <= 9):
            entry.bad(keys, part, "expected a list of hosts such as node[01-04]")
        if (int(high) - int(low) + 1) * len(tails) > most - len(expansion):
            entry.bad(keys, part, f"stands for more than {MOST_HOSTS} hosts")
        expansion += [f"{before}{n:0{len(low)}d}{tail}" for n in range(int(low), int(high) + 1) for tail in tails]
    return expansion
