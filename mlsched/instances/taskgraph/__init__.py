"""Task graphs (MLFS): where and when each task of each iteration runs, and when a job may stop.

Paper: Wang, Liu, Shen, "MLFS: Towards Job Scheduling in Distributed Machine Learning Clusters" (Eq. 1), Section 3.
"""

from mlsched.instances.taskgraph.instance import Instance, Timetable

__all__ = ["Instance", "Timetable"]
