"""Admission: which waiting jobs start now, and which running units are evicted or moved for them.

The question that Kueue, the Kubernetes scheduler, KAI and Slurm answer when a job waits. The rules are numbered in
`judge.py`.
"""

from mlsched.instances.admission.instance import Instance, Plan

__all__ = ["Instance", "Plan"]
