"""The result of an enumeration: the points, the boxes where others may be missing, and the proof of both."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from mlsched.core import html, tables
from mlsched.core.aliases import Data
from mlsched.core.arguments import validate_arguments
from mlsched.core.brief import count_of, short_repr
from mlsched.core.contract import Instance
from mlsched.core.errors import BackendError, Contradiction, InvalidInput
from mlsched.core.fields import FloatArray, IntArray
from mlsched.core.result import Evidence
from mlsched.core.scalar import Answer, Bounds, Scalar
from mlsched.solvers.front.boxes import shown
from mlsched.solvers.front.certificate import Certificate
from mlsched.solvers.front.zones import BIG

if TYPE_CHECKING:
    import pandas

#: "complete" and "infeasible" (an empty, complete front) are proved; the others leave zones open.
FrontStatus = Literal["complete", "infeasible", "time limit", "solve limit", "failed"]


@dataclasses.dataclass(frozen=True)
class Box:
    """Objective values, in the caller's senses, among which points may be missing; None for an unknown bound."""

    lower: tuple[int | None, ...]
    upper: tuple[int | None, ...]


#: Text in sentences about an engine's failure.
FAILED = "failed at it"


def _stayed_behind(backend: str) -> Scalar:
    raise InvalidInput(f"verify: the model stayed in the process that made the front; give an object, not '{backend}'")


