"""The environments' former home, by which programs make them: gymnasium.make("mlsched_training.environments:...").

They belong to the training of policies, which this library does without: `mlsched_training.environments` is imported
when this module is.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOME = importlib.import_module("mlsched_training.environments")


def __getattr__(name: str) -> Any:
    return getattr(_HOME, name)
