"""Admission: which waiting jobs start now, and which running units are evicted or moved for them.

The question that Kueue, the Kubernetes scheduler, KAI and Slurm answer when a job waits. The rules are numbered in
`judge.py` and `judge_quotas.py`.
"""

from mlsched.core.contract import Problem
from mlsched.instances.admission.bounds import TRIVIAL_BOUNDS
from mlsched.instances.admission.cases import cases, relaxations
from mlsched.instances.admission.generate import PRESETS, generate
from mlsched.instances.admission.instance import Instance, Plan
from mlsched.instances.admission.relations import RELATIONS
from mlsched.instances.admission.strategies import contended, instances

PROBLEM = Problem(
    name="admission",
    title="which waiting jobs start, and whom they evict",
    paper="Kueue, kube-scheduler, KAI Scheduler, Slurm",
    instance_type=Instance,
    plan_type=Plan,
    generate=generate,
    presets=PRESETS,
    strategy=instances,
    contended=contended,
    relations=RELATIONS,
    cases=cases,
    relaxations=relaxations,
    default="cp-sat",
    trivial_bounds=TRIVIAL_BOUNDS,
)

__all__ = ["PROBLEM", "Instance", "Plan", "generate", "instances"]
