"""Integer programs of the rounds problem."""

from mlsched.core.models import Group, Models
from mlsched_rounds.formulations.highs import model
from mlsched_rounds.formulations.tables import OBJECTIVES

MODELS = Models(
    build=model,
    objectives=tuple(OBJECTIVES),
    variables=(
        Group("run", ("job", "configuration"), "1 if the job runs in the configuration"),
        Group("worst", ("objective", "value"), "1 if the worst job has that value or a worse one"),
    ),
    constraints=(
        Group("once", ("job",), "each job runs in at most one configuration"),
        Group("capacity", ("type",), "the GPUs of the type that jobs use are at most its capacity"),
        Group("level", ("objective", "job", "value"), "a job without a better configuration has that value"),
        Group("falling", ("objective", "value"), "a worse value only with each better one"),
    ),
    left_out="",
)
