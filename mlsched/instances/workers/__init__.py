"""Workers (Chic): how many workers and parameter servers each training job gets.

Papers: Gong, Li, Liang, Zhan, "Chic: Experience-driven Scheduling in Machine Learning Clusters", IWQoS 2019, Section
2.2; Peng, Bao, Chen, Wu, Guo, "Optimus: An Efficient Dynamic Resource Scheduler for Deep Learning Clusters", EuroSys
2018, Section 4.1.
"""

from mlsched.instances.workers.instance import DELAY, NEVER, Instance, Plan, waiting_terms

__all__ = ["DELAY", "NEVER", "Instance", "Plan", "waiting_terms"]
