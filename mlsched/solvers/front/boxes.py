"""Unions of boxes, in which the values of a sub-problem's solution must lie: box[k] bounds objective k from above."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from mlsched.core.scalar import Bounds

T = TypeVar("T")


def inside(values: Sequence[int], boxes: Sequence[Bounds]) -> bool:
    """Whether objective values are in one of the boxes."""
    return any(all(u is None or v <= u for v, u in zip(values, box, strict=True)) for box in boxes)


def undominated(found: Mapping[tuple[int, ...], T], points: Iterable[tuple[int, ...]]) -> dict[tuple[int, ...], T]:
    """The entries that no point and no other entry is as good as, by their values, which are minimised."""
    best = set(points)
    kept: dict[tuple[int, ...], T] = {}
    for values in sorted(found):  # one that dominates another comes before it
        if not any(all(a <= b for a, b in zip(p, values, strict=True)) for p in (*best, *kept)):
            kept[values] = found[values]
    return kept


def loosest(boxes: Sequence[Bounds]) -> Bounds:
    """The smallest box that holds all of `boxes`."""
    return tuple(None if None in ends else max(e for e in ends if e is not None) for ends in zip(*boxes, strict=True))


def shown(boxes: Sequence[Bounds]) -> str:
    """The boxes in a message."""
    more = f" and {len(boxes) - 1} boxes more" if len(boxes) > 1 else ""
    return f"{list(boxes[0])}{more}"
