"""A search for a better order of jobs: a thousand keys over a log, each judged by the mean completion time.

    python examples/search_keys.py [LOG] [CLUSTER] [KEYS]

Without a log, jobs are drawn. A key is a weighted sum of logarithms of facts about a job. The search draws keys, then
changes the best one; the last third of the jobs is held out, and only the winner is run on it. The figures of merit of
`srpt` and `fifo` on the same jobs are printed beside it.
"""

from __future__ import annotations

import math
import sys
import time

import numpy as np

import mlsched

JOBS, KEYS = 2000, 1000


def key_of(weights):
    """A key: the smallest weighted sum comes first."""
    remaining, gpus, waited = weights

    @mlsched.order
    def key(job):
        return remaining * math.log1p(job.remaining) + gpus * math.log1p(job.gpus) + waited * math.log1p(job.arrival)

    return key


def mean_completion(jobs, rule):
    """Mean completion time of the jobs under a rule, ticks."""
    return float(mlsched.simulate(jobs, rule).jobs["jct"].mean())


def search(jobs, count, seed=0):
    """The best of so many weights: the first half is drawn, the second half changes the best."""
    random = np.random.default_rng(seed)
    best, value = (0.0, 0.0, 1.0), math.inf
    for number in range(count):
        drawn = random.normal(size=3) if number < count // 2 else best + 0.2 * random.normal(size=3)
        found = mean_completion(jobs, key_of(tuple(drawn)))
        if found < value:
            best, value = tuple(drawn), found
    return best, value


def main(log="", cluster="16x(8gpu)", count=KEYS):
    """Search on the first two thirds of the jobs, and judge on the others."""
    if log:
        jobs = mlsched.workload(log, cluster=cluster, limit=JOBS * 3 // 2)
    else:
        jobs = mlsched.workload("synthetic:gangs", simulator="iterations", jobs=JOBS * 3 // 2, nodes=16)
    first, rest = (jobs.replace(**jobs.only(part)) for part in np.split(np.arange(len(jobs.arrival)), [JOBS]))
    begin = time.process_time()
    weights, value = search(first, count)
    print(f"{count} keys on {JOBS} jobs: {time.process_time() - begin:.1f} CPU s, mean completion {value:.0f} ticks")
    print("weights of remaining time, GPUs, arrival:", ", ".join(f"{weight:.2f}" for weight in weights))
    for name, rule in (("the key", key_of(weights)), ("srpt", "srpt"), ("fifo", "fifo")):
        print(f"held out, {len(rest.arrival)} jobs: {name}: mean completion {mean_completion(rest, rule):.0f} ticks")


if __name__ == "__main__":
    main(*sys.argv[1:3], **({"count": int(sys.argv[3])} if len(sys.argv) > 3 else {}))
