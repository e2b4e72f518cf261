"""Workers by CP-SAT: the multiple-choice knapsack over the columns that Lagrangian bounds do not rule out."""

from __future__ import annotations

from mlsched.core.formulation import Formulation
from mlsched.core.registry import answerer
from mlsched.formulations.workers.cp_sat import model
from mlsched.instances.workers import Instance
from mlsched.solvers.workers._lagrangian import columns_of


@answerer("cp-sat", problem="workers", backend="cp-sat", objectives=("total_jct",))
def build(instance: Instance, *, objectives: tuple[str, ...], reduce: bool = True) -> Formulation:
    """A binary for each column of a job, without those that Lagrangian bounds rule out (reduce)."""
    return model(columns_of(instance, reduce))
