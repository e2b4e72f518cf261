"""Groups of columns, shared by horizons, snapshots and workloads of training jobs.

A record inherits its groups; the fields of its last base come first. Files and readers name columns without the group.
"""

from __future__ import annotations

import dataclasses

from mlsched.core.fields import UNLIMITED, IntArray, array, integer, labels, text
from mlsched.core.record import Record

#: Accuracies are in parts per million.
FULL_ACCURACY = 10**6


@dataclasses.dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Cluster(Record):
    """Nodes and their capacity."""

    resources: tuple[str, ...] = labels("resources", doc="names of the resources")
    node_capacity: IntArray = array("nodes", "resources", high=UNLIMITED, doc="capacity of each node")


@dataclasses.dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Terms(Record):
    """Arrival and goals of each job."""

    arrival: IntArray = array("jobs", high=UNLIMITED, doc="arrival of each job, ticks")
    deadline: IntArray = array("jobs", high=UNLIMITED, doc="deadline of each job, ticks; UNLIMITED for none")
    urgency: IntArray = array("jobs", high=1000, doc="urgency of each job, larger is more urgent")
    required: IntArray = array("jobs", high=FULL_ACCURACY, doc="required accuracy, ppm")
    min_iterations: IntArray = array("jobs", high=10**6, doc="least iterations")
    max_iterations: IntArray = array("jobs", low=1, high=10**6, doc="most iterations")
    accuracy_at: str = text(choices=("deadline", "final"), default="deadline", doc="which accuracy counts")


@dataclasses.dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Graph(Record):
    """Demands of tasks, and the edges between them."""

    demand: IntArray = array("tasks", "resources", high=UNLIMITED, doc="demand while it runs")
    parameters: IntArray = array("tasks", doc="model parameters that the task holds")
    role: IntArray = array("tasks", high=2, fill=0, doc="0: worker, 1: parameter server, 2: reducer")
    replica: IntArray = array("tasks", high=UNLIMITED, fill=0, doc="which replica of the model it is of")
    edge_from: IntArray = array("edges", high=UNLIMITED, doc="task that sends")
    edge_to: IntArray = array("edges", high=UNLIMITED, doc="task that receives")
    edge_lag: IntArray = array("edges", high=1, doc="0: in the same iteration; 1: in the next")
    edge_volume: IntArray = array("edges", doc="traffic in each iteration, if between nodes")
    edge_delay: IntArray = array("edges", high=UNLIMITED, doc="ticks that the transfer takes, if between nodes")


@dataclasses.dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Units(Record):
    """The units of time and of GPUs."""

    tick_ms: int = integer(high=UNLIMITED, default=0, doc="length of a tick in milliseconds; 0: not stated")
    gpu_unit: int = integer(high=UNLIMITED, default=0, doc="of the GPU resource, what one GPU is; 0: GPUs are one pool")


@dataclasses.dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class People(Record):
    """The user of each job, and the user's statements."""

    user: IntArray = array("jobs", high=UNLIMITED, fill=0, doc="user that each job belongs to")
    option: IntArray = array("jobs", high=2, fill=0, doc="0, 1, 2: option i, ii, iii of MLFS, when the job may stop")
    permits: IntArray = array("jobs", high=7, fill=0, doc="options it may be switched to: the sum of their 1, 2, 4")
    payment: IntArray = array("jobs", high=UNLIMITED, fill=0, doc="rate that its user pays, ppm")
    time_limit: IntArray = array("jobs", high=UNLIMITED, fill=0, doc="running time its user stated, ticks; 0: none")
    priority: IntArray = array(
        "jobs", high=UNLIMITED, fill=0, doc="class of each job: rules that order jobs serve a larger first"
    )


@dataclasses.dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Types(Record):
    """Types of nodes, and the speed of tasks on them."""

    node_type: IntArray = array("nodes", high=UNLIMITED, fill=0, doc="type of each node")
    slowness: IntArray = array(
        "classes",
        "types",
        low=1,
        high=10**12,
        fill=10**6,
        doc="how long tasks of the class take on nodes of the type, ppm of their duration; no columns: as stated",
    )
