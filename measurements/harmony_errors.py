"""Figure 9 of the Harmony paper: prediction errors of the shipped reward model and of LIF's models.

    python measurements/harmony_errors.py [--interference pairwise] [--rounds 5]

The part of `mlsched reproduce harmony` behind that figure, for one kind of interference: jobs placed at random, the
relative error of each job's predicted speed in percent, by type of job (95 %, Student's t over rounds). Prints one JSON
document.
"""

from __future__ import annotations

import argparse
import dataclasses
import json

from mlsched.instances.placement.models import KINDS
from mlsched_papers.harmony import grid as g
from mlsched_papers.harmony import prediction
from mlsched_papers.harmony.measured import Measured
from mlsched_papers.harmony.tables import figure_9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--interference", default="pairwise", choices=KINDS)
    parser.add_argument("--rounds", type=int, default=g.FULL.rounds)
    given = parser.parse_args()
    grid = dataclasses.replace(g.FULL, rounds=given.rounds)
    measured = Measured(grid, [], None, {given.interference: prediction.errors(grid, given.interference)})
    print(json.dumps({"tables": {"errors": figure_9(given.interference, measured).to_json()}}))


if __name__ == "__main__":
    main()