@dataclasses.dataclass(frozen=True)
class Front:
    """Non-dominated points, one per row of `sort_keys` (n x k, in the caller's senses), best first objective first.

    Every point is proved non-dominated, even if the front is incomplete. solutions: the values of the selected
    variables. plans: the results of `decode` (None without it). open: boxes, which may overlap, around all points
    that may be missing; empty exactly if the front is complete. failures: a line for each sub-problem without
    a proof. solves: number of solver calls. recalled: number of answers from the resumed file.
    confirmed_by: the other engine that proved all of it again, if any.

    unproven: values, one per row, of further plans that no point dominates or equals; an open box may contain a better
    plan. unproven_plans: these plans, as in `plans`. An incomplete front of a time limit may have some.

    For the front of an instance, `instance`, `objectives`, `solver` and `params` describe the call. For the front of a
    user's model they are None (and empty parameters). Two fronts are equal if all of this is equal except the
    seconds.

    Examples:
        >>> inst = mlsched.generate("quality", preset="contended", seed=1)
        >>> mlsched.pareto(inst, ["total_loss_reduction", "worst_loss"])
        <Front: 3 points, by total_loss_reduction and worst_loss, complete>
    """

    #: Type of the file that `mlsched.save` writes.
    kind: ClassVar[str] = "front"

    sort_keys: IntArray
    solutions: tuple[Any, ...]
    plans: tuple[Any, ...] | None
    senses: tuple[str, ...]
    status: FrontStatus
    open: tuple[Box, ...]
    solves: int
    recalled: int
    failures: tuple[str, ...]
    certificate: Certificate
    method: str
    backend: str
    seconds: float = dataclasses.field(compare=False)
    _scalar: Callable[[str], Scalar] = dataclasses.field(repr=False, compare=False)
    confirmed_by: str | None = None
    objectives: tuple[str, ...] | None = None
    instance: Instance | None = dataclasses.field(default=None, repr=False)
    solver: str | None = None
    params: Data = dataclasses.field(default_factory=dict)
    unproven: Any = ()
    unproven_plans: tuple[Any, ...] | None = None

    def __repr__(self) -> str:
        goals = " and ".join(self.objectives) if self.objectives else count_of(len(self.senses), "objective")
        return short_repr(self, count_of(len(self), "point"), f"by {goals}", self.status)

    def __getstate__(self) -> Data:
        """Return the pickled state without a user's own model; `verify` then needs an object with `minimise`."""
        sendable = dataclasses.is_dataclass(self._scalar)
        return self.__dict__ if sendable else {**self.__dict__, "_scalar": _stayed_behind}

    def __len__(self) -> int:
        return len(self.sort_keys)

    def __eq__(self, other: object) -> bool:
        if type(other) is not Front:
            return NotImplemented
        comparison = [field.name for field in dataclasses.fields(self) if field.compare]
        return all(_equal_values(getattr(self, name), getattr(other, name)) for name in comparison)

    def __hash__(self) -> int:
        """Hash the short identification of the front: solutions and parameters may be unhashable."""
        values = tuple(map(tuple, np.asarray(self.sort_keys).tolist()))
        return hash((values, self.senses, self.status, self.method, self.backend, self.solver))

    @property
    def complete(self) -> bool:
        """Return whether the points are proved complete."""
        return not self.open

    @property
    def evidence(self) -> Evidence:
        """Return the evidence that points are non-dominated, and that all points outside the open boxes are known.

        "unconfirmed": one engine proved the sub-problems. "confirmed": another engine proved all of them again.
        """
        return "unconfirmed" if self.confirmed_by is None else "confirmed"

    def table(self) -> dict[str, Any]:
        """Return objective -> its values, a row per point; the objectives of a user's own model are called f1, f2, ...

        For an instance, values are in the units that people read (`Instance.values`). Deferred jobs, which are compared
        first, have a column of their own ("deferred") if some point defers any.
        """
        return self._table_columns(self.sort_keys)

    def unproven_table(self) -> dict[str, IntArray]:
        """Return the same table for the plans without a proof."""
        return self._table_columns(self.unproven)

    def _table_columns(self, sort_keys: IntArray) -> dict[str, IntArray]:
        names = self.objectives or tuple(f"f{k + 1}" for k in range(len(self.senses)))
        values = np.asarray(sort_keys, dtype=np.int64).reshape(-1, len(self.senses))
        columns = {name: values[:, k] for k, name in enumerate(names)}
        if self.instance is None or all(self.instance.primary(name) is None for name in names):
            return columns
        points = [self.instance.values(dict(zip(names, point, strict=True))) for point in values.tolist()]
        shown = self.instance.values(dict.fromkeys(names, 0))
        figures = {name: np.array([point[name] for point in points], dtype=np.int64) for name in shown}
        return {name: column for name, column in figures.items() if name in columns or column.any()}

    def dataframe(self) -> pandas.DataFrame:
        """Return `table` as a pandas DataFrame."""
        return tables.dataframe(self.table())

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: whether the front is complete, and its first points."""
        columns = self.table()
        senses = dict(zip(self.objectives or columns, self.senses, strict=True))
        header = [f"{name} ({senses.get(name, 'min')})" for name in columns]
        facts = [
            self.status,
            f"{count_of(len(self), 'point')} from {count_of(self.solves, 'solve')} by {self.backend} "
            f"in {self.seconds:.3g} s",
        ]
        facts += [f"points may be missing in {len(self.open)} boxes"] if self.open else []
        rows = np.stack(list(columns.values()), axis=1).tolist()
        return html.titled_block("front", facts, html.html_table(header, rows, most=html.MAX_ROWS))

    def _signs_of_senses(self) -> IntArray:
        return np.array([1 if sense == "min" else -1 for sense in self.senses], dtype=np.int64)

    @validate_arguments
    def hypervolume(self, ref: Sequence[float]) -> float:
        """Return the volume between the points and `ref` (natural senses, worse than the points), by moocore."""
        return self.hypervolume_bounds(ref)[0]

    @validate_arguments
    def hypervolume_bounds(self, ref: Sequence[float]) -> tuple[float, float]:
        """Return (lower, upper) bounds on the hypervolume of the complete front.

        The points found give the lower bound. The best corner of an open box dominates all missing points in it,
        so the corners count as points for the upper bound; it is infinite if an open box is unbounded on its better
        side. The two are equal for a complete front.
        """
        signs = self._signs_of_senses()
        if len(ref) != len(signs):
            raise InvalidInput(f"ref: {list(ref)}, expected {len(signs)} numbers, one for each objective")
        end = np.asarray(ref, dtype=np.float64) * signs
        points = np.asarray(self.sort_keys, dtype=np.float64).reshape(-1, len(signs)) * signs
        corners = np.array([_best_corner(box, self.senses) for box in self.open], dtype=np.float64).reshape(
            -1, len(signs)
        )
        lower = _dominated_volume(points, end)
        reachable = corners[(corners < end).all(axis=1)]
        if not np.isfinite(reachable).all():
            return lower, float("inf")
        return lower, _dominated_volume(np.vstack([points, reachable]), end) if len(reachable) else lower

    @validate_arguments
    def verify(self, backend: str | Scalar | None = None) -> list[str]:
        """Replay the certificate; return a sentence for each disagreement (empty if it is confirmed).

        backend: "cp-sat", "highs" or "scip" (default: cp-sat for a front of highs and the reverse, and scip for models
        that cp-sat does not accept; the model is translated), or any object with `minimise`. Three things are checked:
        that each sub-problem has the recorded optimum; that every point is attained; and that, by arithmetic on the
        proved sub-problems, all points outside the open boxes are known. Failures of the backend, such as sums too
        large for floats, have a sentence, too.
        """
        return self._disagreements_of(self._other(backend))

    def _disagreements_of(self, scalar: Scalar) -> list[str]:
        """Return the sentences of `verify`."""
        points = [tuple(row) for row in (np.asarray(self.sort_keys) * self._signs_of_senses()).tolist()]
        wrong = [
            text
            for number in range(len(self.certificate.subproblems))
            for text in self._replay_subproblem(scalar, number)
        ]
        for point in points:
            # A point of its values is feasible and optimal: this also proves the point non-dominated.
            answer = scalar.minimise((1,) * len(point), (point,), None, None)
            if answer.status != "optimal" or answer.values != point:
                wrong.append(_disagreement_sentence(f"point {point}", "", scalar, answer, answer.values))
        _, upper = self.certificate.open_zones(points)
        if len(upper) != len(self.open):
            wrong.append(f"{len(upper)} zones follow to be open, not {len(self.open)}")
        return wrong

    def confirmed(self, backend: str | Scalar | None = None) -> Front:
        """Return the front with the confirmation of another engine; backend as for `verify`, but not the front's own.

        Raises Contradiction if it disagrees, BackendError if it fails at a sub-problem (HiGHS, if
        objectives are too large for floats), InvalidInput if there is not another engine for the model.
        """
        scalar = self._other(backend)
        if scalar.name == self.backend:
            raise InvalidInput(f"backend = '{scalar.name}': found the front itself; another engine must confirm it")
        wrong = self._disagreements_of(scalar)
        if denied := [sentence for sentence in wrong if FAILED not in sentence]:
            raise Contradiction(f"{scalar.name} denies the front of {self.backend}: {denied[0]}")
        if wrong:
            raise BackendError(f"{scalar.name} can neither confirm nor deny the front of {self.backend}: {wrong[0]}")
        return dataclasses.replace(self, confirmed_by=scalar.name)

    def _other(self, backend: str | Scalar | None) -> Scalar:
        """Return the verifying backend: by default, the backend that did not find the front."""
        if backend is None:
            backend = {"cp-sat": "highs", "highs": "cp-sat"}.get(self.backend, self.backend)
            try:
                return self._scalar(backend)
            except InvalidInput:
                if backend != "cp-sat":
                    raise
                backend = "scip"  # continuous columns, or coefficients that are not integers
        if not isinstance(backend, str) and not hasattr(backend, "minimise"):
            raise InvalidInput(f"backend: {backend!r}, expected 'cp-sat', 'highs', 'scip' or an object with `minimise`")
        return self._scalar(backend) if isinstance(backend, str) else backend

    def _replay_subproblem(self, scalar: Scalar, number: int) -> list[str]:
        one = self.certificate.subproblems[number]
        implied = one.implies(self.certificate.high)
        if not one.proved or not implied:
            return []
        if not self._representable(one.weights, scalar.largest):
            # An empty box implies the same for each objective.
            claims = implied[:1] if one.status == "infeasible" else implied
            return [text for claim in claims for text in self._replay_lower(scalar, number, *claim)]
        answer = scalar.minimise(one.weights, one.boxes, None, None)
        if answer.status == one.status and answer.bound == one.bound:
            return []
        return [_sub_problem(number, one.boxes, f"{one.status} {one.bound}", scalar, answer)]

    def _replay_lower(self, scalar: Scalar, number: int, k: int, bounds: IntArray, lower: IntArray) -> list[str]:
        """Replay a sub-problem whose weighted sums are too large for the engine: floats merge different sums.

        Only the lower bounds of f_k in each box, for each k of the largest weight, are used; these are checked
        instead.
        """
        weights = tuple(int(j == k) for j in range(len(self.certificate.high)))
        wrong = []
        for ends, least in zip(bounds.tolist(), lower.tolist(), strict=True):
            box = tuple(None if end == BIG else end - 1 for end in ends)
            answer = scalar.minimise(weights, (box,), None, None)
            holds = answer.status == "optimal" and answer.bound is not None and answer.bound >= least
            if answer.status != "infeasible" and not holds:
                wrong.append(_sub_problem(number, (box,), f"{least} at least", scalar, answer))
        return wrong

    def _representable(self, weights: Sequence[int], largest: int) -> bool:
        ends = [
            max((abs(e) for e in pair if e is not None), default=0)
            for pair in zip(self.certificate.low, self.certificate.high, strict=True)
        ]
        return sum(w * e for w, e in zip(weights, ends, strict=True)) <= largest

    def to_json(self) -> Data:
        """Return the front as plain JSON data, without solutions."""
        return {
            "status": self.status,
            "complete": self.complete,
            "senses": list(self.senses),
            "sort_keys": np.asarray(self.sort_keys).tolist(),
            "plans": None if self.plans is None else [_plain_values(plan) for plan in self.plans],
            "open": [dataclasses.asdict(box) for box in self.open],
            **self._unproven_json(),
            "failures": list(self.failures),
            "method": self.method,
            "backend": self.backend,
            "evidence": self.evidence,
            "confirmed_by": self.confirmed_by,
            "solves": self.solves,
            "recalled": self.recalled,
            "seconds": self.seconds,
        }

    def _unproven_json(self) -> Data:
        """Return the unproven plans as JSON data, if any."""
        if not len(self.unproven):
            return {}
        plans = None if self.unproven_plans is None else [_plain_values(plan) for plan in self.unproven_plans]
        return {"unproven": np.asarray(self.unproven).tolist(), "unproven_plans": plans}


def _disagreement_sentence(what: str, claimed: str, scalar: Scalar, answer: Answer, value: Any) -> str:
    """Format the sentence for a claim that another engine contradicts or fails to check."""
    if answer.status == "failed":
        return f"{what}: {scalar.name} {FAILED}: {answer.note}"
    return f"{what}: {claimed}{scalar.name} says {answer.status} {value} {answer.note}".strip()


def _sub_problem(number: int, boxes: Sequence[Bounds], claimed: str, scalar: Scalar, answer: Answer) -> str:
    """Format the sentence for a sub-problem whose claim another engine contradicts or fails to check."""
    what = f"sub-problem {number} (bounds {shown(boxes)})"
    return _disagreement_sentence(what, f"is said to be {claimed}; ", scalar, answer, answer.bound)


def _plain_values(plan: Any) -> Any:
    return plan.to_json() if hasattr(plan, "to_json") else repr(plan)


def _equal_values(one: Any, other: Any) -> bool:
    """Compare two values that may be, or contain, arrays."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, (tuple, list)) and type(one) is type(other):
        return len(one) == len(other) and all(map(_equal_values, one, other))
    return bool(one == other)


