"""Placement (Harmony): which server hosts each worker and parameter server of the new jobs.

Paper: Bao, Peng, Wu, "Deep learning-based job placement in distributed machine learning clusters", INFOCOM 2019,
Sections II to IV.
"""

from mlsched.core.contract import InSuites, Problem
from mlsched.instances.placement.bounds import TRIVIAL_BOUNDS
from mlsched.instances.placement.cases import cases, relaxations
from mlsched.instances.placement.draw import draw
from mlsched.instances.placement.features import FEATURES
from mlsched.instances.placement.generate import generate
from mlsched.instances.placement.instance import Instance, Plan
from mlsched.instances.placement.presets import PRESETS
from mlsched.instances.placement.relations import RELATIONS
from mlsched.instances.placement.strategies import contended, instances

PROBLEM = Problem(
    name="placement",
    title="which server hosts each worker and parameter server of new jobs",
    paper="Harmony (Bao et al., 2019)",
    instance_type=Instance,
    plan_type=Plan,
    generate=generate,
    presets=PRESETS,
    strategy=instances,
    contended=contended,
    metamorphic_relations=RELATIONS,
    features=FEATURES,
    cases=cases,
    relaxations=relaxations,
    default="cp-sat",
    trivial_bounds=TRIVIAL_BOUNDS,
    draw=draw,
    suites=InSuites(
        harder=("6x5-contended", 3, ()),
        scale=("6x5", tuple({"servers": n, "jobs": n // 2} for n in (4, 6, 8))),
        speed="6x5-contended",
        edition=1,
        not_collected=("rack-30x20-contended",),
    ),
)

__all__ = ["PROBLEM", "Instance", "Plan", "generate", "instances"]
