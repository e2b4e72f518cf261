"""Models of the plans in some boxes of objective values, for cutting planes; objectives in minimisation form."""

from __future__ import annotations

import copy
import functools
from collections.abc import Sequence
from typing import Any

from mlsched.core.aliases import Expression
from mlsched.core.scalar import Bounds, Weigh
from mlsched.formulations.taskgraph._due import DueModel, worth
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._pools import packed, pools, total_completion_bound
from mlsched.formulations.taskgraph._relaxation import LinearBound
from mlsched.formulations.taskgraph._time_indexed import TimeIndexed, size
from mlsched.instances.taskgraph import Timetable
from mlsched.solvers.backends.process import Helpers
from mlsched.solvers.front.boxes import inside
from mlsched.solvers.taskgraph.bounds.relaxation import relax
from mlsched.solvers.taskgraph.plans.schedule import search
from mlsched.solvers.taskgraph.proofs.values import MOST, worth_placing

#: Schedules that are generated for a first plan, each by one run of the instance.
DECODINGS = 30
#: Models that are kept, a few megabytes each.
MODELS = 16


class Boxed:
    """The time-indexed model for bounded total_jct (`timed`), and the model of work due by the deadlines (`due`)."""

    def __init__(
        self,
        layout: Layout,
        objectives: tuple[str, ...],
        high: Sequence[int | None],
        seed: int,
        ties: Weigh | None = None,
    ) -> None:
        self.layout, self.seed, self._high = layout, seed, high
        #: See `Scalar`.
        self.ties: Weigh = (lambda boxes: (1,) * len(objectives)) if ties is None else ties
        self._objectives = objectives
        self._signs = [1 if layout.instance.objective(o).sense == "min" else -1 for o in objectives]
        self.helpers = Helpers()
        self.timed, self.due = timed(layout, objectives), due(layout, objectives)
        #: Index of total_jct among the objectives; -1 if it is missing.
        self.at = objectives.index("total_jct") if "total_jct" in objectives else -1
        self._shared = pools(layout) + packed(layout)
        #: For total_jct.
        self.lower_bound = max(0, total_completion_bound(layout, self._shared) - sum(layout.arrival))
        #: The linear relaxation of plans as good as a first plan; built once, for its bound, windows and pools.
        self._linear: LinearBound | None = None
        self._first: Timetable | None = None
        #: Sub-problems repeat the same bounds on total_jct.
        self._made = functools.lru_cache(MODELS)(self._without_boxes)
        if self.timed:
            self._generate_first_plan()

    def _generate_first_plan(self) -> None:
        """Generate a first plan and the linear relaxation of plans as good."""
        layout = self.layout
        runs = sum(1 for _ in layout.runs())
        self._first, _ = search(layout, DECODINGS * runs, self.seed)
        if self._first is not None:
            value = layout.instance.evaluate(self._first)["total_jct"]
            self._linear, _ = relax(layout, self._shared, value, None, 1)
            if self._linear is not None:
                self.lower_bound = max(self.lower_bound, min(self._linear.bound, value))

    def values(self, plan: Timetable) -> tuple[int, ...]:
        """Return a plan's objectives, by the judge."""
        values = self.layout.instance.evaluate(plan)
        return tuple(sign * values[o] for sign, o in zip(self._signs, self._objectives, strict=True))

    def upper(
        self, weights: Sequence[int], boxes: Sequence[Bounds], low: Sequence[int | None], plan: Timetable | None
    ) -> int | None:
        """Return the most total_jct of plans in the boxes at least as good as `plan`; None if too large or unknown.

        sum_k w_k f_k <= its value and f_k >= low_k give f_jct <= (its value - sum of the others' w_k low_k) / w_jct.
        """
        plan = self._first if plan is None else plan
        if plan is None or not weights[self.at] or not inside(values := self.values(plan), boxes):
            return None
        others = [(w, v, lo) for k, (w, v, lo) in enumerate(zip(weights, values, low, strict=True)) if k != self.at]
        spare = 0
        for weight, value, lower_bound in others:
            if weight and lower_bound is None:
                return None
            spare += weight * (value - (lower_bound or 0))
        return self.narrow(values[self.at] + spare // weights[self.at])

    def end(self, box: Bounds) -> int | None:
        """Return the most total_jct of plans in a box; None if too large."""
        end = box[self.at]
        return None if end is None else self.narrow(end)

    def narrow(self, upper: int) -> int | None:
        """Tighten a bound on total_jct; return None if the model would be too large."""
        return upper if size(self.layout, upper) <= MOST else None

    def _without_boxes(self, upper: int, hard: bool) -> TimeIndexed:
        windows = None if self._linear is None else self._linear.windows(upper)
        return TimeIndexed(self.layout, upper, windows, self._shared, objectives=self._objectives, counting=hard)

    @functools.cached_property
    def _due_model(self) -> DueModel:
        return DueModel(self.layout, tuple(o for o in self._objectives if o != "total_jct"), self._shared)

    def by_time(self, weights: Sequence[int], boxes: Sequence[Bounds], upper: int, hard: bool = False) -> TimeIndexed:
        """Return the model of plans in the boxes of total_jct at most `upper`; with counts if `hard`."""
        built = copy.copy(self._made(upper, hard))
        if built.reason is None:
            built.cp = built.cp.clone()
            built.cp.add(built.terms["total_jct"] <= upper - built.constant["total_jct"])
            self._restrict_to_boxes(built, boxes)
            built.cp.minimize(self._weighted_sum(built, weights))
        return built

    def by_due(self, weights: Sequence[int], boxes: Sequence[Bounds]) -> DueModel:
        """Return the model of plans in the boxes with any total_jct, which must have weight 0."""
        built = copy.copy(self._due_model)
        built.cp = built.cp.clone()
        self._restrict_to_boxes(built, boxes)
        built.cp.minimize(self._weighted_sum(built, weights))
        return built

    def _weighted_sum(self, built: TimeIndexed | DueModel, weights: Sequence[int]) -> Expression:
        """Return the weighted sum without its constant."""
        triples = zip(self._objectives, self._signs, weights, strict=True)
        return sum(sign * weight * built.terms[name] for name, sign, weight in triples if weight)

    def _restrict_to_boxes(self, built: TimeIndexed | DueModel, boxes: Sequence[Bounds]) -> None:
        """Add constraints: each objective of the model is in the selected box."""
        literals: list[Any] = [1] if len(boxes) == 1 else [built.cp.new_bool_var("") for _ in boxes]
        if len(boxes) > 1:
            built.cp.add_exactly_one(literals)
        for k, ends in enumerate(zip(*boxes, strict=True)):
            name, sign = self._objectives[k], self._signs[k]
            if name in built.objectives and any(end is not None for end in ends):
                # An objective that only some boxes bound is bounded in the others by its variables.
                filled = [self._high[k] if end is None else end for end in ends]
                room = sum(end * literal for end, literal in zip(filled, literals, strict=True))
                built.cp.add(sign * built.terms[name] - room <= -sign * built.constant[name])


def timed(layout: Layout, objectives: Sequence[str]) -> bool:
    """Return whether cutting planes help plans of bounded total_jct."""
    return "total_jct" in objectives and worth_placing(layout)


def due(layout: Layout, objectives: Sequence[str]) -> bool:
    """Return whether all objectives except total_jct depend only on the work done by the deadlines."""
    return worth(layout, [o for o in objectives if o != "total_jct"]) and worth_placing(layout)