def _best_corner(box: Box, senses: Sequence[str]) -> list[float]:
    """Return the best corner of a box, every objective minimised."""
    ends = [low if sense == "min" else high for low, high, sense in zip(box.lower, box.upper, senses, strict=True)]
    return [-np.inf if e is None else float(e if s == "min" else -e) for e, s in zip(ends, senses, strict=True)]


def _dominated_volume(points: FloatArray, end: FloatArray) -> float:
    """Return the hypervolume of points below `end`, every objective minimised."""
    import moocore

    inside = points[(points < end).all(axis=1)]
    return float(moocore.hypervolume(inside, ref=end)) if len(inside) else 0.0


def boxes(lower: IntArray, upper: IntArray, senses: Sequence[str]) -> tuple[Box, ...]:
    """Return zones (lower <= f < upper, every objective minimised) as boxes in the caller's senses."""
    model = []
    for bottom, top in zip(lower.tolist(), upper.tolist(), strict=True):
        low = [None if v <= -BIG else v for v in bottom]
        high = [None if v >= BIG else v - 1 for v in top]
        pairs = [
            (a, b) if s == "min" else (_negated_value(b), _negated_value(a))
            for a, b, s in zip(low, high, senses, strict=True)
        ]
        model.append(Box(tuple(p[0] for p in pairs), tuple(p[1] for p in pairs)))
    return tuple(model)


def _negated_value(value: int | None) -> int | None:
    return None if value is None else -value
