"""Entries of small collections, and how tests look at them and change them."""

from __future__ import annotations

import json

import mlsched
from mlsched.benchmark import collection
from mlsched.benchmark.collection import DIGITS


def verify(folder, seconds=None):
    """How many entries there are, and what is wrong."""
    found = collection.verify(folder, seconds)
    return found.entries, list(found.wrong)


def known(seed=3):
    instance = mlsched.generate("preemption", preset="small", seed=seed)
    return instance, mlsched.solve(instance, "fitgpp"), mlsched.solve(instance, "cp-sat")


def entry_of(folder, seed=3):
    return folder / "preemption" / f"{known(seed)[0].hash[:DIGITS]}.total_score.json"


def rewritten(path, **changes):
    """The file with fields changed, its history made to fit."""
    data = json.loads(path.read_text()) | changes
    data["history"][-1] |= {name: changes[name] for name in ("value", "bound") if name in changes}
    path.write_text(json.dumps(data))
