"""Proofs from sub-problems of a front, for later sub-problems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mlsched.core.scalar import Bounds, Weigh


class Known:
    """The smallest values of objectives in boxes, as proved by sub-problems."""

    def __init__(self, low: Sequence[int | None]) -> None:
        self._proofs: list[tuple[int, Sequence[Bounds], int]] = []
        self._low = low
        #: Over all plans.
        self.ideal = list(low)

    def prove(self, k: int, boxes: Sequence[Bounds], value: int) -> None:
        """Record that the smallest f_k of plans in the boxes is `value`, and is attained."""
        if len(boxes) > 1 and any(box[k] is not None for box in boxes):
            return  # a box with a bound on f_k may be empty below it, while f_k is smaller than `value` beyond it
        self._proofs.append((k, boxes, value))
        if all(end is None for box in boxes for j, end in enumerate(box) if j != k):
            self.ideal[k] = value

    def within(self, boxes: Sequence[Bounds]) -> list[int | None]:
        """Return proven lower bounds for plans in some boxes, one per objective."""
        return [self._lower_bound(k, boxes) for k in range(len(self._low))]

    def _lower_bound(self, k: int, boxes: Sequence[Bounds]) -> int | None:
        proofs = [proof for proof in self._proofs if proof[0] == k]
        low = self._low[k]
        known_bounds = []
        for box in boxes:
            bounds = [value for _, larger, value in proofs if any(_holds(one, box, k) for one in larger)]
            bounds += self._implied_bounds(k, box)
            known_bounds.append(max(bounds, default=low) if low is None else max([low, *bounds]))
        return None if None in known_bounds else min(v for v in known_bounds if v is not None)

    def _implied_bounds(self, k: int, box: Bounds) -> Iterator[int]:
        """Yield lower bounds on f_k in a box that follow from proofs about another objective.

        If f_j is at least `value` in a larger box, and this box requires less, then f_k exceeds the larger box's end.

        Without them the front of `six-replicas` 1009 takes 1.2 times the work.
        """
        for j, boxes, value in self._proofs:
            if j != k and (mine := box[j]) is not None and mine < value:
                for larger in boxes:
                    if (end := larger[k]) is not None and _holds(larger, box, j, k):
                        yield end + 1


def _holds(larger: Bounds, box: Bounds, *but: int) -> bool:
    """Return whether a box is within another one, ignoring some objectives."""
    pairs = enumerate(zip(larger, box, strict=True))
    return all(j in but or end is None or (mine is not None and mine <= end) for j, (end, mine) in pairs)


def ties(objectives: Sequence[str], low: Sequence[int | None], high: Sequence[int | None]) -> Weigh:
    """Return the weights that compare plans of equal total_jct; see `Scalar.ties`.

    Bounded traffic outweighs the others: the next sub-problems bound it further, and the best values of the
    others, for any traffic, are mostly known by then. Without this and `_Shared.keep` the front of `six-loose` 1003
    takes 4 times the work, and that of `six-replicas` 1009 over 1.6 times.
    """
    equally = (1,) * len(objectives)
    at = objectives.index("traffic") if "traffic" in objectives else -1
    others = [(first, last) for j, (first, last) in enumerate(zip(low, high, strict=True)) if j != at]
    weight = 1
    for first, last in others:
        if at < 0 or first is None or last is None:
            return lambda boxes: equally
        weight += last - first
    lean = tuple(weight if j == at else 1 for j in range(len(objectives)))
    return lambda boxes: lean if all(box[at] is not None for box in boxes) else equally
