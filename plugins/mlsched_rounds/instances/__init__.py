"""Rounds: choose the GPU type and GPU count of each job for the coming round.

Gavel (OSDI 2020), Sia (SOSP 2023) and Shockwave (NSDI 2023) solve this problem every few minutes. The rules are
numbered in `judge.py`.
"""

from mlsched.core.contract import InSuites, Problem
from mlsched_rounds.instances.bounds import TRIVIAL_BOUNDS
from mlsched_rounds.instances.cases import cases, relaxations
from mlsched_rounds.instances.features import FEATURES
from mlsched_rounds.instances.generate import PRESETS, generate
from mlsched_rounds.instances.instance import Instance, Plan
from mlsched_rounds.instances.relations import RELATIONS
from mlsched_rounds.instances.strategies import contended, instances

PROBLEM = Problem(
    name="rounds",
    title="who runs on which GPU type in the coming round",
    paper="Gavel (Narayanan et al., 2020), Sia (Jayaram Subramanya et al., 2023)",
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
    default="highs",
    trivial_bounds=TRIVIAL_BOUNDS,
    suites=InSuites(
        harder=("adaptive", 5, ()),
        exact=("small", "gavel", "adaptive", "pausing"),
        scale=("adaptive", tuple({"jobs": n, "gpus": n // 4} for n in (20, 40, 80, 160))),
        speed="gavel",
    ),
)

__all__ = ["PROBLEM", "Instance", "Plan", "generate", "instances"]
