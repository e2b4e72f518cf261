"""Properties that every scheduling rule must have, by name, and their check on one instance."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from mlsched import api
from mlsched.core.contract import Instance, Objective
from mlsched.core.errors import MlschedError, Stuck, TooLarge, describe_exception, with_article
from mlsched.core.gap import Gap, gap_between
from mlsched.core.record import Record
from mlsched.core.result import Result
from mlsched.testing.counterexample import Counterexample
from mlsched.testing.subject import NoFeasiblePlan

#: Check -> required property.
CHECKS = {
    "answers": "it raises nothing and returns a plan of the problem's type",
    "feasible": "the judge finds no fault with the plan",
    "reproducible": "the same instance and rng give the same plan, at once and after hundreds of other calls",
    "untouched": "the instance is left as it was",
    "bounded": "no plan is better than the proven optimum",
    "gap": "on no instance is the gap to the optimum larger than `largest_gap`, nor on average than `mean_gap`",
    "runs": "simulated runs, one of hundreds of decisions among them, come to their end and pass their replay check",
}


class Failed(Exception):
    """Failure of a check on an instance; each check has its own subclass, so that shrinking keeps to one fault."""

    def __init__(self, counterexample: Counterexample) -> None:
        super().__init__(counterexample.sentence)
        self.counterexample = counterexample


FAILURES: dict[str, type[Failed]] = {name: type(f"Failed_{name}", (Failed,), {}) for name in CHECKS}


def failure(
    check: str,
    sentence: str,
    instance: Instance | None = None,
    plan: object = None,
    second: object = None,
    workload: Record | None = None,
) -> Failed:
    """Return the failure of a check, to be raised.

    Args:
        check: Name of the check.
        sentence: The fault.
        instance: Instance on which the check failed.
        plan: The scheduler's answer.
        second: Another answer to the same instance.
        workload: Workload of the run in which the check failed.
    """
    return FAILURES[check](Counterexample(check, sentence, instance, plan, second=second, workload=workload))


@dataclasses.dataclass
class Examiner:
    """Examiner that applies the `active` checks to a scheduler, instance after instance, and collects results.

    Attributes:
        answer: The scheduler as a function of the instance, with a fresh rng at every call.
        goal: Objective by which plans are compared.
        best: Returns the proven answer of an instance, or None to skip the comparison.
        active: Names of the active checks.
        largest_gap: Largest gap that is allowed on one instance.
        roomy: As in `Problem`.
        seen: Number of examined instances.
        starved: Number of these in which a rolled-out rule lets jobs wait forever that it serves in a larger cluster.
        gaps: Gaps of the compared instances.
        examined: Some of the instances with the scheduler's plans.
        first_error: First exception of the scheduler.
    """

    answer: Callable[[Instance], Any]
    goal: Objective
    best: Callable[[Instance], Result | None]
    active: set[str]
    largest_gap: float | None = None
    roomy: Callable[[Instance], Instance] | None = None
    seen: int = 0
    starved: int = 0
    gaps: list[Gap] = dataclasses.field(default_factory=list)
    examined: list[tuple[Instance, Any]] = dataclasses.field(default_factory=list)
    first_error: BaseException | None = None

    def __call__(self, instance: Instance) -> None:
        """Examine one instance; raise Failed for a fault. Instances that are infeasible are skipped."""
        best = self.best(instance)
        if best is not None and best.status == "infeasible":
            return
        self.seen += 1
        before = copy.deepcopy(instance.to_json())
        try:
            plan, second_plan = self.answer(instance), self.answer(instance)
        except NoFeasiblePlan:
            self.seen -= 1
            return
        except Stuck as error:
            if self._serves_with_room(instance):
                self.starved += 1
            else:
                self._raise_if_active("answers", str(error), instance)
            return
        except MlschedError as error:
            # Adapters call rules themselves, and reject faulty rounds.
            self.first_error = self.first_error or error
            self._raise_if_active("feasible" if "infeasible plan" in str(error) else "answers", str(error), instance)
            return
        except Exception as error:
            self.first_error = self.first_error or error
            self._raise_if_active("answers", f"the scheduler raised {describe_exception(error)}", instance)
            return
        for check, sentence in self._wrong(instance, before, plan, second_plan):
            self._raise_if_active(check, sentence, instance, plan, second_plan if check == "reproducible" else None)
        if isinstance(plan, instance.plan_type) and not instance.violations(plan):
            if best is not None:
                self._compare(instance, plan, best)
            if len(self.examined) < 32:
                self.examined.append((instance, plan))

    def _serves_with_room(self, instance: Instance) -> bool:
        """Return whether a rule that is stuck in a small cluster serves the jobs in a large one (`testing/room.py`)."""
        if self.roomy is None:
            return False
        try:
            self.answer(self.roomy(instance))
        except Stuck:
            return False
        return True

    def _raise_if_active(
        self, check: str, sentence: str, instance: Instance, plan: object = None, second: object = None
    ) -> None:
        if check in self.active:
            raise failure(check, sentence, instance, plan, second)

    @staticmethod
    def _wrong(instance: Instance, before: object, plan: object, again: object) -> Iterator[tuple[str, str]]:
        if not isinstance(plan, instance.plan_type):
            yield (
                "answers",
                f"the scheduler returned {with_article(type(plan).__name__)}: "
                f"expected {with_article(instance.plan_type.kind)}",
            )
            return
        for sentence in instance.violations(plan)[:1]:
            yield "feasible", f"the plan is infeasible: {sentence}"
        if plan != again:
            yield "reproducible", "the same instance and rng gave two plans"
        if instance.to_json() != before:
            yield "untouched", "the scheduler changed the instance"

    def _compare(self, instance: Instance, plan: object, best: Result) -> None:
        """Compare a plan with the proven optimum."""
        name, value = self.goal.name, instance.evaluate(plan)[self.goal.name]
        if best.status != "optimal" or best.sort_key is None:
            raise AssertionError(f"{best.solver} did not prove an optimum on {instance!r}")
        gap = gap_between(
            value,
            best.sort_key,
            sense=self.goal.sense,
            unit=self.goal.unit,
            primary=instance.primary(name),
            tolerance=instance.tolerance,
        )
        if gap.difference < 0:
            self._raise_if_active(
                "bounded", f"{name} = {value} beats the proven optimum {best.sort_key}", instance, plan
            )
        self.gaps.append(gap)
        unbounded = gap.share is None and gap.difference > 0  # the primary criterion decides, or the optimum is 0
        if self.largest_gap is not None and (unbounded or gap > self.largest_gap):
            sentence = (
                f"{name} = {value} is {gap} worse than the optimum {best.sort_key}: {self.largest_gap:g} is allowed"
            )
            self._raise_if_active("gap", sentence, instance, plan)

    def again(self, calls: int) -> None:
        """Call the scheduler for the examined instances again, in turn, until `calls` calls have been made in total."""
        for number in range(max(len(self.examined), calls - 2 * self.seen) if self.examined else 0):
            instance, plan = self.examined[number % len(self.examined)]
            try:
                repeated = self.answer(instance)
            except Exception as error:
                repeated = describe_exception(error)
            if repeated != plan:
                sentence = f"call {2 * self.seen + number + 1} answers an instance otherwise than an earlier one did"
                self._raise_if_active("reproducible", sentence, instance, plan, repeated)


def exact_reference(reference: str | None, objective: str) -> Callable[[Instance], Result | None]:
    """Return a function that solves an instance to optimality, or returns None if it is too large."""

    def best(instance: Instance) -> Result | None:
        if reference is None:
            return None
        with contextlib.suppress(TooLarge):
            return api.solve(instance, reference, objective=objective)
        return None

    return best
