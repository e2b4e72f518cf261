"""Checks that every scheduling rule must pass, on instances of several kinds."""

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
from mlsched.testing.checks import CHECKS, Examiner, Failed, exact_reference
from mlsched.testing.combined import Recipe, minimal_recipe, recipes
from mlsched.testing.counterexample import Counterexample
from mlsched.testing.drawing import examine_draws
from mlsched.testing.report import CheckFailed, Outcome, Report
from mlsched.testing.runs import make_runs
from mlsched.testing.subject import subject

#: Total number of calls in a full check, and number of examples from which a check is full.
CALLS, FULL = 400, 100
#: Note on a rule that lets jobs wait forever in a small cluster, and serves them in a larger one.
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

    A quarter of the instances comes from the problem's Hypothesis strategy (adversarial), and a quarter from its
    strategy of contended instances, in which the decisions of one answer interact; both are shrunk to a minimal failing
    case. A quarter comes from its generator (realistic), and a quarter combines features that the judge's rules
    distinguish (`Problem.features`), covering all pairs. `CHECKS` lists the properties that are checked.

    A run that gets stuck with waiting jobs is a failure only if the same happens in a cluster with space for all jobs
    on every node; otherwise the report counts it (a rule that never splits a job over nodes).

    Problems with horizons also accept rules that decide now (registered so, or a function with `called="online"`): the
    problem's simulator rolls such a rule out, and its plan is checked.

    Args:
        scheduler: A function, or the name of a registered rule.
        problem: Name of the problem.
        objective: Objective by which plans are compared; by default the problem's first.
        examples: Number of instances.
        reference: Exact solver whose plans are compared with the rule's (None: without comparison); instances that it
            proves infeasible are skipped.
        stateful: The rule is called as `scheduler(instance, *, memory, rng) -> (plan, memory)`, with memory None at
            first.
        called: "online" if the problem's instances are horizons and the rule decides now.
        checks: Names of the checks to make; by default all.
        expected_failures: Check -> reason of a known failure, which is reported and not raised.
        largest_gap: Largest allowed gap to the optimum on one instance, as a share (0.1: 10 %). If the optimum is 0, or
            the primary criterion decides, the plan must be optimal.
        mean_gap: Largest allowed mean gap.
        calls: Total number of calls; the instances are repeated until it is reached. A number above 0 also adds a
            simulated run of hundreds of decisions. By default 400 if `examples` is at least 100, otherwise 0.
        keep: Folder for counterexamples, as files and pictures.
        raise_failures: Raise CheckFailed; with False, see the report's failures.

    Returns:
        The outcome of every check.

    Raises:
        CheckFailed: A check failed; an AssertionError with the first counterexample.

    Examples:
        >>> report = mlsched.check_scheduler("fifo", "preemption", examples=8, checks=["answers", "feasible"])
        >>> report.failures
        ()
    """
    selection, reasons = _selected_checks(checks, expected_failures, largest_gap, mean_gap)
    entry = registry().problem(problem)
    goals = {o.name: o for o in entry.instance_type.objectives}
    goal = next(iter(goals.values())) if objective is None else goals.get(objective)
    if goal is None:
        raise InvalidInput(f"objective = {objective!r}: {problem} has {', '.join(goals)}")
    candidate = subject(scheduler, problem, goal.name, stateful, called)
    calls = (CALLS if examples >= FULL else 0) if calls is None else calls
    examiner = Examiner(
        candidate.call, goal, exact_reference(reference, goal.name), set(selection), largest_gap, entry.roomy
    )

    failed: dict[str, Counterexample] = {}
    while examiner.active - {"runs"}:
        examiner.seen, examiner.starved, examiner.gaps, examiner.examined = 0, 0, [], []
        failure = _first_failure(examiner, entry, examples, calls) or _mean_gap_failure(examiner, mean_gap)
        if failure is None:
            break
        failed[failure.check] = failure
        # Further faults matter only if this failure is expected, or if all are reported.
        examiner.active -= {failure.check} if failure.check in reasons or not raise_failures else examiner.active
    if not examiner.seen and not failed and set(selection) - {"runs"}:
        raise InvalidInput(f"{problem}: {reference} finds every instance infeasible, so the rule was not checked")
    runs = starved_runs = 0
    if (
        "runs" in selection
        and (not raise_failures or set(failed) <= set(reasons))
        and candidate.decides(entry.instance_type.called)
    ):
        runs, starved_runs, failure = make_runs(candidate, problem, examples, bool(calls))
        if failure is not None:
            failed["runs"] = failure
    failed = {name: c if keep is None else c.saved_to(keep, candidate.name) for name, c in failed.items()}
    counts = dict.fromkeys(selection, examiner.seen) | {"bounded": len(examiner.gaps), "gap": len(examiner.gaps)}
    counts["runs"] = runs
    outcomes = {check: _outcome(check, counts[check], failed.get(check), reasons) for check in selection}
    for check, count in (("answers", examiner.starved), ("runs", starved_runs)):
        if check in outcomes and count and outcomes[check].status == "passed":
            outcomes[check] = dataclasses.replace(outcomes[check], note=STARVED.format(count))
    report = Report(candidate.name, problem, goal.name, examiner.seen, sum_up(examiner.gaps), outcomes)
    if raise_failures and report.failures:
        raise CheckFailed(report) from examiner.first_error
    return report


def _outcome(check: str, count: int, counterexample: Counterexample | None, reasons: Mapping[str, str]) -> Outcome:
    """Return the outcome of one check.

    Args:
        check: Name of the check.
        count: Number of examined instances or runs.
        counterexample: Its counterexample, if it failed.
        reasons: Reasons of expected failures, by check.
    """
    reason = reasons.get(check, "")
    if counterexample is not None:
        return Outcome(check, "expected" if check in reasons else "failed", max(1, count), reason, counterexample)
    if count:
        return Outcome(check, "passed", count, reason)
    skip_reason = "another failed before, or it answers a horizon" if check == "runs" else "nothing was compared"
    return Outcome(check, "skipped", 0, skip_reason)


def _selected_checks(
    checks: Collection[str] | None, expected: Mapping[str, str] | None, largest: float | None, mean: float | None
) -> tuple[list[str], dict[str, str]]:
    """Return the checks to make, in order, and the reasons of expected failures.

    Args:
        checks: Names of the checks, or None for all.
        expected: Reasons of expected failures.
        largest: Largest allowed gap.
        mean: Largest allowed mean gap.
    """
    reasons = dict(expected or {})
    for name in (*(checks or ()), *reasons):
        if name not in CHECKS:
            raise InvalidInput(f"checks: unknown check {name!r}; there are {', '.join(CHECKS)}")
    thresholds = largest is not None or mean is not None
    selection = [name for name in CHECKS if (checks is None or name in checks) and (name != "gap" or thresholds)]
    if not selection:
        raise InvalidInput("checks: all are excluded; for 'gap', give largest_gap or mean_gap")
    return selection, reasons


def _first_failure(examiner: Examiner, problem: Problem, examples: int, calls: int) -> Counterexample | None:
    """Return the counterexample of the first check that fails on an example, with its minimal instance.

    Args:
        examiner: The examiner.
        problem: The problem.
        examples: Number of instances.
        calls: Total number of calls.
    """
    try:
        bases = list[Any]()

        def record_and_examine(instance: Any) -> None:
            bases.append(instance.replace())
            examiner(instance)

        strategies, per_strategy, generated, combined = split_examples(problem, examples)
        for strategy in strategies:
            examine_draws(record_and_examine, strategy, per_strategy)
        sizes = problem.presets["small"].sizes if "small" in problem.presets else {}
        for seed in range(generated):
            record_and_examine(problem.generate(np.random.default_rng(seed), **sizes))
        for recipe in recipes(problem, bases, combined):
            _examine_combination(examiner, problem, recipe)
        examiner.again(calls)
    except Failed as failed:
        return failed.counterexample
    return None


def split_examples(problem: Problem, examples: int) -> tuple[list[Any], int, int, int]:
    """Return the strategies, and the numbers of examples of each, of the generator, and of combined features."""
    strategies = [problem.strategy(), *([problem.contended()] if problem.contended else [])]
    per_strategy = examples // 2 // len(strategies)
    rest = examples - per_strategy * len(strategies)
    combined = rest // 2 if problem.features else 0
    return strategies, per_strategy, rest - combined, combined


def _examine_combination(examiner: Examiner, problem: Problem, recipe: Recipe) -> None:
    """Examine an instance of combined features; raise Failed with as few features as still fail."""
    try:
        examiner(recipe.make(problem))
    except Failed as failure:
        kind = type(failure)

        def fails(instance: Any) -> bool:
            try:
                examiner(instance)
            except kind:
                return True
            except Failed:
                return False
            return False

        examiner(minimal_recipe(problem, recipe, fails).make(problem))
        raise


def _mean_gap_failure(examiner: Examiner, mean_gap: float | None) -> Counterexample | None:
    if mean_gap is None or "gap" not in examiner.active:
        return None
    summary = sum_up(examiner.gaps)
    if (summary.mean or 0.0) <= mean_gap and not summary.behind and not summary.mean_difference:
        return None  # if the primary criterion decides, or the optimum is 0, any difference is too large
    return Counterexample("gap", f"{summary}: a mean gap of {mean_gap:g} is allowed", None)
