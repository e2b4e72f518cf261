"""Error rates of the experiments' verdicts: false firm verdicts, and intervals that miss the truth.

    python measurements/verdicts.py [--draws N]

Prints one JSON document with three tables of percentages. `firm`: claims of 1 to 6 pieces under one interpretation,
whose true values are at their bounds (above 0, at most 0, exactly 0, in turn). `covered`: intervals that hold the true
mean. `excluded`: claims at their bounds, hence attainable, that are excluded by the simulator; the best value of a
workload is the policy's plus an exponential distance. Data:

- normal: differences that all pieces of a workload share in part;
- heavy tails: differences of two equally good policies, each value lognormal (sigma 1);
- cuts: a policy that takes 20 % less time, with a coefficient of variation of 0.2;
- exponential: one-sided skew, which paired comparisons do not have and Student's t does not stand;
- ties: as normal, but three workloads of ten show no difference;
- one trace, drawn again: repetitions of one trace, whose own difference they share, as the rule has them; and as they
  would be if they counted as workloads;
- two clusters: trainings of which half come to one kind of policy and half to another, as the rule has them; and with
  Student's interval;
- normal, with a reach: as normal; the mean of the best values is the reach, half a standard deviation away.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from mlsched_papers.claim import Bound, Claim, estimate
from mlsched_papers.statement import Piece

WORKLOADS = (5, 8, 30)
AT_THE_BOUND = (Bound(low=0.0, strict=True), Bound(high=0.0), Bound(0.0, 0.0))
Draw = Callable[[np.random.Generator, int, int], Any]


def _normal(rng: np.random.Generator, pieces: int, workloads: int) -> Any:
    return rng.normal(size=(pieces, workloads)) + rng.normal(size=workloads)


def _heavy_tails(rng: np.random.Generator, pieces: int, workloads: int) -> Any:
    shared = rng.lognormal(size=workloads)
    ours, theirs = (shared * rng.lognormal(size=(pieces, workloads)) for _ in range(2))
    return ours - theirs


def _cuts(rng: np.random.Generator, pieces: int, workloads: int) -> Any:
    return 80 * (1 - rng.gamma(25.0, 1 / 25.0, (pieces, workloads)))


def _exponential(rng: np.random.Generator, pieces: int, workloads: int) -> Any:
    return rng.exponential(size=(pieces, workloads)) - 1


def _ties(rng: np.random.Generator, pieces: int, workloads: int) -> Any:
    return _normal(rng, pieces, workloads) * (rng.random(workloads) >= 0.3)


def _one_trace(rng: np.random.Generator, pieces: int, workloads: int) -> Any:
    return rng.normal(size=(pieces, 1)) + 0.3 * rng.normal(size=(pieces, workloads))


def _two_clusters(rng: np.random.Generator, pieces: int, workloads: int) -> Any:
    return rng.choice([-1.0, 1.0], size=(pieces, workloads)) + 0.03 * rng.normal(size=(pieces, workloads))


#: Data whose true mean is 0, and how its pieces are judged: any fields of `Piece`.
DRAWS: dict[str, tuple[Draw, dict[str, Any]]] = {
    "normal": (_normal, {}),
    "heavy tails": (_heavy_tails, {}),
    "cuts": (_cuts, {}),
    "exponential": (_exponential, {}),
    "ties": (_ties, {}),
    "one trace, drawn again": (_one_trace, {"repeats": "one trace"}),
    "the same, counted as workloads": (_one_trace, {}),
    "two clusters": (_two_clusters, {"trainings": True}),
    "the same, with an interval": (_two_clusters, {}),
}
#: Data of normal values with a reach: their name, and its mean distances [standard deviations of a piece].
REACH, DISTANCES = "normal, with a reach", (0.1, 0.5, 2.0)
#: Those whose intervals are meant to hold the true mean.
INTERVALS = ("normal", "heavy tails", "cuts", "exponential", "ties")


def judged(draw: Draw, fields: dict[str, Any], pieces: int, workloads: int, draws: int, distance: float = 0) -> Any:
    """Yield the verdicts on claims whose true values are at their bounds. distance: of the reach, 0 for none."""
    rng, bounds = np.random.default_rng([pieces, workloads]), itertools.cycle(AT_THE_BOUND)
    for _ in range(draws):
        bound = next(bounds)
        evidence = []
        for values in draw(rng, pieces, workloads):
            reach = _reach(bound, float(np.mean(values + rng.exponential(distance, workloads)))) if distance else None
            evidence.append(Piece("r", "x", values, bound, **fields, reach=reach).measurements())
        yield Claim("c", "text", "here", "tested", tuple(evidence)).verdict


def _reach(bound: Bound, best: float) -> Bound | None:
    """Means that any scheduler could reach, if only the best value is limited."""
    return None if bound.low is None else Bound(high=best)


def firm(draw: Draw, fields: dict[str, Any], pieces: int, workloads: int, draws: int, distance: float = 0) -> float:
    """Percentage of firm verdicts."""
    found = judged(draw, fields, pieces, workloads, draws, distance)
    return 100 * sum(verdict in ("holds", "does not hold") for verdict in found) / draws


def excluded(pieces: int, workloads: int, draws: int, distance: float) -> float:
    """Percentage of attainable claims that are excluded by the simulator."""
    found = judged(_normal, {}, pieces, workloads, draws, distance)
    return 100 * sum(verdict == "excluded by the simulator" for verdict in found) / draws


def covered(draw: Draw, workloads: int, draws: int) -> float:
    """Percentage of intervals that hold the true mean."""
    rng = np.random.default_rng(workloads)
    found = [estimate(draw(rng, 1, workloads)[0]) for _ in range(draws)]
    return 100 * sum(e is not None and e.half is not None and abs(e.mean) <= e.half for e in found) / draws


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=4000)
    draws = parser.parse_args().draws
    cases = [(pieces, 8) for pieces in (1, 2, 4, 6)] + [(1, 5), (6, 5), (1, 30), (6, 30)]
    tables = [
        {
            "name": "firm",
            "header": ["data", *(f"{m} piece{'s' * (m > 1)}, {n} workloads" for m, n in cases)],
            "rows": [
                *([name, *(round(firm(*how, m, n, draws), 1) for m, n in cases)] for name, how in DRAWS.items()),
                [REACH, *(round(firm(_normal, {}, m, n, draws, 0.5 * 2**0.5), 1) for m, n in cases)],
            ],
        },
        {
            "name": "covered",
            "header": ["data", *(f"{n} workloads" for n in WORKLOADS)],
            "rows": [[name, *(round(covered(DRAWS[name][0], n, draws), 1) for n in WORKLOADS)] for name in INTERVALS],
        },
    ]
    header = ["mean distance of the best value [standard deviations]", *tables[0]["header"][1:]]
    rows = [[d, *(round(excluded(m, n, draws, d * 2**0.5), 1) for m, n in cases)] for d in DISTANCES]
    tables.append({"name": "excluded", "header": header, "rows": rows})
    print(json.dumps({"draws": draws, "tables": tables}))


if __name__ == "__main__":
    main()
