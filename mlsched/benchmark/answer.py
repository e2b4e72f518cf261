"""Execution of one task: the call, the judged rows, and the hardness of the instance. Runs in any process."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import resource
import sys
from collections.abc import Callable

from mlsched.api import generate, solve
from mlsched.api.confirm import with_confirmation
from mlsched.api.guard import is_foreign
from mlsched.benchmark.calibration import calibrated
from mlsched.benchmark.fronts import FrontTask
from mlsched.benchmark.row import Row
from mlsched.benchmark.tasks import ANSWER_SEED, JUDGE, PUBLISHED, RowTask, Task
from mlsched.core.aliases import Data
from mlsched.core.clock import cpu_time
from mlsched.core.contract import Instance, Plan
from mlsched.core.errors import InvalidInput, MlschedError, RuleFailure, TooLarge, UnknownName, describe_exception
from mlsched.core.formulation import Limits
from mlsched.core.registry import registry
from mlsched.core.request import Request
from mlsched.core.result import Result

#: Seed of the throw-away instance of the first, untimed call; suites never use it.
WARM_UP_SEED = 10**6 - 1
#: Wall seconds of that call, whose answer is discarded.
WARM_UP_SECONDS = 1.0
#: Least number of calls of a task that repeats its call.
LEAST_CALLS = 3
#: Wall seconds and bytes of a call to an isolated solver if the case is unlimited.
FOREIGN_SECONDS, FOREIGN_MEMORY = 60.0, 2**32
#: Least wall seconds for confirmations: a backstop, so that limits of work come first on a busy machine.
CONFIRM_SECONDS = 10.0
#: Share of a case's own wall limit for confirmations: most need a few hundredths of a second, and a slow engine would
#: use all of it.
CONFIRM_SHARE = 0.2
#: Preset and solver whose optima also report binding constraints; each relaxation is a solve of its own.
RELAXED_PRESET, RELAXING_SOLVER = "small", "brute-force"


def answer(task: RowTask, isolate: bool = True) -> list[Row]:
    """Return the rows of one task; every fault of the solver becomes a failed row, never an exception.

    Args:
        task: The task.
        isolate: Run foreign solvers in their own process, so that only that process can crash or hang. It takes about
            15 ms per call, more than most rules, so mlsched's own solvers run in this process.
    """
    try:
        if isinstance(task, FrontTask):
            return task.answered()
        assert isinstance(task, Task)
        return _answer_task(task, isolate)
    except UnknownName as error:  # a solver registered only in the parent process
        return failed_rows(task, _error_line(error))
    except TooLarge as error:
        # Exact algorithms and trained policies may reject large instances; a rule must answer every instance.
        if isinstance(task, Task) and task.kind in ("exact", "trained"):
            return task.rows(status="skipped", error=_error_line(error))
        return failed_rows(task, _error_line(error))
    except RuleFailure as error:
        return task.rows(status=error.how, error=_error_line(error))
    except MlschedError as error:
        return failed_rows(task, _error_line(error))
    except Exception as error:  # the suite continues after any exception of a rule, a warm start or a backend
        return failed_rows(task, f"{task.solver}: {' '.join(describe_exception(error).split())}")


def _answer_task(task: Task, isolate: bool) -> list[Row]:
    """Return the rows of a task, or raise the exception of its solver."""
    if task.solver == PUBLISHED:
        return task.rows(status="optimal", sort_key=task.published, sort_bound=task.published, gap=0.0)
    registered = task.found
    isolated = isolate and registered is not None and is_foreign(registered)
    instance = task.instance()
    if instance.hash != task.instance_hash:
        if task.source is not None:
            return failed_rows(task, f"{task.source} holds another instance by now")
        return failed_rows(task, f"the generator of {task.problem} drew another instance from the same seed")
    if task.solver == JUDGE:
        return _time_judge(task, instance)
    # Algorithms do not load backends beforehand, and may be slow.
    if not isolated and (registered is None or registered.algorithm is None):
        _warm_up(task.problem, task.solver)

    def call_solver() -> Result:
        return solve(
            instance,
            task.solver,
            objective=task.objectives[0],
            time_limit=task.time_limit or (FOREIGN_SECONDS if isolated else None),
            work_limit=task.work_limit,
            seed=task.seed + ANSWER_SEED,
            threads=1,
            isolate=isolated,
            memory_limit=FOREIGN_MEMORY if isolated else None,
            **dict(task.params),
        )

    start_time = cpu_time()
    result = call_solver()
    cpu_seconds = cpu_time() - start_time
    if task.repeat is not None:
        calls, cpu_seconds = _repeat_call(call_solver, task.repeat)
        result = dataclasses.replace(result, work={**result.work, **_cost_context(calls)})
    return _rows(task, instance, _with_second_engine(task, instance, result), cpu_seconds)


def _repeat_call(call: Callable[[], object], seconds: float) -> tuple[int, float]:
    """Repeat a call for some CPU seconds, at least three times; return the number of calls and the least time."""
    start_time, calls, shortest = cpu_time(), 0, math.inf
    while calls < LEAST_CALLS or cpu_time() - start_time < seconds:
        call_start = cpu_time()
        call()
        shortest = min(shortest, cpu_time() - call_start)
        calls += 1
    return calls, shortest


def _cost_context(calls: int) -> dict[str, float]:
    """Return the numbers that put the cost of a repeated call in relation, as a row's `work`."""
    return {"calls": calls, "calibration": calibrated()}


