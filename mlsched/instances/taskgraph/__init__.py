"""Task graphs (MLFS): where and when each task of each iteration runs, and when a job may stop.

Paper: Wang, Liu, Shen, "MLFS: Towards Job Scheduling in Distributed Machine Learning Clusters" (Eq. 1), Section 3.
"""

from mlsched.instances.taskgraph.instance import Instance, Timetable
from mlsched.instances.taskgraph.round import Round
from mlsched.instances.taskgraph.snapshot import Snapshot

__all__ = ["Instance", "Round", "Snapshot", "Timetable"]
