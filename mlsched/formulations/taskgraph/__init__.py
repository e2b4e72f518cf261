"""Mathematical models of task graphs: the task-level model, the moulded variant, and bounds."""

from mlsched.core.models import Models, NativeModels
from mlsched.formulations.taskgraph._groups import COLUMNS, CONSTRAINTS, ROWS, VARIABLES
from mlsched.formulations.taskgraph._named import intervals, linear
from mlsched.formulations.taskgraph.highs import TIMES

MODELS = Models(
    build=linear,
    objectives=tuple(TIMES),
    variables=COLUMNS,
    constraints=ROWS,
    left_out="plans later than those that a list schedule, or the deadlines, make worth a look; which of several equal "
    "nodes a run takes (CP-SAT)",
    cp_sat=NativeModels(intervals, VARIABLES, CONSTRAINTS),
    limits="plans that end after the sum of all durations and delays, counted from the last arrival",
)
