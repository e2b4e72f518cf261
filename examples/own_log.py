"""Your own log of jobs: five schedulers and a rule of your own over it, their gaps, a DataFrame and a picture.

python examples/own_log.py

The same from the command line, with the rule in my_rules.py:

    mlsched simulate fifo srpt drf easy-backfill fair my_rules:large_gangs_first \\
        --trace log.csv --read submit=submitted,duration=minutes:min,gpus=gpus,user=who,time_limit=limit:min \\
        --cluster nodes.csv --jobs jobs.csv --plot runs.png
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np

import mlsched


@mlsched.order
def large_gangs_first(job):
    return -job.tasks


def main() -> None:
    read = {"submit": "submitted", "duration": "minutes:min", "gpus": "gpus", "user": "who", "time_limit": "limit:min"}
    jobs = mlsched.workload("log.csv", read=read, cluster="nodes.csv")
    rules = ("fifo", "srpt", "drf", "easy-backfill", "fair", large_gangs_first)
    runs = [mlsched.simulate(jobs, rule) for rule in rules]
    for run in runs:
        frame = run.dataframe()
        gap = run.gaps["total_jct"].share
        print(f"{run.solver:18} mean JCT {frame.jct_s.mean() / 3600:.2f} h, at most {gap:.0%} above the best possible")
    print(frame.assign(gang=frame.gpus == 16).groupby(["user", "gang"])[["waiting_s", "slowdown"]].mean())
    mlsched.plot_runs(runs, "runs.png")


def write_a_log(jobs: int = 200) -> None:
    """Instead of yours: jobs of two users on one to 16 GPUs, and a cluster of four nodes."""
    rng = np.random.default_rng(7)
    submitted = np.cumsum(rng.exponential(480, jobs)).astype(int)
    minutes = np.round(1 + rng.lognormal(2.6, 1.2, jobs), 1)
    gpus = rng.choice([1, 2, 4, 8, 16], jobs, p=[0.6, 0.1, 0.1, 0.1, 0.1])
    who = rng.choice(["ann", "bob"], jobs, p=[0.7, 0.3])
    limit = 60 * np.ceil(
        minutes * rng.uniform(1, 5, jobs) / 60
    )  # users ask for whole hours, and for more than they need
    columns = {"submitted": submitted, "minutes": minutes, "gpus": gpus, "who": who, "limit": limit}
    rows = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    Path("log.csv").write_text("\n".join([",".join(columns), *rows]) + "\n")
    Path("nodes.csv").write_text("name,gpus\na,8\nb,8\nc,4\nd,4\n")


if __name__ == "__main__":
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # so that nothing is left behind
        try:
            write_a_log()
            main()
        finally:
            os.chdir(before)
