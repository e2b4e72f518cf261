"""Plans in boxes of objective values, by cutting planes on the time-indexed model with several objectives."""

from __future__ import annotations

from collections.abc import Sequence

from mlsched.core.scalar import Bounds, inside
from mlsched.formulations.taskgraph._bounds import packed, pools
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._relaxation import relax
from mlsched.formulations.taskgraph._schedule import search
from mlsched.formulations.taskgraph._time_indexed import TimeIndexed, size
from mlsched.instances.taskgraph import Timetable

#: Variables up to which the model is made.
WIDE = 25_000
#: Schedules that are generated for a first plan, a run of the instance each.
DECODINGS = 30


class TimeBoxes:
    """Sub-problems of fronts with total_jct, objectives in minimisation form (`signs`); see `core.scalar.Scalar`."""

    def __init__(self, layout: Layout, objectives: tuple[str, ...], seed: int) -> None:
        self._layout, self._objectives, self.seed = layout, objectives, seed
        self._signs = [1 if layout.instance.objective(o).sense == "min" else -1 for o in objectives]
        self._at = objectives.index("total_jct")
        self._shared = pools(layout) + packed(layout)
        runs = sum(1 for _ in layout.runs())
        self._first, _ = search(layout, DECODINGS * runs, seed, None)

    def values(self, plan: Timetable) -> tuple[int, ...]:
        """A plan's objectives in minimisation form, by the judge."""
        found = self._layout.instance.evaluate(plan)
        return tuple(sign * found[o] for sign, o in zip(self._signs, self._objectives, strict=True))

    def upper(
        self, weights: Sequence[int], boxes: Sequence[Bounds], low: Sequence[int | None], plan: Timetable | None
    ) -> int | None:
        """The most total_jct of plans in the boxes that are no worse than a plan in them; None: too much, or unknown.

        sum_k w_k f_k <= its value and f_k >= low_k give f_jct <= (its value - sum of the others' w_k low_k) / w_jct.
        """
        plan = self._first if plan is None else plan
        if plan is None or not weights[self._at] or not inside(values := self.values(plan), boxes):
            return None
        least = [0 if k == self._at or not w else low[k] for k, w in enumerate(weights)]
        if None in least:
            return None
        spare = sum(w * (v - (lo or 0)) for w, v, lo in zip(weights, values, least, strict=True))
        upper = spare // weights[self._at]
        return upper if size(self._layout, upper) <= WIDE else None

    def end(self, box: Bounds) -> int | None:
        """The most total_jct of plans in a box; None: too much."""
        end = box[self._at]
        return end if end is not None and size(self._layout, end) <= WIDE else None

    def made(self, weights: Sequence[int], boxes: Sequence[Bounds], upper: int, seconds: float | None) -> TimeIndexed:
        """The model of plans in the boxes, with its objective."""
        relaxed = relax(self._layout, self._shared, upper, seconds, 1)
        made = TimeIndexed(self._layout, upper, relaxed, self._shared, objectives=self._objectives)
        if made.reason is not None:
            return made
        terms = [sign * made.terms[o] for sign, o in zip(self._signs, self._objectives, strict=True)]
        literals = [made.cp.new_bool_var("") for _ in boxes] if len(boxes) > 1 else [1]
        if len(boxes) > 1:
            made.cp.add_exactly_one(literals)
        for k, ends in enumerate(zip(*boxes, strict=True)):
            constant = self._signs[k] * made.constant[self._objectives[k]]
            bounded = [(e, y) for e, y in zip(ends, literals, strict=True) if e is not None]
            # Sub-problems bound an objective in all boxes or in none, but for what bounds it anyway.
            if len(bounded) == len(boxes):
                made.cp.add(terms[k] - sum(e * y for e, y in bounded) <= -constant)
        made.cp.minimize(sum(w * term for w, term in zip(weights, terms, strict=True) if w))
        return made
