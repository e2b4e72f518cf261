"""A picture of a preemption plan: what each node holds of each resource, who is suspended, who comes."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.instances.preemption.instance import Instance, Plan

#: How many nodes fit into one picture; those the plan touches come first.
MOST_NODES = 24
COLOURS = {"kept": "#8fa3b8", "victim": "#d1495b", "draining": "#edae49", "TE job": "#00798c"}


def draw(instance: Instance, plan: Plan, axes: Any) -> None:
    """Two stacked bars a node and resource, in shares of the node's capacity: before the plan and after it."""
    victims = set(plan.victims.tolist())
    touched = {int(n) for n in plan.te_node if n >= 0} | {int(instance.job_node[j]) for j in victims}
    nodes = sorted(sorted(range(len(instance.node_capacity)), key=lambda n: (n not in touched, n))[:MOST_NODES])
    resources = len(instance.resources)
    width = 0.84 / (2 * resources)
    labelled: set[str] = set()

    def stack(x: float, parts: list[tuple[str, int]], capacity: int) -> None:
        level = 0.0
        for part, amount in parts:
            if amount:
                label = None if part in labelled else part
                labelled.add(part)
                axes.bar(
                    x,
                    amount / capacity,
                    bottom=level,
                    width=0.92 * width,
                    color=COLOURS[part],
                    label=label,
                    edgecolor="white",
                    linewidth=0.4,
                )
                level += amount / capacity

    for position, node in enumerate(nodes):
        jobs = sorted(np.flatnonzero(instance.job_node == node).tolist(), key=lambda j: j in victims)
        for r in range(resources):
            capacity = max(1, int(instance.node_capacity[node, r]))
            x = position + (2 * r - resources + 0.5) * width
            held = [("victim" if j in victims else "kept", int(instance.job_demand[j, r])) for j in jobs]
            draining = [("draining", int(instance.node_draining[node, r]))]
            placed = [("TE job", int(instance.te_demand[t, r])) for t in np.flatnonzero(plan.te_node == node)]
            stack(x, held + draining, capacity)
            stack(x + width, [part for part in held if part[0] == "kept"] + placed, capacity)
    waiting = int((plan.te_node < 0).sum())
    axes.set(
        xlabel=f"node ({', '.join(instance.resources)}: before and after)",
        ylabel="share of capacity",
        title=f"{len(victims)} victims, {waiting} TE jobs keep waiting",
        ylim=(0, 1.15),
    )
    axes.set_xticks(range(len(nodes)), [str(n) for n in nodes])
    if labelled:
        axes.legend(loc="upper right", ncols=4, fontsize="small")
