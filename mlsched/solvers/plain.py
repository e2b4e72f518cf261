"""The plain models' former home, by which stored rows name them ("mlsched.benchmark.plain:quality"): benchmark/plain.

A benchmark is no part of the solvers: what is asked of this module is looked up there when it is used.
"""

from __future__ import annotations

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    return getattr(importlib.import_module("mlsched.benchmark.plain"), name)
