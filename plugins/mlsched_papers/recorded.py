"""Recorded claims of the full experiments in docs/results: their verdicts, which a quick run shows, and their reader.

`python tools/results.py` makes `recorded.json` from the recorded results; a test compares the two.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Mapping
from importlib import resources
from typing import Any, cast

from mlsched_papers.claim import FEWEST, Bound, Claim, Estimate, Exclusion, Ground, Measurement
from mlsched_papers.scoreboard import Outcome, outcome
from mlsched_papers.statement import kind_of

#: A part of a report in JSON.
Json = Mapping[str, Any]


@functools.cache
def recorded() -> Mapping[str, Mapping[str, Outcome]]:
    """Return experiment -> name of a claim -> its outcome."""
    place = resources.files("mlsched_papers").joinpath("recorded.json")
    data = json.loads(place.read_text(encoding="utf-8"))
    return {experiment: {name: Outcome(*each) for name, each in claims.items()} for experiment, claims in data.items()}


def claim_from_json(data: Json) -> Claim:
    """Return a claim from its part of a report's JSON, which `Claim.to_json` writes."""
    excluded = {name: _exclusion(why) for name, why in data["excluded"].items()}
    pieces = tuple(map(_measurement, data["measurements"]))
    words = (data["name"], data["text"], data["where"], data["tested"])
    notes = (data["origin"], excluded, tuple(data["chance"]), data.get("level_with_chance", ""))
    return Claim(*words, pieces, *notes, data.get("kind") or kind_of(pieces))


def recorded_outcome(data: Json) -> Outcome:
    """Return the recorded verdict of a claim in a report's JSON, with its chance."""
    return dataclasses.replace(outcome(claim_from_json(data)), verdict=data["verdict"])


def _exclusion(why: str) -> Exclusion:
    ground, _, because = why.partition(": ")
    return Exclusion(cast(Ground, ground), because)


def _measurement(data: Json) -> Measurement:
    fields = {name: value for name, value in data.items() if name != "side"}
    measured, reach = data["measured"], data.get("reach")
    if measured is not None:
        few = measured["count"] is not None and measured["count"] < FEWEST
        fields["measured"] = Estimate(**measured | ({"half": None} if few else {}))
    fields |= {"bound": Bound(**data["bound"]), "each": tuple(data.get("each", ()))}
    return Measurement(**fields | {"reach": None if reach is None else Bound(**reach)})
