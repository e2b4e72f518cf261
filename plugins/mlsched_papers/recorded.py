"""Verdicts of the full experiments as they are recorded in docs/results, which a quick run shows beside its estimates.

`recorded.json` is made from the recorded results by `python tools/results.py`; a test holds it against them.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from importlib import resources


@functools.cache
def recorded() -> Mapping[str, Mapping[str, str]]:
    """Experiment -> name of a claim -> its verdict."""
    place = resources.files("mlsched_papers").joinpath("recorded.json")
    found: Mapping[str, Mapping[str, str]] = json.loads(place.read_text(encoding="utf-8"))
    return found
