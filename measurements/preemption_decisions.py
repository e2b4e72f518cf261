"""FitGpp's decisions by Eq. 4 and by the random fallback: in simulations, and on the generator's presets.

    python measurements/preemption_decisions.py [--jobs N] [--seeds N] [--draws N]

Prints one JSON document with three tables. `ways`: in which way the first TE job of a decision is served, percent of
decisions, for every decision of FitGpp's runs of both calibrations and for draws of the presets. `gaps`: how many of
those decisions are optimal in `total_score` with Eq. 4's one victim and with the fallback, and their mean gap to the
optimum; only decisions with a single TE job. `states`: what the decisions look like, as medians: running BE jobs per
node, shares of the capacity that are free and that BE jobs hold, the preemptible share of BE jobs, mean grace period
and mean remaining time (min), demand of the TE job.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

import mlsched
from mlsched.heuristics.preemption.fitgpp import Way, answer_with_ways
from mlsched.instances.preemption import Instance
from mlsched.instances.preemption.generate import PRESETS
from mlsched.simulation.preemption.synthetic import CALIBRATIONS

#: Seed of the fallback's random victims in presets, and of the first workload of the clock.
SEED = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2**15, help="jobs of a run on the clock")
    parser.add_argument("--seeds", type=int, default=2, help="runs for each calibration")
    parser.add_argument("--draws", type=int, default=100, help="instances of each preset")
    a = parser.parse_args()
    sources = {f"clock, {name}": list(on_the_clock(name, a.jobs, a.seeds)) for name in CALIBRATIONS}
    sources |= {
        f"preset {name}": [mlsched.generate("preemption", name, seed=seed) for seed in range(a.draws)]
        for name in PRESETS
    }
    ways = {source: [way_of(instance) for instance in instances] for source, instances in sources.items()}
    tables = [
        {
            "name": "ways",
            "header": ["", "decisions", *(f"{way.value} [%]" for way in Way)],
            "rows": [[source, len(found), *_percentages(found)] for source, found in ways.items()],
        },
        {
            "name": "gaps",
            "header": ["", "Eq. 4", "optimal", "mean gap", "fallback", "optimal", "mean gap"],
            "rows": [[source, *gaps(sources[source], ways[source])] for source in sources if _single(sources[source])],
        },
        {
            "name": "states",
            "header": ["", *STATE],
            "rows": [[source, *state(instances)] for source, instances in sources.items()],
        },
    ]
    print(json.dumps({"tables": tables}, indent=1))


def on_the_clock(calibration: str, jobs: int, seeds: int) -> Iterable[Instance]:
    """Every decision of FitGpp's runs under a calibration."""
    options = {"during_grace": CALIBRATIONS[calibration].during_grace}
    for seed in range(SEED, SEED + seeds):
        workload = mlsched.workload(f"synthetic:{calibration}", "preemption", jobs=jobs, seed=seed)
        run = mlsched.simulate(workload, "fitgpp:P=1", seed=seed, options=options, record=1.0)
        yield from (decision.instance for decision in run.recorded)


def way_of(instance: Instance) -> Way:
    """How FitGpp serves the first TE job."""
    return answer_with_ways(instance, rng=np.random.default_rng(SEED))[1][0]


def _percentages(found: list[Way]) -> list[float]:
    counts = Counter(found)
    return [round(100 * counts[way] / max(1, len(found)), 1) for way in Way]


def _single(instances: list[Instance]) -> bool:
    return all(len(instance.te_demand) == 1 for instance in instances)


def gaps(instances: list[Instance], ways: list[Way]) -> list[Any]:
    """For Eq. 4 and for the fallback: decisions, how many are optimal, and the mean gap."""
    row: list[Any] = []
    for way in (Way.ONE_VICTIM, Way.FALLBACK):
        found = []
        for instance in (i for i, w in zip(instances, ways, strict=True) if w is way):
            best = mlsched.solve(instance, "cp-sat", objective="total_score")
            found.append(mlsched.solve(instance, "fitgpp", seed=SEED).gap_to(best).share)
        mean = f"{100 * float(np.mean(found)):.1f} %" if found else ""
        row += [len(found), sum(share == 0 for share in found), mean]
    return row


#: What a state looks like -> its number; resources in the order of the generator: CPU, RAM, GPU.
STATE = {
    "BE jobs per node": lambda i: len(i.job_node) / len(i.node_capacity),
    "free CPU": lambda i: _share(i, i.node_free, 0),
    "free RAM": lambda i: _share(i, i.node_free, 1),
    "free GPU": lambda i: _share(i, i.node_free, 2),
    "BE CPU": lambda i: _share(i, i.job_demand, 0),
    "BE RAM": lambda i: _share(i, i.job_demand, 1),
    "BE GPU": lambda i: _share(i, i.job_demand, 2),
    "preemptible": lambda i: i.preemptible.mean() if len(i.job_node) else 0.0,
    "grace [min]": lambda i: i.job_grace.mean() / 60 if len(i.job_node) else 0.0,
    "remaining [min]": lambda i: i.job_remaining.mean() / 60 if len(i.job_node) else 0.0,
    "TE CPU": lambda i: i.te_demand[0, 0],
    "TE RAM": lambda i: i.te_demand[0, 1],
    "TE GPU": lambda i: i.te_demand[0, 2],
}


def _share(instance: Instance, amounts: Any, resource: int) -> float:
    return float(amounts[:, resource].sum() / instance.node_capacity[:, resource].sum())


def state(instances: list[Instance]) -> list[float]:
    """The median of each number over the instances."""
    return [float(f"{np.median([number(i) for i in instances]):.3g}") for number in STATE.values()]


if __name__ == "__main__":
    main()
