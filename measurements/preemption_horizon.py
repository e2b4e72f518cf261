"""FitGpp's score in hindsight: rules, scores and single victims compared with proven optima of complete runs.

    python measurements/preemption_horizon.py [--cases N] [--brute N] [--rand N]

Prints one JSON document. `agreement`: cases of `run-small` on which the decision tree and enumeration were asked, and
disagreements. `proofs`: optima proven of the runs of two presets, and CPU seconds of one. `gaps`: percent by which the
sum over all runs is above the sum of the optima, by preset: published rules, and rules that optimise each decision by
itself. `victims`: at the first question of a run with a choice of single victims (Eq. 4), what each leads to when
everything after it is decided best; how often the victim that a key picks is best (or as good), and by how many percent
the run's optimum is worse after it. `any` is the mean over all single victims.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from _ratios import above, mean, row

import mlsched
from mlsched.core.deadline import Deadline
from mlsched.core.errors import TooLarge
from mlsched.instances.preemption import Horizon, Instance
from mlsched.instances.preemption.instance import sizes
from mlsched.solvers.preemption._run_state import LOWER_BOUNDS, Jobs, RunState
from mlsched.solvers.preemption.decision_tree import Search

PRESETS = ("run", "run-large-te")
NAMES = ("total_rescheduling", "total_te_slowdown", "total_be_slowdown", "victim_count")
SHOWN = ("re-scheduling", "TE slowdown", "BE slowdown", "victims")
#: Nodes of a search that is given up; no optimum is claimed then.
MOST_NODES = 200_000


def decided_by(objective: str) -> Callable[..., Any]:
    """A rule that answers each decision with the proven optimum of that decision."""

    def rule(instance: Instance, *, rng: np.random.Generator) -> Any:
        return mlsched.solve(instance, "cp-sat", objective=objective).plan

    rule.called = "online"
    return rule


RULES: dict[str, Any] = {
    "FitGpp (s = 4)": "fitgpp",
    "FitGpp, literal fallback": "fitgpp:fallback=again",
    "FitGpp, size alone (s = 0)": "fitgpp:s=0",
    "LRTP": "lrtp",
    "RAND": "rand",
    "min-max-grace (ours)": "min-max-grace",
    "each decision optimal in Eq. 3": decided_by("total_score"),
    "each decision optimal in victims": decided_by("victim_count"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=200, help="runs of each preset")
    parser.add_argument("--brute", type=int, default=150, help="runs on which enumeration is asked as well")
    parser.add_argument("--rand", type=int, default=4, help="seeds of rules that draw")
    a = parser.parse_args()
    document: dict[str, Any] = {"agreement": agreement(a.brute), "proofs": [], "tables": []}
    for preset in PRESETS:
        horizons = [mlsched.generate("preemption", preset, seed=seed) for seed in range(a.cases)]
        started = time.process_time()
        optima = [optimum(RunState(Jobs(h)), name) for h in horizons for name in NAMES]
        seconds = time.process_time() - started
        best = np.array(optima).reshape(len(horizons), len(NAMES))
        document["proofs"].append(
            {"name": preset, "runs": len(horizons), "optima": len(optima), "seconds": seconds / len(optima)}
        )
        document["tables"].append(gaps(preset, horizons, best, a.rand))
        document["tables"].append(victims(preset, horizons))
    print(json.dumps(document, indent=1))


def optimum(state: RunState, objective: str) -> int:
    """The proven best of a run from a state on."""
    search = Search(state, objective)
    if search.run(Deadline(), MOST_NODES) != "proof":
        raise SystemExit(f"no proof of {objective} within {MOST_NODES} nodes: use smaller runs")
    assert search.value is not None
    return search.value


def agreement(cases: int) -> dict[str, int]:
    """The decision tree against enumeration by the judge, all objectives."""
    found = {"cases": 0, "with_questions": 0, "optima": 0, "too_large": 0, "disagreements": 0}
    for seed in range(cases):
        horizon = mlsched.generate("preemption", "run-small", seed=seed, te_scale=2.0)
        found["cases"] += 1
        found["with_questions"] += bool(len(mlsched.solve(horizon, "fitgpp").plan.te))
        for name in NAMES:
            try:
                brute = mlsched.solve(horizon, "every-decision", objective=name)
            except TooLarge:
                found["too_large"] += 1
                continue
            tree = mlsched.solve(horizon, "decision-tree", objective=name)
            found["optima"] += 1
            found["disagreements"] += not tree.sort_key == tree.sort_bound == brute.sort_key
    return found


def gaps(preset: str, horizons: list[Horizon], best: Any, seeds: int) -> dict[str, Any]:
    """Every rule above the optima, percent; rules that draw are averaged over seeds."""
    rows = []
    for label, rule in RULES.items():
        tries = 1 if callable(rule) or rule in ("lrtp", "min-max-grace") else seeds
        values = np.zeros((len(horizons), len(NAMES)))
        for k, horizon in enumerate(horizons):
            for seed in range(tries):
                found = mlsched.solve(horizon, rule, seed=seed).sort_keys
                values[k] += np.array([found[name] for name in NAMES]) / tries
        rows.append(row(label, [above(values[:, c], best[:, c]) for c in range(len(NAMES))]))
    header = [f"above the optimum, {preset} [%]", *SHOWN]
    return {"name": f"gaps, {preset}", "header": header, "rows": rows}


def victims(preset: str, horizons: list[Horizon]) -> dict[str, Any]:
    """What the victims of Eq. 4 lead to at the first question of each run."""
    picked: dict[str, list[list[float]]] = {}
    cases = [case for case in map(first_choice, horizons) if case is not None]
    for keys, after in cases:
        least = after.min(axis=0)
        for label, key in keys.items():
            chosen = np.flatnonzero(key == key.min())
            best = (after[chosen] == least).mean(axis=0)
            picked.setdefault(label, []).append([*best, *after[chosen].mean(axis=0), *least])
    rows = []
    for label, found in picked.items():
        data = np.array(found)
        columns = range(len(NAMES) - 1)  # each of these victims is one victim
        shares = [mean(data[:, c], 100) for c in columns]
        losses = [above(data[:, len(NAMES) + c], data[:, 2 * len(NAMES) + c]) for c in columns]
        rows.append(row(label, [*shares, *losses]))
    header = [f"{len(cases)} first choices, {preset}", *(f"best for {name} [%]" for name in SHOWN[:3])]
    header += [f"{name} lost [%]" for name in SHOWN[:3]]
    return {"name": f"victims, {preset}", "header": header, "rows": rows}


def first_choice(horizon: Horizon) -> tuple[dict[str, Any], Any] | None:
    """By single victim that makes room: the keys by which one may be picked, and the optima after it.

    None for runs without a question or without a choice.
    """
    state = RunState(Jobs(horizon))
    if state.asking is None or state.hosts(()):
        return None
    single = [j for j in state.candidates() if state.node[j] in state.hosts((j,))]
    if len(single) < 2:
        return None
    demand, grace = horizon.demand[single], horizon.grace[single]
    size = sizes(demand, horizon.node_capacity[[state.node[j] for j in single]])
    running = [j for j in state.ends if not horizon.te[j]]
    largest = sizes(horizon.demand[running], horizon.node_capacity[[state.node[j] for j in running]]).max()
    longest = max(1, int(horizon.grace[running].max()))
    after = [[optimum(state.decided(state.node[j], (j,)), name) for name in LOWER_BOUNDS] for j in single]
    order = [list(LOWER_BOUNDS).index(name) for name in NAMES]
    keys = {
        "Eq. 3, s = 4": size / largest + 4 * grace / longest,
        "size alone": size,
        "grace period alone": grace.astype(float),
        "longest remaining time (LRTP)": -np.array([state.ends[j] for j in single], dtype=float),
        "shortest remaining time": np.array([state.ends[j] for j in single], dtype=float),
        "any": np.zeros(len(single)),
    }
    return keys, np.array(after, dtype=float)[:, order]


if __name__ == "__main__":
    main()
