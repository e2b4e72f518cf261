"""The calibration load (`mlsched/benchmark/calibration.py`): measurements quote their times as multiples of it."""

from __future__ import annotations

from mlsched.benchmark.calibration import calibration_load as load
from mlsched.benchmark.calibration import cpu_seconds

__all__ = ["cpu_seconds", "load"]
