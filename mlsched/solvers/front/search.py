"""The layer between methods and backends: a `Search` solves, checks and records sub-problems.

A method calls `explore(k, bounds)` and reads a proved answer. Every backend failure (a limit, a failed
solve, an answer that contradicts an earlier answer) is recorded here as such, so no method can mistake it for a proof.
With several searchers, `explore` may run on as many threads at once.
"""

from __future__ import annotations

import dataclasses
import queue
import threading
from collections.abc import Callable, Sequence

import numpy as np

from mlsched.core.deadline import Deadline
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import IntArray
from mlsched.core.scalar import Answer, Bounds, Scalar, Searcher, Solution, Stages
from mlsched.solvers.front.boxes import inside, loosest, shown
from mlsched.solvers.front.certificate import Subproblem
from mlsched.solvers.front.journal import Journal
from mlsched.solvers.front.zones import BIG

#: Share of the time limit for one sub-problem, turn by turn; None: the remaining time.
TURNS: tuple[float | None, ...] = (1 / 12, 1 / 2, None)
#: A turn, except the last, ends after this number of sub-problems without a proof.
MOST_LEFT = 4


class Stop(Exception):
    """A limit ends the search; the message is the front's status."""


@dataclasses.dataclass(frozen=True)
class Explored:
    """The known results about the smallest f_k within some bounds.

    lower_bound: bound on f_k; BIG if the bounds exclude every solution. point: a new point that attains it, if any.
    failed: the answer is unproven.
    """

    lower_bound: int
    point: tuple[int, ...] | None
    failed: bool = False


