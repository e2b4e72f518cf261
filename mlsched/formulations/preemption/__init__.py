"""Mathematical models of victim selection: the joint model and its reductions, for CP-SAT and as a MIP."""

from typing import Any

from mlsched.core.formulation import Formulation
from mlsched.core.models import Group, Models, Size
from mlsched.formulations.preemption._model import OBJECTIVES, reduce
from mlsched.formulations.preemption.highs import model


def _build(instance: Any, objectives: tuple[str, ...], size: Size) -> Formulation:
    reduced = reduce(instance, complete=size.complete)
    size.check(len(reduced.candidates) + len(reduced.places))
    return model(reduced, objectives)


MODELS = Models(
    build=_build,
    objectives=OBJECTIVES,
    variables=(
        Group("victim", ("job",), "1 if the BE job is suspended"),
        Group("place", ("te", "node"), "1 if the TE job runs on the node"),
        Group("grace", ("seconds",), "1 if some victim has that grace period or a longer one"),
    ),
    constraints=(
        Group("once", ("te",), "each TE job has at most one node"),
        Group("capacity", ("node", "resource"), "TE jobs fit what is free, drains, and is released by victims"),
        Group("level", ("job",), "a victim has its grace period"),
        Group("falling", ("seconds",), "a longer grace period only with each shorter one"),
    ),
    left_out="victims on nodes where no TE job fits",
)
