"""Write a preemption rule, property-test it, measure its gap to the optimum, and run it over a workload.

python examples/judge_my_scheduler.py
"""

from __future__ import annotations

import numpy as np

import mlsched


def shortest_grace(instance: mlsched.Instance, *, rng: np.random.Generator) -> mlsched.Plan:
    """Suspend the jobs with the shortest grace period first, on the one node where that is soonest enough."""
    room = instance.node_free + instance.node_draining
    te_node, victims = [], []
    for demand in instance.te_demand:
        best: tuple[int, int, list[int]] | None = None
        for node in range(len(room)):
            chosen, free, longest = [], room[node].copy(), 0
            able = np.flatnonzero((instance.job_node == node) & instance.preemptible).tolist()
            here = [j for j in able if j not in victims]
            for job in sorted(here, key=lambda j: instance.job_grace[j]):
                if (free >= demand).all():
                    break
                chosen.append(int(job))
                free += instance.job_demand[job]
                longest = int(instance.job_grace[job])
            if (free >= demand).all() and (best is None or longest < best[0]):
                best = longest, node, chosen
        if best is None:
            te_node.append(-1)
            continue
        _, node, chosen = best
        victims += chosen
        room[node] += instance.job_demand[chosen].sum(axis=0) - demand
        te_node.append(node)
    return instance.plan_type(te_node=te_node, victims=sorted(victims))


def main() -> None:
    print("properties:", mlsched.check_scheduler(shortest_grace, "preemption", objective="max_grace_period"))

    inst = mlsched.generate("preemption", preset="surge", seed=1)
    goal = "max_grace_period"
    best = mlsched.solve(inst, "cp-sat", objective=goal)
    for solver in (shortest_grace, "fitgpp", "rand"):
        result = mlsched.solve(inst, solver, objective=goal)
        print(f"{result.solver:15} {goal} = {result.value} s, optimum {best.value} s, gap {result.gap_to(best)}")

    workload = mlsched.workload("synthetic:z", jobs=4096)
    for solver in (shortest_grace, "fitgpp"):
        run = mlsched.simulate(workload, solver)
        assert run.violations() == []
        print(f"{run.solver:15} TE slowdown {run.summary()['te_slowdown']}")


if __name__ == "__main__":
    main()
