"""A bound that the statement of the quality problem gives without a search."""

from __future__ import annotations

from mlsched.instances.quality.instance import Instance


def trivial_bound(instance: Instance, objective: str) -> int:
    """Every job that runs gets the most cores that it may have, as if there were enough of them."""
    runs = instance.running
    table = instance.gain if objective == "total_loss_reduction" else instance.loss
    values = instance.weight[runs] * table[runs, instance.most[runs]]
    return int(values.sum() if objective == "total_loss_reduction" else values.max(initial=0))
