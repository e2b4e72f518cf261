"""Preemption (FitGpp): select the best-effort jobs to suspend so that waiting trial-and-error jobs can start.

Paper: Yabuuchi, Taniwaki, Omura, "Low-latency job scheduling with preemption for the development of deep learning",
OpML 2019, Sections 2 and 3.
"""

from mlsched.core.contract import InSuites, Problem
from mlsched.instances.preemption.bounds import TRIVIAL_BOUNDS
from mlsched.instances.preemption.cases import cases, relaxations
from mlsched.instances.preemption.draw import draw
from mlsched.instances.preemption.features import FEATURES
from mlsched.instances.preemption.generate import PRESETS, generate
from mlsched.instances.preemption.horizon import Decisions, Horizon
from mlsched.instances.preemption.horizons import HORIZONS
from mlsched.instances.preemption.instance import Instance, Plan
from mlsched.instances.preemption.relations import RELATIONS
from mlsched.instances.preemption.strategies import contended, instances

PROBLEM = Problem(
    name="preemption",
    title="which best-effort jobs to suspend for waiting trial-and-error jobs",
    paper="FitGpp (Yabuuchi et al., 2019)",
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
    other_types=(Horizon,),
    horizons=HORIZONS,
    suites=InSuites(
        harder=("surge", 5, ()),
        exact=("small", "single", "surge", "exhausted"),
        scale=("surge", tuple({"nodes": n, "jobs": 5 * n // 2, "tes": n // 4} for n in (8, 16, 32, 64, 128))),
        speed="paper-surge",
        edition=1,
        runs=("run",),
        on_runs=("decision-tree", "cp-sat", "fitgpp", "lrtp", "min-max-grace", "rand"),
    ),
)

__all__ = ["PROBLEM", "Decisions", "Horizon", "Instance", "Plan", "generate", "instances"]
