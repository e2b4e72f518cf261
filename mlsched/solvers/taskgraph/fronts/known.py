"""What sub-problems of a front prove for those that come after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mlsched.core.scalar import Bounds, Weigh


class Known:
    """The smallest values of objectives in boxes, as sub-problems prove them."""

    def __init__(self, low: Sequence[int | None]) -> None:
        self._proofs: list[tuple[int, Sequence[Bounds], int]] = []
        self._low = low
        #: Of all plans.
        self.ideal = list(low)

    def prove(self, k: int, boxes: Sequence[Bounds], value: int) -> None:
        """No plan in the boxes has a smaller f_k than `value`, which some plan has."""
        if len(boxes) > 1 and any(box[k] is not None for box in boxes):
            return  # in a box with a bound on f_k there may be nothing, and beyond that bound less than `value`
        self._proofs.append((k, boxes, value))
        if all(end is None for box in boxes for j, end in enumerate(box) if j != k):
            self.ideal[k] = value

    def within(self, boxes: Sequence[Bounds]) -> list[int | None]:
        """What is proved of plans in some boxes, an objective after the other."""
        return [self._lower_bound(k, boxes) for k in range(len(self._low))]

    def _lower_bound(self, k: int, boxes: Sequence[Bounds]) -> int | None:
        proofs = [proof for proof in self._proofs if proof[0] == k]
        low = self._low[k]
        known = []
        for box in boxes:
            bounds = [value for _, larger, value in proofs if any(_holds(one, box, k) for one in larger)]
            bounds += self._beyond(k, box)
            known.append(max(bounds, default=low) if low is None else max([low, *bounds]))
        return None if None in known else min(v for v in known if v is not None)

    def _beyond(self, k: int, box: Bounds) -> Iterator[int]:
        """Bounds on f_k in a box that allows less of another objective than a larger box has with its end of f_k.

        Without them the front of `six-replicas` 1009 takes 1.2 times the work.
        """
        for j, boxes, value in self._proofs:
            if j != k and (mine := box[j]) is not None and mine < value:
                for larger in boxes:
                    if (end := larger[k]) is not None and _holds(larger, box, j, k):
                        yield end + 1


def _holds(larger: Bounds, box: Bounds, *but: int) -> bool:
    """Whether a box is within another one but for some objectives."""
    pairs = enumerate(zip(larger, box, strict=True))
    return all(j in but or end is None or (mine is not None and mine <= end) for j, (end, mine) in pairs)


def ties(objectives: Sequence[str], low: Sequence[int | None], high: Sequence[int | None]) -> Weigh:
    """The weights by which plans of equal total_jct are compared; see `Scalar.ties`.

    Where traffic is bounded it outweighs the others: the next sub-problems ask for less of it, and the best of the
    others, whatever the traffic, is mostly known by then. Without this and `_Shared.keep` the front of `six-loose` 1003
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
