"""Bounds that follow from the statement of the quality problem without a search.

Every running job gets its maximum number of cores, as if there were enough of them.
"""

from __future__ import annotations

from mlsched.core.fields import IntArray
from mlsched.instances.quality.instance import Instance


def _with_most(instance: Instance, table: IntArray) -> IntArray:
    runs = instance.running
    return instance.weight[runs] * table[runs, instance.most[runs]]


TRIVIAL_BOUNDS = {
    "total_loss_reduction": lambda instance: int(_with_most(instance, instance.gain).sum()),
    "worst_loss": lambda instance: int(_with_most(instance, instance.loss).max(initial=0)),
}
