"""One task done: the call, the judged rows, and what makes the instance hard. Runs in any process."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import resource
import sys
from collections.abc import Callable
from typing import Any

from mlsched.api import generate, solve
from mlsched.api.confirm import with_confirmation
from mlsched.api.guard import is_foreign
from mlsched.benchmark.calibration import calibrated
from mlsched.benchmark.fronts import FrontTask
from mlsched.benchmark.row import Row
from mlsched.benchmark.tasks import ANSWER_SEED, JUDGE, PUBLISHED, Asked, Task
from mlsched.core.clock import cpu_time
from mlsched.core.contract import Instance, Plan
from mlsched.core.errors import InvalidInput, MlschedError, RuleFailure, TooLarge, UnknownName, describe_exception
from mlsched.core.formulation import Limits
from mlsched.core.registry import registry
from mlsched.core.request import Request
from mlsched.core.result import Result

#: Seed of the throw-away instance of the first, untimed call; no suite uses it.
WARM_UP_SEED = 10**6 - 1
#: Wall seconds of that call, whose answer nobody reads.
WARM_UP_SECONDS = 1.0
#: Calls of a task that repeats its call, at least.
LEAST_CALLS = 3
#: Wall seconds and bytes that a solver in a process of its own may take for a call, where the case has no limit.
FOREIGN_SECONDS, FOREIGN_MEMORY = 60.0, 2**32
#: Least wall seconds for second opinions: a backstop, so that limits of work come first on a machine that is busy.
CONFIRM_SECONDS = 10.0
#: Share of a case's own wall limit that second opinions may take there: most need a few hundredths of a second, and an
#: engine that is not asked about an instance for being slow there would use up all of it.
CONFIRM_SHARE = 0.2
#: Whose optima carry what binds, on the instances that everybody answers: each relaxation is a solve of its own.
RELAXED_PRESET, RELAXING_SOLVER = "small", "brute-force"


def answer(task: Asked, isolate: bool = True) -> list[Row]:
    """The rows of one task. Whatever the solver does wrong becomes a failed row, never an exception.

    isolate: ask a solver that is not mlsched's own in a process of its own. There, only it can crash or hang; it
    takes about 15 ms a call, which is more than most rules take, so that mlsched's own are asked in this process.
    """
    try:
        if isinstance(task, FrontTask):
            return task.answered()
        assert isinstance(task, Task)
        return _answered(task, isolate)
    except UnknownName as error:  # a solver registered in the parent process only
        return failed(task, _line(error))
    except TooLarge as error:
        # Exact algorithms and trained policies may refuse what is beyond them; a rule must answer every instance.
        if isinstance(task, Task) and task.kind in ("exact", "trained"):
            return task.rows(status="skipped", error=_line(error))
        return failed(task, _line(error))
    except RuleFailure as error:
        return task.rows(status=error.how, error=_line(error))
    except MlschedError as error:
        return failed(task, _line(error))
    except Exception as error:  # the suite goes on, whatever a rule, a warm start or a backend raises
        return failed(task, f"{task.solver}: {' '.join(describe_exception(error).split())}")


def _answered(task: Task, isolate: bool) -> list[Row]:
    """The rows of a task, or what its solver raises."""
    if task.solver == PUBLISHED:
        return task.rows(status="optimal", sort_key=task.published, sort_bound=task.published, gap=0.0)
    found = task.found
    apart = isolate and found is not None and is_foreign(found)
    instance = task.instance()
    if instance.hash != task.instance_hash:
        if task.source is not None:
            return failed(task, f"{task.source} holds another instance by now")
        return failed(task, f"the generator of {task.problem} drew another instance from the same seed")
    if task.solver == JUDGE:
        return _judged(task, instance)
    # Algorithms load nothing beforehand, and may be slow.
    if not apart and (found is None or found.algorithm is None):
        _warm_up(task.problem, task.solver)

    def ask() -> Result:
        return solve(
            instance,
            task.solver,
            objective=task.objectives[0],
            time_limit=task.time_limit or (FOREIGN_SECONDS if apart else None),
            work_limit=task.work_limit,
            seed=task.seed + ANSWER_SEED,
            threads=1,
            isolate=apart,
            memory_limit=FOREIGN_MEMORY if apart else None,
            **dict(task.params),
        )

    begun = cpu_time()
    result = ask()
    spent = cpu_time() - begun
    if task.repeat is not None:
        calls, spent = _repeated(ask, task.repeat)
        result = dataclasses.replace(result, work={**result.work, **_cost(calls)})
    return _rows(task, instance, _confirmed(task, instance, result), spent)


def _repeated(call: Callable[[], object], seconds: float) -> tuple[int, float]:
    """How often a call was made in so many CPU seconds, three times at least, and the CPU time of the shortest."""
    begun, calls, shortest = cpu_time(), 0, math.inf
    while calls < LEAST_CALLS or cpu_time() - begun < seconds:
        started = cpu_time()
        call()
        shortest = min(shortest, cpu_time() - started)
        calls += 1
    return calls, shortest


def _cost(calls: int) -> dict[str, float]:
    """What the cost of a repeated call is read with, as a row's `work`."""
    return {"calls": calls, "calibration": calibrated()}


