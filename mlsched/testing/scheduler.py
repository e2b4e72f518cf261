"""Hold a scheduling rule to the properties that every rule must have, on instances of several kinds."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from mlsched.core.arguments import validate_arguments
from mlsched.core.contract import Problem, Question
from mlsched.core.errors import InvalidInput
from mlsched.core.gap import sum_up
from mlsched.core.params import NotNegative, Range
from mlsched.core.registry import registry
from mlsched.testing.checks import CHECKS, Examiner, Failed, exact
from mlsched.testing.combined import Recipe, minimal, recipes
from mlsched.testing.counterexample import Counterexample
from mlsched.testing.drawing import drawn
from mlsched.testing.report import CheckFailed, Outcome, Report
from mlsched.testing.runs import make_runs
from mlsched.testing.subject import subject

#: Calls that a full check makes in all, and from how many examples on it is a full one.
CALLS, FULL = 400, 100
#: What is said of a rule that lets jobs wait for ever where there is little room, and serves them where there is more.
STARVED = "in {} of them jobs wait for ever, which it serves in a larger cluster"


@validate_arguments
def check_scheduler(
    scheduler: str | Callable[..., Any],
    problem: str,
    *,
    objective: str | None = None,
    examples: Annotated[int, Range(4)] = 200,
    reference: str | None = "brute-force",
    stateful: bool = False,
    called: Question | None = None,
    checks: Collection[str] | None = None,
    expected_failures: Mapping[str, str] | None = None,
    largest_gap: NotNegative | None = None,
    mean_gap: NotNegative | None = None,
    calls: Annotated[int, Range(0)] | None = None,
    keep: str | Path | None = None,
    raise_failures: bool = True,
) -> Report:
    """Check a rule `scheduler(instance, *, rng) -> plan` on small instances of a problem.

    A quarter of them is the problem's Hypothesis strategy (adversarial), a quarter its strategy of contended instances
    (several decisions in one answer that bear on each other), both shrunk to a minimal failing case. A quarter is its
    generator (realistic), and a quarter combines features that the judge's rules distinguish (`Problem.features`),
    every two of them. `CHECKS` says what is checked on each.

    A run in which the rule serves nobody any more while jobs wait is a failure only where it does the same in a cluster
    with room for all jobs on every node; else the report counts it (a rule that never splits a job over nodes).

    A problem whose instances ask for a horizon is also answered by rules that decide now (registered so, or a function
    with `called="online"`): the problem's world rolls such a rule out, and the plan it makes is checked.

    Args:
        scheduler: a function, or the name of a registered rule.
        problem: its name.
        objective: by which plans are compared; the problem's first by default.
        examples: how many instances.
        reference: the exact solver whose plans are compared with the rule's (None: not compared); what it proves
            infeasible is left out.
        stateful: the rule is called as `scheduler(instance, *, memory, rng) -> (plan, memory)`, memory None first.
        called: "decision" where the problem is asked for a horizon and the rule decides now.
        checks: only these, by name.
        expected_failures: check -> the reason why it is known to fail; its failure is reported and not raised.
        largest_gap: the gap to the optimum that is allowed on one instance, as a share (0.1: 10 %). Where the optimum
            is 0, and where the rank decides, nothing worse than the optimum is allowed.
        mean_gap: the same on average.
        calls: how often it is called in all, and whether a run of hundreds of decisions is made as well; default: 400
            from 100 examples on, else none are added.
        keep: a folder for counterexamples, as files and pictures.
        raise_failures: False to look at the report's failures oneself.

    Returns:
        What was seen of every check.

    Raises:
        CheckFailed: an AssertionError, with the first counterexample.

    Examples:
        >>> report = mlsched.check_scheduler("fifo", "preemption", examples=8, checks=["answers", "feasible"])
        >>> report.failures
        ()
    """
    wanted, known = _wanted(checks, expected_failures, largest_gap, mean_gap)
    entry = registry().problem(problem)
    goals = {o.name: o for o in entry.instance_type.objectives}
    goal = next(iter(goals.values())) if objective is None else goals.get(objective)
    if goal is None:
        raise InvalidInput(f"objective = {objective!r}: {problem} has {', '.join(goals)}")
    tested = subject(scheduler, problem, goal.name, stateful, called)
    calls = (CALLS if examples >= FULL else 0) if calls is None else calls
    examiner = Examiner(tested.call, goal, exact(reference, goal.name), set(wanted), largest_gap, entry.roomy)

    failed: dict[str, Counterexample] = {}
    while examiner.active - {"runs"}:
        examiner.seen, examiner.starved, examiner.gaps, examiner.known = 0, 0, [], []
        wrong = _examples(examiner, entry, examples, calls) or _on_average(examiner, mean_gap)
        if wrong is None:
            break
        failed[wrong.check] = wrong
        # What else is wrong is of interest only where this failure is expected, or all are asked for.
        examiner.active -= {wrong.check} if wrong.check in known or not raise_failures else examiner.active
    if not examiner.seen and not failed and set(wanted) - {"runs"}:
        raise InvalidInput(f"{problem}: {reference} finds every instance infeasible; nothing was checked")
    runs = starved = 0
    if (
        "runs" in wanted
        and (not raise_failures or set(failed) <= set(known))
        and tested.decides(entry.instance_type.called)
    ):
        runs, starved, wrong = make_runs(tested, problem, examples, bool(calls))
        if wrong is not None:
            failed["runs"] = wrong
    failed = {name: c if keep is None else c.kept(keep, tested.name) for name, c in failed.items()}
    counts = dict.fromkeys(wanted, examiner.seen) | {"bounded": len(examiner.gaps), "gap": len(examiner.gaps)}
    counts["runs"] = runs
    outcomes = {check: _outcome(check, counts[check], failed.get(check), known) for check in wanted}
    for check, count in (("answers", examiner.starved), ("runs", starved)):
        if check in outcomes and count and outcomes[check].status == "passed":
            outcomes[check] = dataclasses.replace(outcomes[check], note=STARVED.format(count))
    report = Report(tested.name, problem, goal.name, examiner.seen, sum_up(examiner.gaps), outcomes)
    if raise_failures and report.failures:
        raise CheckFailed(report) from examiner.raised
    return report


def _outcome(check: str, count: int, failed: Counterexample | None, known: Mapping[str, str]) -> Outcome:
    """What came of one check that looked at so many instances or runs."""
    reason = known.get(check, "")
    if failed is not None:
        return Outcome(check, "expected" if check in known else "failed", max(1, count), reason, failed)
    if count:
        return Outcome(check, "passed", count, reason)
    why = "another failed before, or it answers a horizon" if check == "runs" else "nothing was compared"
    return Outcome(check, "skipped", 0, why)


def _wanted(
    checks: Collection[str] | None, expected: Mapping[str, str] | None, largest: float | None, mean: float | None
) -> tuple[list[str], dict[str, str]]:
    """The checks to make, in their order, and the reasons of expected failures."""
    known = dict(expected or {})
    for name in (*(checks or ()), *known):
        if name not in CHECKS:
            raise InvalidInput(f"checks: there is no check {name!r}; there are {', '.join(CHECKS)}")
    thresholds = largest is not None or mean is not None
    chosen = [name for name in CHECKS if (checks is None or name in checks) and (name != "gap" or thresholds)]
    if not chosen:
        raise InvalidInput("checks: none is left; for 'gap', give largest_gap or mean_gap")
    return chosen, known


def _examples(examiner: Examiner, problem: Problem, examples: int, calls: int) -> Counterexample | None:
    """The first check that fails on an example, with its minimal instance."""
    try:
        bases = list[Any]()

        def noted(instance: Any) -> None:
            bases.append(instance.replace())
            examiner(instance)

        strategies, each, generated, combined = shares(problem, examples)
        for strategy in strategies:
            drawn(noted, strategy, each)
        sizes = problem.presets["small"].sizes if "small" in problem.presets else {}
        for seed in range(generated):
            noted(problem.generate(np.random.default_rng(seed), **sizes))
        for recipe in recipes(problem, bases, combined):
            _combined(examiner, problem, recipe)
        examiner.again(calls)
    except Failed as failed:
        return failed.counterexample
    return None


def shares(problem: Problem, examples: int) -> tuple[list[Any], int, int, int]:
    """Return the strategies, and the numbers of examples of each, of the generator, and of combined features."""
    strategies = [problem.strategy(), *([problem.contended()] if problem.contended else [])]
    each = examples // 2 // len(strategies)
    rest = examples - each * len(strategies)
    combined = rest // 2 if problem.features else 0
    return strategies, each, rest - combined, combined


def _combined(examiner: Examiner, problem: Problem, recipe: Recipe) -> None:
    """Examine an instance of combined features; raises Failed with as few features as still fail."""
    try:
        examiner(recipe.make(problem))
    except Failed as found:
        kind = type(found)

        def fails(instance: Any) -> bool:
            try:
                examiner(instance)
            except kind:
                return True
            except Failed:
                return False
            return False

        examiner(minimal(problem, recipe, fails).make(problem))
        raise


def _on_average(examiner: Examiner, mean_gap: float | None) -> Counterexample | None:
    if mean_gap is None or "gap" not in examiner.active:
        return None
    seen = sum_up(examiner.gaps)
    if (seen.mean or 0.0) <= mean_gap and not seen.behind and not seen.mean_difference:
        return None  # where the rank decides, or the optimum is 0, no percentage is small enough
    return Counterexample("gap", f"{seen}: a mean gap of {mean_gap:g} is allowed", None)
