"""Error rates of comparisons of two solvers, before and after the paired statistic.

    python measurements/paired.py [--draws 4000] [--before 1000]

Prints one JSON document with two tables. `equal`: percentage of comparisons in which the second of two equally good
solvers is called better, for several numbers of pairs. `before`: both verdicts of the rule before, the mean of
(b - a) / |a| with a bootstrap interval, on 20 pairs: the percentage of "better", of "worse", and of pairs of solvers of
which each is called worse than the other. Data:

- difficulty: lognormal values (sigma 0.5) of two solvers on instances of lognormal difficulty (sigma 1);
- gaps: exponential gaps to the optimum, of which 30 % are 0;
- ties: as difficulty, with 7 of 10 pairs equal;
- one size: each pair differs by the same amount, in either direction;
- best of five: as difficulty, the best of five rules by its mean against the other four; the percentage is that of
  tables with a verdict, corrected for all ten pairs of rules.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from mlsched.benchmark.bootstrap import bootstrap_interval
from mlsched.benchmark.paired import Difference, compare_values, summarize

PAIRS = (6, 7, 10, 20, 50)
#: Pairs of a comparison by the rule before.
BEFORE = 20


def _difficulty(rng: np.random.Generator, pairs: int, solvers: int = 2) -> Any:
    return rng.lognormal(size=pairs) * rng.lognormal(sigma=0.5, size=(solvers, pairs))


def _ties(rng: np.random.Generator, pairs: int) -> Any:
    first, second = _difficulty(rng, pairs)
    return first, np.where(rng.random(pairs) < 0.7, first, second)


def _one_size(rng: np.random.Generator, pairs: int) -> Any:
    return 10.0 + rng.permuted(np.tile([0, 1], (pairs, 1)), axis=1).T


DRAWS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "difficulty": _difficulty,
    "ties": _ties,
    "one size": _one_size,
}


def _gaps(rng: np.random.Generator, pairs: int) -> Difference | None:
    first, second = rng.exponential(0.1, (2, pairs)) * (rng.random((2, pairs)) > 0.3)
    return summarize((second - first).tolist())


def _best_of_five(rng: np.random.Generator, pairs: int) -> bool:
    values = _difficulty(rng, pairs, 5)
    best = int(values.mean(axis=1).argmin())
    found = [compare_values(values[best], values[k], comparisons=10) for k in range(5) if k != best]
    return any(line is not None and line.side is not None for line in found)


def equal(draws: int) -> list[list[Any]]:
    """Percentage of "better" for each kind of data and number of pairs."""

    def percentage(called: Callable[[np.random.Generator, int], bool], pairs: int) -> float:
        rng = np.random.default_rng(pairs)
        return round(100 * sum(called(rng, pairs) for _ in range(draws)) / draws, 1)

    called: dict[str, Callable[[np.random.Generator, int], bool]] = {
        name: lambda rng, pairs, draw=draw: _better(compare_values(*draw(rng, pairs)))  # type: ignore[misc]
        for name, draw in DRAWS.items()
    }
    called |= {"gaps": lambda rng, pairs: _better(_gaps(rng, pairs)), "best of five": _best_of_five}
    return [[name, *(percentage(one, pairs) for pairs in PAIRS)] for name, one in called.items()]


def _better(found: Difference | None) -> bool:
    return found is not None and found.verdict == "better"


def before(draws: int) -> list[list[Any]]:
    """Percentages of verdicts by the rule before, on equally good solvers."""
    rows = []
    for name, draw in DRAWS.items():
        rng, found = np.random.default_rng(BEFORE), []
        for _ in range(draws):
            a, b = draw(rng, BEFORE)
            found.append((_verdict_before(a, b), _verdict_before(b, a)))
        counts = [
            sum(one == "better" for one, _ in found),
            sum(one == "worse" for one, _ in found),
            sum(pair == ("worse", "worse") for pair in found),
        ]
        rows.append([name, *(round(100 * count / draws, 1) for count in counts)])
    return rows


def _verdict_before(first: Any, second: Any) -> str:
    found = bootstrap_interval(((second - first) / np.abs(first)).tolist())
    return "undecided" if found is None or found[0] <= 0 <= found[1] else "worse" if found[0] > 0 else "better"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=4000)
    parser.add_argument("--before", type=int, default=1000, help="draws by the rule before")
    given = parser.parse_args()
    tables = [
        {"name": "equal", "header": ["data", *(f"{n} pairs" for n in PAIRS)], "rows": equal(given.draws)},
        {
            "name": "before",
            "header": ["data", "better", "worse", "each worse than the other"],
            "rows": before(given.before),
        },
    ]
    print(json.dumps({"draws": given.draws, "draws before": given.before, "tables": tables}))


if __name__ == "__main__":
    main()
