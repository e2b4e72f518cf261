"""Ctrl-C after a search does what it did before: a solver that takes the signal for itself must not keep it."""

from __future__ import annotations

import subprocess
import sys

FRONT = "mlsched.pareto(instance, ('total_score', 'victim_count'), {!r}, confirm=True)"
SEARCHES = (
    *(f"mlsched.solve(instance, {name!r})" for name in ("cp-sat", "highs", "highs:solver=scip")),
    *(FRONT.format(name) for name in ("cp-sat", "highs")),
)
BEFORE = """
import signal
import mlsched
instance = mlsched.generate("preemption", "small", seed=1)
"""
#: CP-SAT, unless told otherwise, leaves SIGINT with the action that ends the process at once.
EACH = """
signal.signal(signal.SIGINT, signal.default_int_handler)  # a test in the background would not get it
{search}
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print({search!r}, flush=True)
"""


def test_an_interrupt_is_still_one():
    code = BEFORE + "".join(EACH.format(search=search) for search in SEARCHES)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()) == (0, list(SEARCHES)), done.stderr
