"""Workers by CP-SAT: the multiple-choice knapsack over the columns that Lagrangian bounds do not rule out."""

from __future__ import annotations

from mlsched.core.formulation import NO_LIMITS, Formulation, Limits
from mlsched.core.registry import model_builder
from mlsched.formulations.workers.cp_sat import model
from mlsched.instances.workers import Instance
from mlsched.solvers.workers._lagrangian import columns_of


@model_builder("cp-sat", problem="workers", backend="cp-sat", objectives=("total_jct",))
def build(
    instance: Instance, *, objectives: tuple[str, ...], limits: Limits = NO_LIMITS, reduce: bool = True
) -> Formulation:
    """Build a binary for each column of a job; with `reduce`, without columns that Lagrangian bounds rule out."""
    return model(columns_of(instance, reduce))
