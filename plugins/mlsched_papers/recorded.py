"""Recorded verdicts of the full experiments in docs/results, which a quick run shows beside its estimates.

`python tools/results.py` makes `recorded.json` from the recorded results; a test compares the two.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from importlib import resources


@functools.cache
def recorded() -> Mapping[str, Mapping[str, str]]:
    """Return experiment -> name of a claim -> its verdict."""
    place = resources.files("mlsched_papers").joinpath("recorded.json")
    result: Mapping[str, Mapping[str, str]] = json.loads(place.read_text(encoding="utf-8"))
    return result