class Search:
    """All sub-problems solved so far and their points; every objective is minimised."""

    def __init__(
        self,
        scalar: Scalar,
        *,
        crew: Sequence[Searcher] = (),
        stages: Stages | None = None,
        time_limit: float | None = None,
        solve_limit: int | None = None,
        journal: Journal | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.scalar, self._stages = scalar, stages
        self.low, self.high = list(scalar.low), list(scalar.high)
        self.size = len(self.low)
        #: The number of concurrent questions: one per searcher of the crew, which includes `scalar`.
        self.workers = max(1, len(crew))
        self._crew, self._lock = crew, threading.RLock()
        self._free: queue.SimpleQueue[Scalar] = queue.SimpleQueue()
        for one in crew or (scalar,):
            self._free.put(one)
        self.subproblems: list[Subproblem] = []
        self.points: dict[tuple[int, ...], Solution] = {}
        self.failures: list[str] = []
        self.solves = self.recalled = 0
        #: Solutions of answers without a proof, by their values.
        self.unproven: dict[tuple[int, ...], Solution] = {}
        #: Whether the end of a turn left a sub-problem without a proof.
        self.cut = False
        self._seconds, self._turn, self._left = time_limit, len(TURNS) - 1, 0
        self._proved: dict[tuple[tuple[int, ...], tuple[Bounds, ...]], Answer] = {}
        self._deadline = Deadline(time_limit)
        self._solve_limit, self._journal, self._progress = solve_limit, journal, progress
        #: Sub-problems that the journal contained when it was opened, until `recall`; and those not yet solved since.
        self._opened = frozenset(() if journal is None else journal.answers)
        self._unasked = set(self._opened)
        self._known = np.zeros((0, self.size), dtype=np.int64)

    def prepare(self) -> None:
        """Find a lower bound for each objective without one from the variables; refuse unbounded objectives."""
        for k in range(self.size):
            if self.low[k] is None:
                answer = self._solve_and_record(_unit_weights(self.size, k), ((None,) * self.size,))
                if answer.status == "optimal":
                    self.low[k] = answer.bound

    def take_turns(self) -> None:
        """Give each sub-problem a share of the time limit, which grows from turn to turn (`longer`)."""
        self._turn = 0

    def longer(self) -> bool:
        """Start the next turn, with a larger share for each sub-problem; return False after the last turn."""
        self._turn, self._left = self._turn + 1, 0
        return self._seconds is not None and self._turn < len(TURNS)

    @property
    def turn_over(self) -> bool:
        """Return whether enough sub-problems were interrupted in this turn."""
        return self._left >= MOST_LEFT and self._turn < len(TURNS) - 1

    @property
    def _seconds_of_turn(self) -> float | None:
        """Return the seconds per sub-problem in this turn; None for all remaining seconds."""
        share = TURNS[min(self._turn, len(TURNS) - 1)]
        return None if self._seconds is None or share is None else share * self._seconds

    @property
    def limited(self) -> bool:
        """Return whether there is a time limit."""
        return self._seconds is not None

    @property
    def recallable(self) -> bool:
        """Return whether `recall` has results."""
        return bool(self._opened)

    def recall(self) -> list[Subproblem]:
        """Return all sub-problems of the journal, once; their points are known from now on.

        Concurrent methods need this: they cannot repeat the questions in the order in which the journal was written,
        as sequential methods do. It includes questions that were repeated since, because an answer may imply more than
        its question was about.
        """
        with self._lock:
            answers = {} if self._journal is None else self._journal.answers
            recalled = []
            for (weights, boxes), answer in answers.items():  # in a fixed order, for reproducibility
                one = Subproblem(weights, boxes, answer.status, answer.values, answer.bound, answer.note)
                recalled.append(one)
                if (weights, boxes) in self._unasked:
                    self.subproblems.append(one)
                    self.recalled += 1
                if min(weights) > 0:
                    self._keep_point(answer)
            self._opened = frozenset()
            self._unasked.clear()
            return recalled

    def recalls(self, k: int, bounds: IntArray) -> bool:
        """Return whether the journal, when it was opened, had all answers to this question that are not recalled yet.

        A limit may have ended a run after the first of two stages. Another run may then have omitted the second.
        """
        weights, boxes = self._first_stage(k, bounds)
        if self._journal is None or (weights, boxes) not in self._opened:
            return False
        first = self._explored_bounds(k, self._journal.answers[weights, boxes], final=False)
        if min(weights) > 0 or first.lower_bound >= np.atleast_2d(bounds)[0, k]:
            return True
        return self._second_stage(k, boxes, first.lower_bound) in self._opened

    def end(self) -> None:
        """End the running solves."""
        for one in self._crew:
            one.stop()

    def explore(self, k: int, bounds: IntArray) -> Explored:
        """Minimise f_k, and among its optima the sum of all objectives.

        Over the solutions with f_j < bounds[b, j] for all j != k, for some row b. bounds: m x p or p numbers, BIG for
        unbounded; bounds[b, k] is the same in all rows. In one stage, f_k has the weight W = 1 + the sum of the other
        objectives' ranges, so that one unit of it outweighs them. In two stages, f_k is minimised, and then the sum
        with f_k fixed, by the backend's own weights (`Scalar.ties`) if it has any.
        """
        weights, boxes = self._first_stage(k, bounds)
        first = self._solve_and_record(weights, boxes)
        if min(weights) > 0:
            return self._explored_bounds(k, first)
        explored = self._explored_bounds(k, first, final=False)
        if explored.failed or explored.lower_bound >= np.atleast_2d(bounds)[0, k]:
            # Solutions are at or above bounds[k]: the zones are empty, and the second stage could only find a known
            # point.
            return dataclasses.replace(explored, point=None)
        ties, fixed_boxes = self._second_stage(k, boxes, explored.lower_bound)
        second = self._explored_bounds(k, self._solve_and_record(ties, fixed_boxes, first.solution))
        if second.point is None and not second.failed:
            self._record_failure(f"infeasible although {explored.lower_bound} was attained", fixed_boxes)
            return Explored(explored.lower_bound, None, failed=True)
        return Explored(explored.lower_bound, second.point, second.failed)

    def _first_stage(self, k: int, bounds: IntArray) -> tuple[tuple[int, ...], tuple[Bounds, ...]]:
        """Return weights and boxes of the single stage, or of the first of two, whose other weights are 0."""
        rows = np.atleast_2d(bounds).tolist()
        boxes = tuple(sorted(tuple(None if j == k or b >= BIG else b - 1 for j, b in enumerate(row)) for row in rows))
        weight = self._one_stage_weight(k, loosest(boxes))
        if weight is None:
            return _unit_weights(self.size, k), boxes
        return tuple(weight if j == k else 1 for j in range(self.size)), boxes

    def _second_stage(
        self, k: int, boxes: tuple[Bounds, ...], value: int
    ) -> tuple[tuple[int, ...], tuple[Bounds, ...]]:
        """Return weights and boxes of the second of two stages, after the first has found the smallest f_k."""
        fixed_boxes = tuple(tuple(value if j == k else u for j, u in enumerate(box)) for box in boxes)
        return (1,) * self.size if self.scalar.ties is None else self.scalar.ties(fixed_boxes), fixed_boxes

    def _explored_bounds(self, k: int, answer: Answer, final: bool = True) -> Explored:
        if answer.status == "infeasible":
            return Explored(BIG, None)
        if answer.status != "optimal" or answer.values is None or answer.solution is None:
            return Explored(-BIG, None, failed=True)
        if final:
            self._keep_point(answer)
        return Explored(answer.values[k], answer.values)

    def _keep_point(self, answer: Answer) -> None:
        """Keep the point of an answer to a sub-problem whose weights are all above 0: such a point is non-dominated."""
        with self._lock:
            if answer.values is not None and answer.solution is not None and answer.values not in self.points:
                self.points[answer.values] = answer.solution
                self._known = np.vstack([self._known, answer.values])

    def _one_stage_weight(self, k: int, upper: Bounds) -> int | None:
        """Return W for one stage; None for two stages."""
        if (self._stages or self.scalar.stages) == "two":
            return None
        weight, most = 1, 0
        for j in range(self.size):
            low, high = self.low[j], self.high[j] if upper[j] is None else upper[j]
            if low is None or high is None:
                self._refuse_one_stage("an objective without bounds")
                return None
            most += max(abs(low), abs(high))
            weight += max(0, high - low) if j != k else 0
        if most * weight > self.scalar.largest:
            self._refuse_one_stage(f"a weighted sum beyond {self.scalar.largest}")
            return None
        return weight

    def _refuse_one_stage(self, what: str) -> None:
        """Refuse the request for one stage if it is impossible."""
        if self._stages == "one":
            raise InvalidInput(f"stages = 'one': would need {what}; use stages='two'")

    def _best(self, weights: tuple[int, ...], boxes: tuple[Bounds, ...]) -> tuple[int, Solution] | None:
        """Return value and solution of the best known point of a sub-problem; None if its boxes are empty so far."""
        ends = np.array([[BIG if u is None else u for u in box] for box in boxes], dtype=np.int64)
        within = np.all(self._known[:, None, :] <= ends[None, :, :], axis=2)
        known_best = self._known[np.any(within, axis=1)]
        if not len(known_best):
            return None
        totals = known_best @ np.array(weights, dtype=np.int64)
        best = int(np.argmin(totals))
        return int(totals[best]), self.points[tuple(known_best[best].tolist())]

    def _solve_and_record(
        self, weights: tuple[int, ...], boxes: tuple[Bounds, ...], start: Solution | None = None
    ) -> Answer:
        """Return the checked and recorded answer to one sub-problem, from the journal or the backend."""
        with self._lock:
            if (proof := self._proved.get((weights, boxes))) is not None:
                return proof
            answer = None if self._journal is None else self._journal.answers.get((weights, boxes))
            best = self._best(weights, boxes) if answer is None else None
            if (weights, boxes) in self._unasked:
                self._unasked.remove((weights, boxes))
                self.recalled += 1
        if answer is None:
            hint = start if start is not None else self._best_start(weights, boxes, best)
            solved_answer = self._solve_subproblem(weights, boxes, hint)
            with self._lock:
                if self.workers > 1:
                    best = self._best(weights, boxes)  # other threads may have found points
                answer = self._check_answer(solved_answer, weights, boxes, None if best is None else best[0])
                if self._journal is not None and answer.status in ("optimal", "infeasible"):
                    self._journal.add(weights, boxes, answer)
        with self._lock:
            if answer.status in ("optimal", "infeasible"):
                self._proved[weights, boxes] = answer
            if answer.values is not None and answer.solution is not None and answer.values not in self.points:
                self.unproven[answer.values] = answer.solution
            self._record_answer(weights, boxes, answer)
        return answer

    def _best_start(
        self, weights: tuple[int, ...], boxes: tuple[Bounds, ...], best: tuple[int, Solution] | None
    ) -> Solution | None:
        """Return the best known solution of a sub-problem, with or without a proof."""
        with self._lock:
            known_best = list(self.unproven.items())
        totals = {
            sum(w * v for w, v in zip(weights, values, strict=True)): solution
            for values, solution in known_best
            if inside(values, boxes)
        }
        if totals and (best is None or min(totals) < best[0]):
            return totals[min(totals)]
        return None if best is None else best[1]

    def _record_answer(self, weights: tuple[int, ...], boxes: tuple[Bounds, ...], answer: Answer) -> None:
        """Record an answer; stop at a limit, and note a failure without a proof."""
        self.subproblems.append(Subproblem(weights, boxes, answer.status, answer.values, answer.bound, answer.note))
        if answer.status == "unbounded":
            k = int(np.argmax(weights))
            raise InvalidInput(f"objective {k} is unbounded; bound the variables in it")
        if answer.status in ("feasible", "unknown") and (remaining := self._deadline.remaining()) is not None:
            if self._seconds_of_turn is None or remaining <= 0:
                raise Stop("time limit")
            self.cut, self._left = True, self._left + 1
        elif answer.status not in ("optimal", "infeasible"):
            self._record_failure(answer.note or "gave up without a limit", boxes)
        if self._progress is not None:
            self._progress(len(self.points), self.solves + self.recalled)

    def _solve_subproblem(self, weights: tuple[int, ...], boxes: tuple[Bounds, ...], hint: Solution | None) -> Answer:
        remaining = self._deadline.remaining()
        if remaining is not None and remaining <= 0:
            raise Stop("time limit")
        with self._lock:
            if self._solve_limit is not None and self.solves >= self._solve_limit:
                raise Stop("solve limit")
            self.solves += 1
        scalar = self._free.get()
        try:
            share = self._seconds_of_turn
            limit = remaining if remaining is None or share is None else min(remaining, share)
            return scalar.minimise(weights, boxes, hint, limit)
        except Exception as error:  # a backend's exception must not lose the points found so far
            return Answer("failed", note=f"{type(error).__name__}: {error}")
        finally:
            self._free.put(scalar)

    def _record_failure(self, note: str, boxes: tuple[Bounds, ...]) -> None:
        self.failures.append(f"sub-problem {len(self.subproblems)} (bounds {shown(boxes)}): {note}".replace("\n", " "))

    def _check_answer(
        self, answer: Answer, weights: tuple[int, ...], boxes: tuple[Bounds, ...], known_best: int | None
    ) -> Answer:
        """Return the answer, or a failed one if it contradicts itself or the value of the best known point."""
        if answer.status == "infeasible":
            wrong = "called infeasible" if known_best is not None else ""
        elif answer.status == "optimal":
            wrong = self._wrong_optimum(answer, weights, boxes, known_best)
        elif answer.bound is not None and known_best is not None and answer.bound > known_best:
            wrong = f"bounded by {answer.bound}"
        else:
            wrong = ""
        if not wrong:
            return answer
        about = "a known point says otherwise" if known_best is not None else "it contradicts itself"
        return Answer("failed", note=f"{self.scalar.name} is wrong: {wrong}, but {about}")

    def _wrong_optimum(
        self, answer: Answer, weights: tuple[int, ...], boxes: tuple[Bounds, ...], known_best: int | None
    ) -> str:
        """Return the error in an optimum; empty if it is correct."""
        if answer.values is None or answer.solution is None or len(answer.values) != self.size:
            return "an optimum without a solution"
        total = sum(w * v for w, v in zip(weights, answer.values, strict=True))
        if total != answer.bound:
            return f"its bound {answer.bound} is not its value {total}"
        if not inside(answer.values, boxes):
            return f"its solution {answer.values} is out of bounds"
        if known_best is not None and total > known_best:
            return f"claims the optimum {total}"
        return ""


def _unit_weights(size: int, k: int) -> tuple[int, ...]:
    return tuple(int(j == k) for j in range(size))
