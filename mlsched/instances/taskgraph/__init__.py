"""Task graphs (MLFS): where and when each task of each iteration runs, and when a job may stop.

Paper: Wang, Liu, Shen, "MLFS: Towards Job Scheduling in Distributed Machine Learning Clusters" (Eq. 1), Section 3.
"""

from mlsched.core.contract import Problem
from mlsched.instances.taskgraph.bounds import TRIVIAL_BOUNDS
from mlsched.instances.taskgraph.cases import cases, relaxations
from mlsched.instances.taskgraph.convert import from_networkx, to_networkx
from mlsched.instances.taskgraph.draw import draw
from mlsched.instances.taskgraph.files import READERS
from mlsched.instances.taskgraph.generate import generate
from mlsched.instances.taskgraph.instance import Instance, Timetable
from mlsched.instances.taskgraph.presets import PRESETS
from mlsched.instances.taskgraph.relations import RELATIONS
from mlsched.instances.taskgraph.roomy import roomy
from mlsched.instances.taskgraph.round import Round
from mlsched.instances.taskgraph.snapshot import Snapshot
from mlsched.instances.taskgraph.strategies import contended, instances

PROBLEM = Problem(
    name="taskgraph",
    title="where and when each task of each training iteration runs, and when a job stops",
    paper="MLFS (Wang et al., 2020)",
    instance_type=Instance,
    plan_type=Timetable,
    generate=generate,
    presets=PRESETS,
    strategy=instances,
    contended=contended,
    roomy=roomy,
    relations=RELATIONS,
    cases=cases,
    relaxations=relaxations,
    default="cp-sat",
    trivial_bounds=TRIVIAL_BOUNDS,
    draw=draw,
    other_types=(Snapshot,),
    readers=READERS,
)

__all__ = [
    "PROBLEM",
    "Instance",
    "Round",
    "Snapshot",
    "Timetable",
    "from_networkx",
    "generate",
    "instances",
    "to_networkx",
]
