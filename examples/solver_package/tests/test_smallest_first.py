"""What every scheduler should pass, on instances that Hypothesis looks for."""

from smallest_first.rules import answer

import mlsched


def test_smallest_first():
    mlsched.check_scheduler(answer, "preemption")
