"""Effect of a hint on an exact search at fixed work: it must never cost.

python measurements/hints.py [--draws N] [--seed N] [--keep FILE] [--part I/N] [--json]

A draw is an instance, an exact solver, an objective, a work limit and a hint: the plan of a rule, or of an exact
solver with another seed and as little work or twenty times as much. The answer is compared with the hint, against
every warm-start rule, and against the answer without a hint within the same work (CP-SAT's deterministic seconds, or
branch-and-bound nodes), as the ratio of the two values: below 1 where the hint helps.

Draws are numbered; those that count are the first N of which a clock decided nothing. `--keep` appends each to a file
of JSON lines as it ends, and takes those that are there as done: an interrupted run resumes. With `--part I/N` a run
makes only the numbers I, I + N, ... (from 0), so that several runs share the work of one file; the summary is then
of a run without it.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import math
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from _keep import Kept

from mlsched import api
from mlsched.core.contract import Instance, Plan
from mlsched.core.errors import MlschedError, TooLarge
from mlsched.core.registry import registry

#: Problem -> presets that the limits below do not always suffice for.
PRESETS = {
    "preemption": ("surge", "single", "exhausted"),
    "quality": ("floored", "contended"),
    "placement": ("6x3", "6x5"),
    "workers": ("x16", "crowded", "x40"),
    "taskgraph": ("small", "six-loose", "six-tight"),
}
#: Presets of which a model by linear rows takes minutes to build and to relax, whatever the limit on nodes.
CP_SAT_ONLY = ("six-loose", "six-tight")
#: Backend -> work limits: deterministic seconds of CP-SAT, nodes of branch and bound.
WORK = {"cp-sat": (0.01, 0.05, 0.2), "highs": (1, 5, 30)}
#: Rules that take minutes on the larger of these instances, whose plans are no hints here.
SLOW_RULES = ("lp-mpc",)
#: Wall seconds after which a draw is not counted: some linear relaxations take minutes, whatever the work limit.
BACKSTOP = 15.0
#: Share by which a draw may be worse than without its hint.
SLACK = 0.01


@dataclasses.dataclass(frozen=True)
class Draw:
    """One draw and its result; ratio: its value over the value without the hint, below 1 if the hint helps."""

    problem: str
    preset: str
    seed: int
    solver: str
    objective: str
    work: float
    hint: str
    ratio: float
    worse_than: str  # the hint or rule than which the answer is worse, which must not be; empty
    proved: bool  # whether the work was enough for a proof without the hint
    news: bool  # whether the hint is better than every warm start


def ratio(value: float, without: float, minimise: bool) -> float:
    """How much worse a value is than another, as a factor; both are at least 0."""
    worse, better = (value, without) if minimise else (without, value)
    if worse == better:
        return 1.0
    return math.inf if better == 0 else worse / better


def solvers(preset: str, instance: Instance) -> list[tuple[str, str]]:
    """(name, backend of its work limit) of the exact solvers that keep to one; restricted models aside."""
    found = []
    for one in registry().available(instance.problem, "exact"):
        engine = one.engine_of({})
        if engine in WORK and not one.restricted and one.called in (None, instance.called):
            if engine == "highs" and preset in CP_SAT_ONLY:
                continue
            found.append((one.name, engine))
            if one.backend == "highs":
                found.append((f"{one.name}:engine=scip", engine))
    return found


def hint_of(kind: str, preset: str, instance: Instance, objective: str, rng: np.random.Generator) -> Plan | None:
    """A hint of a kind; None where it could not be made."""
    if kind == "rule":
        rules = [a.name for a in registry().available(instance.problem, "heuristic") if a.warm_start]
    elif kind == "random rule":
        rules = [a.name for a in registry().available(instance.problem, "heuristic") if not a.warm_start]
        rules = [rule for rule in rules if rule not in SLOW_RULES]
    else:
        rules = [name for name, _ in solvers(preset, instance)]
    name = str(rng.choice(rules))
    options: dict[str, Any] = {"objective": objective, "seed": int(rng.integers(100)), "time_limit": BACKSTOP}
    if kind in ("engine", "much work"):
        engine = dict(solvers(preset, instance))[name]
        options["work_limit"] = float(rng.choice(WORK[engine])) * (1 if kind == "engine" else 20)
    try:
        return api.solve(instance, name, **options).plan
    except MlschedError:  # a rule that does not take such instances
        return None


KINDS = ("rule", "random rule", "engine", "engine", "much work")


def draw(number: int, seed: int) -> Draw | None:
    """One draw; None where its hint could not be made, or where a clock decided what was found."""
    rng = np.random.default_rng([seed, number])
    problem = list(PRESETS)[number % len(PRESETS)]
    preset, at = str(rng.choice(PRESETS[problem])), int(rng.integers(1000))
    instance = api.generate(problem, preset, seed=at)
    choices = solvers(preset, instance)
    name, engine = choices[int(rng.integers(len(choices)))]
    declared = registry().solver(problem, name)[0]
    objective = str(rng.choice(list(declared.objectives)))
    work, kind = float(rng.choice(WORK[engine])), str(rng.choice(KINDS))
    hint = hint_of(kind, preset, instance, objective, rng)
    if hint is None:
        return None
    given: dict[str, Any] = {"objective": objective, "work_limit": work, "time_limit": BACKSTOP}
    try:
        without, found = api.solve(instance, name, **given), api.solve(instance, name, **given, hint=hint)
    except TooLarge:
        return None
    if "time limit" in (without.stopped_by, found.stopped_by):
        return None
    goal = instance.objective(objective)
    known = {"the hint": instance.evaluate(hint)[objective]}
    for rule in registry().available(problem, "heuristic"):
        if rule.warm_start:
            known[rule.name] = api.solve(instance, rule.name, objective=objective).sort_keys[objective]  # type: ignore[index]
    assert found.sort_key is not None, "a plan is known"
    worse = [what for what, value in known.items() if goal.better(value, found.sort_key)]
    share = 1.0 if without.sort_key is None else ratio(found.sort_key, without.sort_key, goal.sense == "min")
    values = [value for what, value in known.items() if what != "the hint"]
    news = not any(known["the hint"] == value or goal.better(value, known["the hint"]) for value in values)
    proved = without.stopped_by == "proof"
    return Draw(problem, preset, at, name, objective, work, kind, share, worse[0] if worse else "", proved, news)


def summary(draws: list[Draw]) -> dict[str, Any]:
    """What is claimed of all draws: the mean ratio, the worst one, and how many are worse than what was known."""
    logs = [math.log(d.ratio) for d in draws]
    return {
        "draws": len(draws),
        "geometric_mean_ratio": math.exp(sum(logs) / len(logs)),
        "largest_ratio": max(d.ratio for d in draws),
        "worse_by_more_than_1_percent": sum(d.ratio > 1 + SLACK for d in draws),
        "worse_at_all": sum(d.ratio > 1 for d in draws),
        "better": sum(d.ratio < 1 for d in draws),
        "worse_than_what_was_known": sum(bool(d.worse_than) for d in draws),
        "not_proved_without_the_hint": sum(not d.proved for d in draws),
        "hint_better_than_every_warm_start": sum(d.news for d in draws),
        "both": sum(d.news and not d.proved for d in draws),
        "draws_by_problem": dict(Counter(d.problem for d in draws)),
    }


def run(given: argparse.Namespace) -> list[Draw]:
    """The draws that count, in the order of their numbers; those that are worse on standard error."""
    part, parts = (int(number) for number in given.part.split("/"))
    kept, made = Kept(given.keep), list[Draw]()
    for number in itertools.count(part, parts):
        if len(made) * parts >= given.draws:
            break
        row = kept.row(str(number), lambda: asdict(draw(number, given.seed)))  # noqa: B023  # called at once
        if row is not None:
            made.append(Draw(**row))
            if made[-1].ratio > 1 or made[-1].worse_than:
                print(made[-1], file=sys.stderr)
    return made


def asdict(one: Draw | None) -> dict[str, Any] | None:
    """A draw as JSON."""
    return None if one is None else dataclasses.asdict(one)


def main() -> None:
    """Print the summary."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = summary(run(given))
    print(json.dumps(found) if given.json else "\n".join(f"{k}: {v}" for k, v in found.items()))


if __name__ == "__main__":
    main()
