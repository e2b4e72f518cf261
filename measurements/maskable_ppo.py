"""Gap to the proven optimum that an outside library learns in the environment of task graphs, next to a rule.

    python measurements/maskable_ppo.py [--steps N] [--held-out N]

Runs examples/train_maskable_ppo.py: MaskablePPO of sb3-contrib, trained for that many steps, and `srpt` on instances
that it has not seen, each above the optimum in percent: the mean, and the largest. Prints one JSON document, with the
CPU seconds of the training. Needs sb3-contrib; another version of it or of torch learns something else.
"""

from __future__ import annotations

import argparse
import json
import runpy
from importlib.metadata import version
from pathlib import Path

from mlsched.core.clock import cpu_time

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "train_maskable_ppo.py"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=25_000)
    parser.add_argument("--held-out", type=int, default=10)
    given = parser.parse_args()
    example, begun = runpy.run_path(str(EXAMPLE)), cpu_time()
    model = example["trained"](given.steps)
    spent = cpu_time() - begun
    found = {
        name: {"mean": 100 * sum(shares) / len(shares), "most": 100 * max(shares)}
        for name, shares in example["excesses"](model, given.held_out).items()
    }
    of = {name: version(name) for name in ("sb3-contrib", "stable-baselines3", "torch")}
    document = {"steps": given.steps, "held_out": given.held_out, "above": found, "cpu_seconds": spent, "versions": of}
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
