"""Skips for the evolution of Chic-plus, which needs compiled code."""

from __future__ import annotations

import pytest

from mlsched_training.workers import _plus_runs

REASON = "installed without a C compiler: the compiled runs are missing"

needs_compiled = pytest.mark.skipif(_plus_runs.compiled_function() is None, reason=REASON)


def skip_without_compiled(policy: str) -> None:
    """Skip a test of this policy if it is Chic-plus and the compiled code is missing."""
    if policy == "chic-plus" and _plus_runs.compiled_function() is None:
        pytest.skip(REASON)
