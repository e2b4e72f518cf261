"""What every scheduler should pass, on instances that Hypothesis looks for."""

from smallest_first.rules import answer

from mlsched.testing import check_scheduler


def test_smallest_first():
    check_scheduler(answer, "preemption")
