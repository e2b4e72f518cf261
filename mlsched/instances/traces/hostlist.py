"""Lists of nodes as Slurm writes them: "node[01-04,7],gpu-a" are node01 to node04, node7 and gpu-a."""

from __future__ import annotations

import re

_PART = re.compile(r"([^,\[\]\s]*)(?:\[([^\]]*)\])?([^,\[\]\s]*)")
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
#: Nodes of one list.
MOST = 10**5


def nodes_of(text: str) -> tuple[str, ...] | None:
    """Return the names in a list, separated by ",", ";" or "|" outside brackets; None if it is malformed."""
    names: list[str] = []
    for item in re.split(r"[,;|]+(?![^\[]*\])", text.strip().strip(",;|")):
        match = _PART.fullmatch(item.strip())
        if match is None or not item.strip():
            return None
        before, inside, after = match.groups()
        if inside is None:
            names.append(item.strip())
            continue
        for part in inside.split(","):
            span = _RANGE.fullmatch(part.strip())
            if span is None:
                return None
            low, high = int(span[1]), int(span[2] or span[1])
            if high < low or len(names) + high - low >= MOST:
                return None
            names += [f"{before}{number:0{len(span[1])}d}{after}" for number in range(low, high + 1)]
    return tuple(names)
