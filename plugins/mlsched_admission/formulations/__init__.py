"""One integer program of admission, for CP-SAT and for HiGHS, with equal nodes merged."""

from mlsched.core.models import Group, Models
from mlsched_admission.formulations._objectives import OBJECTIVES
from mlsched_admission.formulations.highs import model

_QUEUE = ("queue", "flavor")
_QUEUE_UNIT = ("queue", "flavor", "unit")

MODELS = Models(
    build=model,
    objectives=tuple(OBJECTIVES),
    variables=(
        Group("start", ("job",), "1 if the job starts"),
        Group("evict", ("unit",), "1 if the unit is evicted"),
        Group("move", ("unit",), "1 if the unit moves"),
        Group("put", ("shape", "node"), "pods of the shape on the node"),
        Group("shift", ("kind", "node"), "pods of the kind (equal pods of a movable unit) that move to the node"),
        Group("slices", ("shape", "domain"), "slices of the shape in the domain"),
        Group("lost", ("gang",), "1 if all units of the gang are evicted"),
        Group("unborrowed", ("job",), "1 if the job starts and its queue stays within its quota"),
        Group("beyond", _QUEUE, "usage of the queue above its local quota, or more"),
        Group("held", _QUEUE_UNIT, "usage above its local quota, or less, with the unit (-1: none) still there"),
        Group("holds", _QUEUE_UNIT, "1 if `held` may be above 0"),
        Group("last", ("queue", "unit"), "1 if the unit is the last victim below the queue"),
        Group("exceeds", _QUEUE_UNIT, "1 if the queue exceeds its quota with the unit still there"),
        Group("priority", ("level",), "1 if a victim has that level of priority or a higher one"),
        Group("grace", ("seconds",), "1 if a victim has that grace period or a longer one"),
        Group("over_budget", ("budget",), "pods disturbed beyond the disruption budget"),
        Group("each", ("shape", "node"), "pods on each node of a place; only where equal nodes are one place"),
    ),
    constraints=(
        Group("pods", ("shape", "side"), "all pods of a job that starts are placed (most and least)"),
        Group("capacity", ("node", "resource"), "pods fit what is free and what is released"),
        Group("moved", ("kind", "side"), "all pods of a unit that moves are placed (most and least)"),
        Group("leaves_once", ("unit",), "a unit is evicted or moves, not both"),
        Group("unmovable", ("unit",), "a unit without pods does not move"),
        Group("domain", ("shape", "domain", "side"), "only complete slices in each domain (most and least)"),
        Group("evicted_for", ("unit",), "a victim only for a job that starts and may evict it"),
        Group("gang", ("gang",), "a gang that is not lost keeps its least number of pods"),
        Group("lost_unit", ("unit",), "a gang is lost only with each of its units"),
        Group("limit", ("limit",), "use of a limit; (limit, job) if it is exceeded now"),
        Group("quota", _QUEUE, "usage of a queue; (queue, flavor, job) if it is exceeded now"),
        Group("unborrowed_starts", ("job",), "`unborrowed` only for a job that starts"),
        Group("unborrowed_usage", ("job", "flavor"), "`unborrowed` only within the quota"),
        Group("beyond_quota", _QUEUE, "definition of `beyond`"),
        Group("contested", ("unit",), "no victim without a contested flavor"),
        Group("last_inside", ("queue", "unit"), "the last victim below a queue is the last below its own queue"),
        Group("last_exceeds", ("queue", "unit"), "with its last victim the queue still exceeds its quota"),
        Group("has_last", ("queue", "unit"), "a queue with victims has a last one"),
        Group("exceeds_quota", _QUEUE_UNIT, "definition of `exceeds`"),
        Group("held_on", _QUEUE_UNIT, "`held` is above 0 only with `holds`"),
        Group("held_usage", _QUEUE_UNIT, "definition of `held`"),
        Group("priority_falling", ("level",), "a higher level only with each lower one"),
        Group("priority_level", ("unit",), "a victim has its level"),
        Group("grace_falling", ("seconds",), "a longer grace period only with each shorter one"),
        Group("grace_level", ("unit",), "a victim has its grace period"),
        Group("budget", ("budget",), "definition of `over_budget`"),
        Group("spread", ("shape", "node"), "definition of `each`"),
    ),
    left_out="victims by which nothing is gained; which of several equal nodes a pod takes",
)
