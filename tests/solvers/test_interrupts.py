"""Ctrl-C after a search does what it did before: a solver that takes the signal for itself must not keep it."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: CP-SAT, unless told otherwise, leaves SIGINT with the action that ends the process at once.
CODE = """
import signal
import mlsched
signal.signal(signal.SIGINT, signal.default_int_handler)  # a test in the background would not get it
instance = mlsched.generate("preemption", "small", seed=1)
{search}
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print("interrupted")
"""
FRONT = "mlsched.pareto(instance, ('total_score', 'victim_count'), {!r}, confirm=True)"


@pytest.mark.parametrize(
    "search",
    [
        "[mlsched.solve(instance, name) for name in ('cp-sat', 'highs', 'highs:solver=scip')]",
        FRONT.format("cp-sat"),
        FRONT.format("highs"),
    ],
    ids=["solves", "a front by CP-SAT", "a front by HiGHS"],
)
def test_an_interrupt_is_still_one(search):
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(search=search)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr
