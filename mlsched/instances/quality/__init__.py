"""Quality (SLAQ): allocate cores to training jobs for the coming epoch by their expected loss reduction.

Paper: Zhang, Stafman, Or, Freedman, "SLAQ: Quality-Driven Scheduling for Distributed Machine Learning", SoCC 2017,
Section 4.
"""

from mlsched.core.contract import InSuites, Problem
from mlsched.instances.quality.bounds import TRIVIAL_BOUNDS
from mlsched.instances.quality.cases import cases, relaxations
from mlsched.instances.quality.draw import draw
from mlsched.instances.quality.features import FEATURES
from mlsched.instances.quality.generate import PRESETS, generate
from mlsched.instances.quality.horizon import Epochs, Horizon
from mlsched.instances.quality.horizons import HORIZONS
from mlsched.instances.quality.instance import Instance, Plan
from mlsched.instances.quality.relations import RELATIONS
from mlsched.instances.quality.strategies import contended, instances

PROBLEM = Problem(
    name="quality",
    title="how many cores each training job gets in the coming epoch",
    paper="SLAQ (Zhang et al., 2017)",
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
    default="dp",
    trivial_bounds=TRIVIAL_BOUNDS,
    draw=draw,
    other_types=(Horizon,),
    horizons=HORIZONS,
    suites=InSuites(
        harder=("floored", 5, ()),
        exact=("small", "floored", "contended"),
        scale=("floored", tuple({"jobs": n, "cores": 4 * n} for n in (10, 20, 40, 80))),
        speed="paper",
        edition=1,
        not_collected=("large",),
        runs=("epochs",),
        on_runs=("epoch-dp", "slaq", "slaq-max-min", "fair", "envelope-greedy"),
    ),
)

__all__ = ["PROBLEM", "Epochs", "Horizon", "Instance", "Plan", "generate", "instances"]
