"""Task graphs (MLFS): decide the node and start of each task of each iteration, and when a job may stop.

Paper: Wang, Liu, Shen, "MLFS: Towards Job Scheduling in Distributed Machine Learning Clusters" (Eq. 1), Section 3.
"""

from mlsched.core.contract import InSuites, Problem
from mlsched.instances.taskgraph.bounds import TRIVIAL_BOUNDS
from mlsched.instances.taskgraph.cases import cases, relaxations
from mlsched.instances.taskgraph.convert import from_networkx, to_networkx
from mlsched.instances.taskgraph.draw import draw
from mlsched.instances.taskgraph.features import FEATURES
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
    metamorphic_relations=RELATIONS,
    features=FEATURES,
    cases=cases,
    relaxations=relaxations,
    default="cp-sat",
    trivial_bounds=TRIVIAL_BOUNDS,
    draw=draw,
    other_types=(Snapshot,),
    readers=READERS,
    # Of the six larger task graphs of `quick`, HiGHS leaves five without a proof or a plan after 3 s, and the time-
    # indexed model of the gangs is too large; `cp-sat` proves all six. On graphs as large as the harder ones, on which
    # rules are mostly optimal, HiGHS and the moulded models took 10 to 20 CPU seconds each, or did not end.
    suites=InSuites(
        small_only=("highs", "moulded-highs"),
        harder=("dags", 4, ("highs", "moulded", "moulded-highs")),
        scale=("six-loose", tuple({"jobs": n, "runs": 8 * n} for n in (2, 4, 8))),
        speed="six-loose",
        edition=1,
        published=("best-effort-fifo", "graphene", "srpt"),
    ),
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
