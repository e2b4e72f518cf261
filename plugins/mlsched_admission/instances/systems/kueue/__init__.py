"""Kueue as a second program: quotas, flavors, topology, preemption and one scheduling cycle.

Rules carry the numbers of `docs/problems/admission-rules.md`: K quantities, F flavors, T topology, P classical
preemption, S fair sharing, C the cycle.
"""
