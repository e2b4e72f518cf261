"""Topology requests of podsets: the level of one domain, and slices (rules T2, T3)."""

from __future__ import annotations

from dataclasses import dataclass

from mlsched_admission.instances.states.entries import Entry
from mlsched_admission.instances.systems.kueue.snapshot import PodSet

Values = tuple[str, ...]
#: Domains at the lowest level, each with its pods.
Placed = list[tuple[Values, int]]


@dataclass
class Unit:
    """Podsets that are placed together: one, or a leader and its workers. `each`: requests of a pod, with `pods`."""

    flavor: str
    members: list[PodSet]
    counts: dict[str, int]
    each: dict[str, dict[str, int]]
    implied: bool = False


@dataclass
class Constraint:
    """The level at which one domain is sought, and the slices."""

    level: int
    required: bool
    least_free: bool
    climbs: bool
    slice_level: int
    slice_size: int
    inner: dict[int, int]


def constraint(request: Entry, levels: list[str]) -> Constraint | None:
    """Return the constraint that a topology request states (T2, T3); None if the topology lacks a level."""
    lowest = len(levels) - 1
    layers = [(one.text("topology"), one.whole("size", default=1, low=1)) for one in _slice_layers(request)]
    if not layers and request.text("podSetSliceRequiredTopology"):
        layers = [(request.text("podSetSliceRequiredTopology"), request.whole("podSetSliceSize", default=1, low=1))]
    level_names = [request.text("required"), request.text("preferred"), *(level for level, _ in layers)]
    if any(level and level not in levels for level in level_names):
        return None
    slice_level, slice_size = (levels.index(layers[0][0]), layers[0][1]) if layers else (lowest, 1)
    inner = {levels.index(level): size for level, size in layers[1:]}
    if request.text("required"):
        return Constraint(levels.index(request.text("required")), True, False, False, slice_level, slice_size, inner)
    if request.text("preferred"):
        return Constraint(levels.index(request.text("preferred")), False, False, True, slice_level, slice_size, inner)
    level = min(lowest, slice_level) if request.flag("unconstrained") or not layers else 0
    return Constraint(level, False, True, False, slice_level, slice_size, inner)


def _slice_layers(request: Entry) -> list[Entry]:
    key = "podsetSliceRequiredTopologyConstraints"
    return list(request.entries(key if request.get(key) is not None else "podSetSliceRequiredTopologyConstraints"))
