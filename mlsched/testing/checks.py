"""The properties that every scheduling rule must have, by name, and what one instance says of them."""

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
from mlsched.core.result import Result
from mlsched.testing.counterexample import Counterexample
from mlsched.testing.subject import NoFeasiblePlan

#: Check -> what it holds a scheduler to.
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
    """A check failed on an instance. Each check has a class of its own, so that shrinking keeps to one fault."""

    def __init__(self, counterexample: Counterexample) -> None:
        super().__init__(counterexample.sentence)
        self.counterexample = counterexample


FAILURES: dict[str, type[Failed]] = {name: type(f"Failed_{name}", (Failed,), {}) for name in CHECKS}


def fail(check: str, sentence: str, instance: Instance | None = None, plan: Any = None, second: Any = None) -> Failed:
    """The failure of a check, to be raised; second: another answer to the same instance."""
    return FAILURES[check](Counterexample(check, sentence, instance, plan, second=second))


@dataclasses.dataclass
class Examiner:
    """Holds a scheduler to the checks that are `active`, instance after instance, and keeps what it saw.

    answer: the scheduler as a function of the instance, with a fresh rng at every call. best: the proven answer of an
    instance, or None for no comparison. roomy: as of `Problem`. seen: instances examined; starved: of these, those that
    a rolled-out rule leaves with jobs that wait for ever, and serves where there is room; gaps: of those that were
    compared; known: some of the instances with the plans that were given for them;
    raised: the first exception of the scheduler.
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
    known: list[tuple[Instance, Any]] = dataclasses.field(default_factory=list)
    raised: BaseException | None = None

    def __call__(self, instance: Instance) -> None:
        """Examine one instance; raises Failed. What the reference or a rule's world finds infeasible is passed over."""
        best = self.best(instance)
        if best is not None and best.status == "infeasible":
            return
        self.seen += 1
        before = copy.deepcopy(instance.to_json())
        try:
            plan, again = self.answer(instance), self.answer(instance)
        except NoFeasiblePlan:
            self.seen -= 1
            return
        except Stuck as error:
            if self._serves_with_room(instance):
                self.starved += 1
            else:
                self._found("answers", str(error), instance)
            return
        except MlschedError as error:
            # Adapters ask rules themselves, and refuse what is wrong with their rounds.
            self.raised = self.raised or error
            self._found("feasible" if "infeasible plan" in str(error) else "answers", str(error), instance)
            return
        except Exception as error:
            self.raised = self.raised or error
            self._found("answers", f"the scheduler raised {describe_exception(error)}", instance)
            return
        for check, sentence in self._wrong(instance, before, plan, again):
            self._found(check, sentence, instance, plan, again if check == "reproducible" else None)
        if isinstance(plan, instance.plan_type) and not instance.violations(plan):
            if best is not None:
                self._compare(instance, plan, best)
            if len(self.known) < 32:
                self.known.append((instance, plan))

    def _serves_with_room(self, instance: Instance) -> bool:
        """Whether a rule that is stuck in a small cluster serves the same jobs in a large one (`testing/room.py`)."""
        if self.roomy is None:
            return False
        try:
            self.answer(self.roomy(instance))
        except Stuck:
            return False
        return True

    def _found(self, check: str, sentence: str, instance: Instance, plan: Any = None, second: Any = None) -> None:
        if check in self.active:
            raise fail(check, sentence, instance, plan, second)

    @staticmethod
    def _wrong(instance: Instance, before: Any, plan: Any, again: Any) -> Iterator[tuple[str, str]]:
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

    def _compare(self, instance: Instance, plan: Any, best: Result) -> None:
        """Against the proven optimum."""
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
            self._found("bounded", f"{name} = {value} beats the proven optimum {best.sort_key}", instance, plan)
        self.gaps.append(gap)
        unbounded = gap.share is None and gap.difference > 0  # the rank decides, or the optimum is 0
        if self.largest_gap is not None and (unbounded or gap > self.largest_gap):
            sentence = (
                f"{name} = {value} is {gap} worse than the optimum {best.sort_key}: {self.largest_gap:g} is allowed"
            )
            self._found("gap", sentence, instance, plan)

    def again(self, calls: int) -> None:
        """Ask about each known instance once more, in turns, and on until so many calls have been made in all."""
        for number in range(max(len(self.known), calls - 2 * self.seen) if self.known else 0):
            instance, plan = self.known[number % len(self.known)]
            try:
                now = self.answer(instance)
            except Exception as error:
                now = describe_exception(error)
            if now != plan:
                sentence = f"call {2 * self.seen + number + 1} answers an instance otherwise than an earlier one did"
                self._found("reproducible", sentence, instance, plan, now)


def exact(reference: str | None, objective: str) -> Callable[[Instance], Result | None]:
    """What proves the optimum of an instance; None where it is too large for that."""

    def best(instance: Instance) -> Result | None:
        if reference is None:
            return None
        with contextlib.suppress(TooLarge):
            return api.solve(instance, reference, objective=objective)
        return None

    return best
