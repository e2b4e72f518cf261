"""Mathematical models of placement: configurations of servers, and the plain model."""

from mlsched.core.models import Group, Models
from mlsched.formulations.placement._pyomo import model

MODELS = Models(
    build=model,
    objectives=("total_speed",),
    variables=(
        Group("use", ("server", "configuration"), "servers (of the class of that one) with the configuration"),
        Group("run", ("job", "pattern", "speed"), "1 if the job (running ones first) is cut so and has that speed"),
        Group("spare", ("job", "part", "level"), "parts at that speed or above which no pattern needs there"),
        Group("workers", ("job", "server"), "expression: workers of the new job on the server"),
        Group("ps", ("job", "server"), "expression: PSs of the new job on the server"),
    ),
    constraints=(
        Group("link", ("job", "part", "level"), "parts hosted at a speed cover those that patterns need there"),
        Group("server", ("server",), "each server (of the class) has one configuration"),
        Group("job", ("job",), "a running job has one pattern and speed, a new job at most one"),
        Group("most", (), "new jobs are at most as many as allowed"),
    ),
    left_out="plans slower than one that places no new job; which of several equal servers hosts a part",
)
