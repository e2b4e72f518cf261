"""The seed of a preset with a rule's median gap to the optimum, for examples that are typical.

    python measurements/median_seed.py PROBLEM PRESET RULE [--exact NAME] [--seeds N]

Prints one JSON document: the median seed with its values, the share of seeds at which the rule is optimal, the mean
gap, and the gap of every seed in percent (null where gaps have no percentage; such seeds are left out of the rest).
"""

from __future__ import annotations

import argparse
import json

import numpy as np

import mlsched


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problem")
    parser.add_argument("preset")
    parser.add_argument("rule")
    parser.add_argument("--exact", default="cp-sat")
    parser.add_argument("--seeds", type=int, default=41, help="an odd number, so that one of them is the median")
    a = parser.parse_args()
    found = []
    for seed in range(a.seeds):
        instance = mlsched.generate(a.problem, a.preset, seed=seed)
        best, rule = mlsched.solve(instance, a.exact), mlsched.solve(instance, a.rule)
        found.append((rule.gap_to(best).share, seed, best.sort_key, rule.sort_key))
    compared = sorted(entry for entry in found if entry[0] is not None)
    shares = [share for share, *_ in compared]
    share, seed, optimum, value = compared[len(compared) // 2]
    print(
        json.dumps(
            {
                "median": {"seed": seed, "optimum": optimum, "value": value, "gap": 100 * share},
                "seeds": len(compared),
                "optimal": float(np.mean([share == 0 for share in shares])),
                "mean": 100 * float(np.mean(shares)),
                "gaps": [None if share is None else 100 * share for share, *_ in found],
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
