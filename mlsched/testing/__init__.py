"""Property tests for anyone's scheduler: `check_scheduler(my_function, "preemption")`.

Needs the `testing` extra (Hypothesis).
"""

from mlsched.testing.scheduler import Checked, check_scheduler

__all__ = ["Checked", "check_scheduler"]
