"""Search for trees of prices that prove a false bound.

    python measurements/forged_prices.py [--certificates N] [--claims N] [--problems P ...] [--seed N]

Prints one JSON document. Certificates: N (default 100,000) changed ones of tiny instances of the five problems: prices,
branches and nodes are changed in one to three places (`tests/price_trees.py`), or the tree is that of another instance,
and the bound is the one that was proved (of task graphs not always the optimum), or off by one or more. Half of those
of preemption have fixings and cuts. Claims: N (default 10,000) bounds that are better than the optimum, by 1 to 1,000,
for each of which a tree is made that is as good as the prover can, and the genuine tree is tried too.
"accepted, false": the check accepts a bound that is better than brute force's optimum.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import certificate_examples
import price_trees

from mlsched import api
from mlsched.certificates.by_prices import reasons_unproved
from mlsched.certificates.prices.statement import statements
from mlsched.core.deadline import Deadline
from mlsched.solvers import prices
from mlsched.solvers.prices import search

PROBLEMS = ("quality", "workers", "preemption", "placement", "taskgraph")
#: Tiny instances of each problem, and how often each of the six with cuts counts.
INSTANCES, CUT = 40, 7


Known = tuple[Any, str, int, int, list[Any]]


def with_cuts() -> list[Known]:
    """As `known`, of preemption where the prover fixes and cuts, since it may not go through choices."""
    found: list[Known] = []
    with mock.patch.object(search, "STEPS", 0):
        for instance in certificate_examples.with_cuts():
            best = api.solve(instance, "brute-force", objective="total_score").sort_key
            trees, bound = prices.trees(instance, "total_score", best, Deadline())
            assert any(len(node) == 2 for node in trees[0])
            found.append((instance, "total_score", best, bound, trees))
    return found


def known(problem: str) -> list[Known]:
    """Instances with an objective, its optimum by brute force, and the genuine trees with what they prove."""
    found: list[Known] = []
    for k, instance in enumerate(certificate_examples.drawn(problem, INSTANCES)):
        claims = list(statements()[instance.kind].module.CLAIMS)
        objective = claims[k % len(claims)]
        best = api.solve(instance, "brute-force", objective=objective).sort_key
        trees, bound = prices.trees(instance, objective, best, Deadline())
        assert bound == best or not statements()[instance.kind].reaches
        found.append((instance, objective, best, bound, trees))
    return found


def accepted(instance: Any, objective: str, bound: int, trees: list[Any]) -> bool:
    return not list(reasons_unproved(instance, objective, bound, trees, Deadline(60)))


def better(instance: Any, objective: str, best: int, by: int) -> int:
    """A bound that is better than the optimum by so much."""
    return best + by if instance.objective(objective).sense == "min" else best - by


def beyond(instance: Any, objective: str, bound: int, best: int) -> bool:
    """Return whether a bound excludes the optimum."""
    return bound > best if instance.objective(objective).sense == "min" else bound < best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--certificates", type=int, default=100_000)
    parser.add_argument("--claims", type=int, default=10_000)
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=PROBLEMS)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    changed, false, started = Counter[str](), Counter[str](), time.process_time()
    longest = 0.0
    for problem in given.problems:
        examples, dice = known(problem), random.Random(f"{problem} {given.seed}")
        examples += CUT * with_cuts() if problem == "preemption" else []
        for _ in range(given.certificates // len(given.problems)):
            instance, objective, best, bound, trees = dice.choice(examples)
            if dice.random() < 0.1:
                trees = dice.choice(examples)[4]
            by = dice.choice([0, 0, -1, 1, 1, dice.randrange(-1000, 1000)])
            claimed = better(instance, objective, bound, by)
            before = time.process_time()
            good = accepted(instance, objective, claimed, [price_trees.changed(tree, dice) for tree in trees])
            longest = max(longest, time.process_time() - before)
            truth = "false" if beyond(instance, objective, claimed, best) else "true"
            changed[f"{'accepted' if good else 'refused'}, {truth}"] += 1
        for _ in range(given.claims // len(given.problems)):
            instance, objective, best, _, trees = dice.choice(examples)
            bound = better(instance, objective, best, dice.choice([1, 1, 2, dice.randrange(1, 1000)]))
            try:
                made, proved = prices.trees(instance, objective, bound, Deadline())
                good = accepted(instance, objective, bound, made) or proved == bound
            except prices.Refuted:
                good = False
            good = good or accepted(instance, objective, bound, trees)
            false["accepted" if good else "refused"] += 1
        print(problem, dict(changed), dict(false), file=sys.stderr, flush=True)
    document = {
        "changed certificates": sum(changed.values()),
        **dict(sorted(changed.items())),
        "accepted, false": changed["accepted, false"],
        "false claims": sum(false.values()),
        "false claims accepted": false["accepted"],
        "longest, CPU s": longest,
        "CPU s": time.process_time() - started,
    }
    print(json.dumps(document))


if __name__ == "__main__":
    main()
