"""The environments' former home, by which programs make them: gymnasium.make("mlsched.simulation.environments:...").

They belong to the training of policies, which this library does without: `mlsched.training.environments` is imported
when this module is.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOME = importlib.import_module("mlsched.training.environments")


def __getattr__(name: str) -> Any:
    return getattr(_HOME, name)
