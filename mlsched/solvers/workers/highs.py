"""Workers by HiGHS: the multiple-choice knapsack over the columns that Lagrangian bounds do not rule out."""

from __future__ import annotations

from mlsched.core.formulation import NO_LIMITS, Formulation, Limits
from mlsched.core.registry import model_builder
from mlsched.formulations.workers.highs import model
from mlsched.instances.workers import Instance
from mlsched.solvers.workers._lagrangian import columns_of


@model_builder("highs", problem="workers", backend="highs", objectives=("total_jct",))
def build(
    instance: Instance, *, objectives: tuple[str, ...], limits: Limits = NO_LIMITS, reduce: bool = True
) -> Formulation:
    """A MIP with a binary for each column of a job, without those that Lagrangian bounds rule out (reduce)."""
    return model(columns_of(instance, reduce))
