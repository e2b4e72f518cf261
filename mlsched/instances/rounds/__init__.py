"""Rounds: who runs on which GPU type, and on how many GPUs, in the coming round.

The question that Gavel (OSDI 2020), Sia (SOSP 2023) and Shockwave (NSDI 2023) answer every few minutes. The rules are
numbered in `judge.py`.
"""

from mlsched.core.contract import Problem
from mlsched.instances.rounds.bounds import TRIVIAL_BOUNDS
from mlsched.instances.rounds.cases import cases, relaxations
from mlsched.instances.rounds.generate import PRESETS, generate
from mlsched.instances.rounds.instance import Instance, Plan
from mlsched.instances.rounds.relations import RELATIONS
from mlsched.instances.rounds.strategies import contended, instances

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
    relations=RELATIONS,
    cases=cases,
    relaxations=relaxations,
    default="highs",
    trivial_bounds=TRIVIAL_BOUNDS,
)

__all__ = ["PROBLEM", "Instance", "Plan", "generate", "instances"]
