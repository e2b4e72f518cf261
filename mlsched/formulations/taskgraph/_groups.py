"""The groups of variables and constraints of task graph models, for users."""

from __future__ import annotations

from mlsched.core.models import Group

#: Variables of the time-indexed program.
COLUMNS = (
    Group("start", ("task", "iteration", "node", "time"), "1 if the run starts on the node at that time"),
    Group("run", ("job", "iteration"), "1 if the optional iteration runs"),
    Group("completion", ("job",), "completion time of the job, or later"),
    Group("last", (), "last completion of all jobs, or later"),
    Group("met", ("job",), "1 if the job meets its deadline"),
    Group("counts", ("job", "iteration"), "1 if the iteration counts towards the job's accuracy"),
    Group("sent", ("task", "iteration", "arc"), "1 if the run receives its input number `arc` from another node"),
    Group("gpu", ("task", "iteration", "node", "gpu", "time"), "1 if the run starts on that GPU at that time"),
    Group("gpu_used", ("node", "gpu", "time"), "1 if a part of the GPU is used at that time"),
)
#: Constraints of the time-indexed program.
ROWS = (
    Group("once", ("task", "iteration"), "each run starts once, if its iteration runs"),
    Group("stays", ("task", "iteration", "node"), "a task that may not move stays on its node"),
    Group("prefix", ("job", "iteration"), "an optional iteration runs only after the one before it"),
    Group("ready", ("source", "task", "iteration", "node"), "no start before what a finished iteration sends"),
    Group(
        "order", ("source", "source_iteration", "task", "iteration", "node", "time"), "no start before a source ends"
    ),
    Group("capacity", ("node", "resource", "time"), "runs fit the node at each time"),
    Group("completed", ("task", "iteration"), "a job completes after each of its last runs"),
    Group("all_completed", ("job",), "the last completion is at least the job's"),
    Group("met_late", ("job",), "a deadline that cannot be met"),
    Group("met_in_time", ("task", "iteration"), "a deadline is met only without late runs"),
    Group("counts_run", ("job", "iteration"), "an iteration counts only if it runs"),
    Group("counts_prefix", ("job", "iteration"), "an iteration counts only after the one before it"),
    Group("counts_in_time", ("task", "iteration"), "an iteration counts only without late runs"),
    Group("sent_between", ("task", "iteration", "arc", "node"), "an input is sent if its source is on another node"),
    Group("on_gpu", ("task", "iteration", "node", "time"), "a run that starts on a node starts on one of its GPUs"),
    Group("gpu_held", ("task", "iteration", "node", "gpu", "time"), "a GPU is used while a run is on it"),
    Group("gpu_parts", ("node", "gpu", "time"), "parts of a GPU fit it"),
    Group("gpus", ("node", "time"), "GPUs in parts and complete GPUs are at most those of the node"),
    Group("infeasible", (), "the instance has no plan"),
)
#: Variables of the interval model. Some names share a variable, or are its negation or a number.
VARIABLES = (
    Group("start", ("task", "iteration"), "start of the run"),
    Group("on", ("task", "iteration", "node"), "1 if the run is on the node (of the class of that one)"),
    Group("run", ("job", "iteration"), "1 if the optional iteration runs"),
    Group("completion", ("job",), "completion time of the job, or later"),
    Group("last", (), "last completion of all jobs, or later"),
    Group("met", ("job",), "1 if the job meets its deadline"),
    Group("counts", ("job", "iteration"), "1 if the iteration counts towards the job's accuracy"),
)
#: Constraints of the interval model.
CONSTRAINTS = (
    Group("place", ("number",), "each run has one place; iterations run in order"),
    Group("window", ("number",), "runs that cannot end in time do not run"),
    Group("order", ("number",), "no start before a source ends, or its output arrives"),
    Group("capacity", ("number",), "runs fit their nodes at each time"),
    Group("completed", ("number",), "a job completes after its last runs"),
    Group("measure", ("number",), "deadlines, accuracies and traffic"),
)
