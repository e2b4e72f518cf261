"""Resources of a Slurm job in its accounting: CPUs, memory, nodes, and GPUs, typed, sliced or shared.

A TRES lists sums over all nodes ("cpu=8,gres/gpu=4,gres/gpu:a100=4,mem=64G,node=1"), a GRES the amounts of one node
("gpu:a100:4(S:0-1)"). A MIG slice counts as its share of the compute slices of its GPU (slurm.schedmd.com/gres.html,
docs.nvidia.com/datacenter/tesla/mig-user-guide).
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

#: A generic resource with its type and count: gres/gpu:a100=4 of a TRES, gpu:a100:4(S:0-1) of a GRES.
_GRES = re.compile(r"(?:gres/)?([A-Za-z_][A-Za-z0-9_]*)(?::([^:=,()]+(?=[:=])))?[:=]([0-9]+)[KMGT]?(?:\(.*\))?")
#: A MIG profile at the end of a type: a100_3g.20gb has 3 of 7 compute slices.
_SLICE = re.compile(r"(?:^|[_.:-])([1-7])g\.([0-9]+)gb[^,]*$")
#: Compute slices of a GPU, and the profiles of only the A30, which has fewer.
SLICES, SLICES_A30, PROFILES_A30 = 7, 4, frozenset({(1, 6), (2, 12), (4, 24)})
#: Generic resources that are named if they do not count; other names are counted together.
_NAMED = ("shard", "mps", "gpumem", "gpuutil")


@dataclass(frozen=True)
class Resources:
    """Resources of one list.

    Attributes:
        cpus, memory, nodes: Texts of a TRES; "" if absent.
        devices: GPUs and MIG slices.
        milli: The same in thousandths of a GPU, rounded up.
        types: GPU models in the list, without profiles of slices.
        shards: Shards of GPUs that several jobs share.
        others: Further generic resources.
    """

    cpus: str
    memory: str
    nodes: str
    devices: int
    milli: int
    types: frozenset[str]
    shards: int
    others: tuple[str, ...]


@functools.lru_cache(maxsize=10_000)
def resources_of(listed: str) -> Resources:
    """Return the resources of a list; of a GPU type and the sum over types, the sum counts once."""
    plain, typed, shards = None, dict[str, int](), 0
    others = set[str]()
    texts = {"cpu": "", "mem": "", "node": ""}
    for item in listed.split(","):
        name, _, value = item.strip().partition("=")
        if name in texts:
            texts[name] = value
            continue
        match = _GRES.fullmatch(item.strip())
        if match is None or not (name.startswith("gres/") or "=" not in item):
            continue
        kind, model, count = match[1], match[2] or "", int(match[3][:13])
        if kind == "gpu" and not model:
            plain = (plain or 0) + count
        elif kind == "gpu":
            typed[model] = typed.get(model, 0) + count
        elif kind == "shard" and not model:  # a typed shard is part of the sum
            shards += count
        elif kind != "shard":
            others.add(kind if kind in _NAMED else "another resource")
    sliced = [(count, share) for model, count in typed.items() if (share := _slices_of_profile(model))]
    slices = sum(count for count, _ in sliced)
    devices = max(sum(typed.values()), plain or 0)
    parts = sum(-(-1000 * count * part // whole) for count, (part, whole) in sliced)
    types = frozenset(model for text in typed if (model := _SLICE.sub("", text)) and not model.isdecimal())
    milli = 1000 * (devices - slices) + parts
    return Resources(texts["cpu"], texts["mem"], texts["node"], devices, milli, types, shards, tuple(sorted(others)))


def _slices_of_profile(model: str) -> tuple[int, int] | None:
    """Return (compute slices, slices of the complete GPU) of a MIG profile; None of a complete GPU."""
    match = _SLICE.search(model)
    if match is None:
        return None
    part = int(match[1])
    small = "a30" in model.lower() or (part, int(match[2])) in PROFILES_A30
    whole = SLICES_A30 if small else SLICES
    return (part, whole) if part < whole else None
