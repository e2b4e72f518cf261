"""Mathematical models of core allocation: the MIP, and the Lagrangian relaxation of the cores."""

from mlsched.core.models import Group, Models
from mlsched.formulations.quality.highs import OBJECTIVES, model

MODELS = Models(
    build=model,
    objectives=tuple(OBJECTIVES),
    variables=(
        Group("cores", ("job", "cores"), "1 if the job has that many cores or more (above `least`)"),
        Group("worst", ("loss",), "1 if the worst loss is that large, ppm, or larger"),
    ),
    constraints=(
        Group("order", ("job", "cores"), "more cores only with fewer"),
        Group("capacity", (), "cores above `least` are at most those that are available"),
        Group("level", ("job", "cores"), "a job with fewer cores has its loss with those, or a smaller one"),
        Group("falling", ("loss",), "a larger worst loss only with each smaller one"),
    ),
    left_out="plans with cores that improve no objective of the model",
)