def _judged(task: Task, instance: Instance) -> list[Row]:
    """The judge, timed on the plan of a rule that starts searches: feasibility, and the values of all objectives."""
    rules = registry().available(task.problem, kind="heuristic")
    name = next((rule.name for rule in rules if rule.warm_start), registry().problem(task.problem).default)
    plan = solve(instance, name, seed=task.seed + ANSWER_SEED).plan
    if plan is None:
        return failed(task, f"{name} found no plan to judge")
    calls, spent = _repeated(lambda: (instance.violations(plan), instance.evaluate(plan)), task.repeat or 0.0)
    values = instance.evaluate(plan)
    made = task.rows(status="feasible", sort_keys=values, cpu_seconds=spent, work=_cost(calls), peak_mib=_peak_mib())
    return [dataclasses.replace(row, sort_key=values[row.objective]) for row in made]


def _confirmed(task: Task, instance: Instance, result: Result) -> Result:
    """The result with a second engine's word, where the suite asks for it."""
    if task.confirm is None or (solver := task.found) is None:
        return result
    limits = Limits(threads=1, seed=task.seed + ANSWER_SEED)
    share = CONFIRM_SECONDS if task.time_limit is None else CONFIRM_SHARE * task.time_limit
    seconds = share if task.confirm_limit is None else task.confirm_limit
    request = Request(solver, result.objective, dict(task.params), limits, instance=instance)
    return with_confirmation(request, result, dict(task.confirm), seconds)


def failed(task: Asked, reason: str) -> list[Row]:
    """The rows of a task that broke."""
    return task.rows(status="failed", error=reason)


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


@functools.cache
def _warm_up(problem: str, name: str) -> None:
    """Call a solver once, untimed: the first call of a process imports its backend or loads its weights.

    What goes wrong here goes wrong again in the timed call.
    """
    preset = "small" if "small" in registry().problem(problem).presets else None
    with contextlib.suppress(Exception):
        solve(generate(problem, preset=preset, seed=WARM_UP_SEED), name, time_limit=WARM_UP_SECONDS)


def _rows(task: Task, instance: Instance, result: Result, cpu_seconds: float) -> list[Row]:
    """The result as rows, each objective's value taken from the judge."""
    exact = len(task.objectives) == 1
    made = task.rows(
        status=result.status,
        sort_keys=result.sort_keys,
        sort_bound=result.sort_bound,
        gap=result.gap,
        stopped_by=result.stopped_by,
        seconds=result.seconds,
        cpu_seconds=cpu_seconds,
        peak_mib=_peak_mib(),
        work=dict(result.work),
        evidence=result.evidence,
        confirmed_by=result.confirmed_by,
        confirm_seconds=result.confirm_seconds,
        doubt=result.doubt,
        **(_hardness(task, instance, result) if exact else {}),
    )
    return [
        dataclasses.replace(row, sort_key=None if row.sort_keys is None else row.sort_keys[row.objective])
        for row in made
    ]


def _peak_mib() -> float:
    """The most memory that this process had taken so far, MiB."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / 2**20 if sys.platform == "darwin" else most / 2**10


def _hardness(task: Task, instance: Instance, result: Result) -> dict[str, Any]:
    """Return the special cases of a decision's optimal plan, and which constraints bind there; none of a run's."""
    problem = registry().problem(task.problem)
    if result.status != "optimal" or result.plan is None or not isinstance(instance, problem.instance_type):
        return {}
    hardness: dict[str, Any] = {"cases": problem.cases(instance, result.plan)}
    default = instance.objectives[0].name
    if (task.preset, task.solver, task.objectives[0]) == (RELAXED_PRESET, RELAXING_SOLVER, default):
        hardness["binding"] = _binding(task, instance, result.plan)
    return hardness


def _binding(task: Task, instance: Instance, plan: Plan) -> dict[str, bool]:
    """Constraint -> whether the default objective's optimum gets better without it.

    The plan is valued by the relaxed instance too: a value's scale may depend on the instance (the price of a deferred
    job does). The problem's default is asked, whatever rules say: without a constraint there may be more plans than can
    be examined. A relaxed instance that it refuses is left out.
    """
    binding = {}
    objective, problem = instance.objectives[0], registry().problem(task.problem)
    limits: dict[str, Any] = {"time_limit": task.time_limit, "seed": task.seed + ANSWER_SEED, "threads": 1}
    for name, relaxed in problem.relaxations(instance).items():
        with contextlib.suppress(InvalidInput):
            better = solve(relaxed, problem.default, objective=objective.name, hint="none", **limits)
            if better.status == "optimal" and better.sort_key is not None:
                binding[name] = objective.better(better.sort_key, relaxed.evaluate(plan)[objective.name])
    return binding
