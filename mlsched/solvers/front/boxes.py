"""Unions of boxes that must contain the values of a sub-problem's solution: box[k] bounds objective k from above."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from mlsched.core.scalar import Bounds

T = TypeVar("T")


def inside(values: Sequence[int], boxes: Sequence[Bounds]) -> bool:
    """Return whether objective values are in one of the boxes."""
    return any(all(u is None or v <= u for v, u in zip(values, box, strict=True)) for box in boxes)


def undominated(found: Mapping[tuple[int, ...], T], points: Iterable[tuple[int, ...]]) -> dict[tuple[int, ...], T]:
    """Return the entries that neither a point nor another entry dominates or equals, by their values (minimised)."""
    best = set(points)
    front_entries: dict[tuple[int, ...], T] = {}
    for values in sorted(found):  # a dominating entry comes before the dominated one
        if not any(all(a <= b for a, b in zip(p, values, strict=True)) for p in (*best, *front_entries)):
            front_entries[values] = found[values]
    return front_entries


def loosest(boxes: Sequence[Bounds]) -> Bounds:
    """Return the smallest box that contains all of `boxes`."""
    return tuple(None if None in ends else max(e for e in ends if e is not None) for ends in zip(*boxes, strict=True))


def shown(boxes: Sequence[Bounds]) -> str:
    """Format the boxes for a message."""
    more = f" and {len(boxes) - 1} boxes more" if len(boxes) > 1 else ""
    return f"{list(boxes[0])}{more}"
