"""Admission: which waiting jobs start now, and which running units are evicted or moved for them.

Kueue, the Kubernetes scheduler, KAI and Slurm solve this problem when a job waits. The rules are numbered in `judge.py`
and `judge_quotas.py`.
"""

from mlsched.core.contract import InSuites, Problem
from mlsched_admission.instances.bounds import TRIVIAL_BOUNDS
from mlsched_admission.instances.cases import relaxations, special_cases
from mlsched_admission.instances.features import FEATURES
from mlsched_admission.instances.generate import PRESETS, generate
from mlsched_admission.instances.instance import Instance, Plan
from mlsched_admission.instances.relations import RELATIONS
from mlsched_admission.instances.strategies import contended, instances

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
    metamorphic_relations=RELATIONS,
    features=FEATURES,
    cases=special_cases,
    relaxations=relaxations,
    default="cp-sat",
    trivial_bounds=TRIVIAL_BOUNDS,
    # Brute force examines 400,000 branches of each larger instance, some 5 s, before it gives up.
    suites=InSuites(
        small_only=("brute-force",),
        harder=("surge", 5, ()),
        exact=("small", "one-job", "surge", "quota", "cohort"),
        scale=("surge", tuple({"nodes": n} for n in (8, 16, 32, 64))),
        speed="cluster",
        edition=2,
        not_collected=("cluster",),
    ),
)

__all__ = ["PROBLEM", "Instance", "Plan", "generate", "instances"]