def _time_judge(task: Task, instance: Instance) -> list[Row]:
    """Time the judge on the plan of a warm-start rule: feasibility, and the values of all objectives."""
    rules = registry().available(task.problem, kind="heuristic")
    name = next((rule.name for rule in rules if rule.warm_start), registry().problem(task.problem).default)
    plan = solve(instance, name, seed=task.seed + ANSWER_SEED).plan
    if plan is None:
        return failed_rows(task, f"{name} found no plan to judge")
    calls, shortest = _repeat_call(lambda: (instance.violations(plan), instance.evaluate(plan)), task.repeat or 0.0)
    values = instance.evaluate(plan)
    task_rows = task.rows(
        status="feasible", sort_keys=values, cpu_seconds=shortest, work=_cost_context(calls), peak_mib=_peak_mib()
    )
    return [dataclasses.replace(row, sort_key=values[row.objective]) for row in task_rows]


def _with_second_engine(task: Task, instance: Instance, result: Result) -> Result:
    """Return the result with the confirmation of a second engine if the suite requests it."""
    if task.confirm is None or (solver := task.found) is None:
        return result
    limits = Limits(threads=1, seed=task.seed + ANSWER_SEED)
    share = CONFIRM_SECONDS if task.time_limit is None else CONFIRM_SHARE * task.time_limit
    seconds = share if task.confirm_limit is None else task.confirm_limit
    request = Request(solver, result.objective, dict(task.params), limits, instance=instance)
    return with_confirmation(request, result, dict(task.confirm), seconds)


def failed_rows(task: RowTask, reason: str) -> list[Row]:
    """Return the rows of a failed task."""
    return task.rows(status="failed", error=reason)


def _error_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


@functools.cache
def _warm_up(problem: str, name: str) -> None:
    """Call a solver once, untimed, because the first call of a process imports its backend or loads its weights.

    A fault here occurs again in the timed call.
    """
    preset = "small" if "small" in registry().problem(problem).presets else None
    with contextlib.suppress(Exception):
        solve(generate(problem, preset=preset, seed=WARM_UP_SEED), name, time_limit=WARM_UP_SECONDS)


def _rows(task: Task, instance: Instance, result: Result, cpu_seconds: float) -> list[Row]:
    """Return the result as rows, each objective's value taken from the judge."""
    exact = len(task.objectives) == 1
    task_rows = task.rows(
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
        for row in task_rows
    ]


def _peak_mib() -> float:
    """Return the peak memory of this process so far, in MiB."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / 2**20 if sys.platform == "darwin" else most / 2**10


def _hardness(task: Task, instance: Instance, result: Result) -> dict[str, object]:
    """Return the special cases of a decision's optimal plan, and which constraints bind there; none of a run's."""
    problem = registry().problem(task.problem)
    if result.status != "optimal" or result.plan is None or not isinstance(instance, problem.instance_type):
        return {}
    hardness: Data = {"cases": problem.cases(instance, result.plan)}
    default = instance.objectives[0].name
    if (task.preset, task.solver, task.objectives[0]) == (RELAXED_PRESET, RELAXING_SOLVER, default):
        hardness["binding"] = _binding(task, instance, result.plan)
    return hardness


def _binding(task: Task, instance: Instance, plan: Plan) -> dict[str, bool]:
    """Return for each constraint whether the default objective's optimum improves without it.

    The plan is also evaluated by the relaxed instance, because the scale of values may depend on the instance (as the
    price of a deferred job). The problem's default solver is used, because without a constraint there may be too many
    plans to enumerate. A relaxed instance that it rejects is omitted.
    """
    binding = {}
    objective, problem = instance.objectives[0], registry().problem(task.problem)
    limits: Data = {"time_limit": task.time_limit, "seed": task.seed + ANSWER_SEED, "threads": 1}
    for name, relaxed in problem.relaxations(instance).items():
        with contextlib.suppress(InvalidInput):
            better = solve(relaxed, problem.default, objective=objective.name, hint="none", **limits)
            if better.status == "optimal" and better.sort_key is not None:
                binding[name] = objective.better(better.sort_key, relaxed.evaluate(plan)[objective.name])
    return binding
