"""Mathematical models of workers and PSs: the columns of each job, the knapsack over them, and its price bounds."""

from typing import Any

from mlsched.core.formulation import Formulation
from mlsched.core.models import Group, Models, Size
from mlsched.formulations.workers.columns import columns
from mlsched.formulations.workers.highs import model


def _build(instance: Any, objectives: tuple[str, ...], size: Size) -> Formulation:
    choice = columns(instance, complete=size.complete)
    size.check(len(choice.job))
    return model(choice)


MODELS = Models(
    build=_build,
    objectives=("total_jct",),
    variables=(Group("allot", ("job", "workers", "ps"), "1 if the job has so many workers and PSs; 0, 0: it waits"),),
    constraints=(
        Group("once", ("job",), "each job has one number of workers and PSs"),
        Group("capacity", ("resource",), "the demand of all jobs is at most the capacity"),
    ),
    left_out="numbers of workers and PSs that cost more than fewer, or than to wait",
)
