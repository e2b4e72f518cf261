"""Clusters as text: `84x(32cpu,256gb,8gpu)`, several shapes joined by `+`, and their form in reports.

GPUs may have a type, `8gpu:v100`.
"""

from __future__ import annotations

import itertools
import os
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from mlsched.core.errors import InvalidInput, shorten
from mlsched.core.fields import IntArray
from mlsched.instances.traces import Nodes

#: Unit in the text -> (resource as named in traces, factor).
UNITS = {"cpu": ("cpu_milli", 1000), "gb": ("memory_mib", 1024), "gpu": ("gpu_milli", 1000)}
#: Resources in the order of a trace's workload.
RESOURCES = ("cpu_milli", "memory_mib", "gpu_milli")
EXAMPLE = "84x(32cpu,256gb,8gpu)"
TYPED_EXAMPLE = "2x(8gpu:v100)"
MOST_NODES = 10**5
#: One resource of a shape; GPUs may have a type.
ITEM = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(cpu|gb|gpu(?::(?P<type>[\w.-]{1,60}))?)")


#: "12x8", "12x8gpu", "12x8:v100": short forms of nodes with a number of GPUs.
SHORT = re.compile(r"(?P<count>\d{1,6})[x*](?P<gpus>\d{1,4})(gpus?)?(?P<kind>:[\w.-]{1,60})?")
#: "v100=8,k80=16": GPUs of each type without nodes, as in worlds of rounds.
PER_TYPE = re.compile(r"[\w.-]{1,60}=\d{1,9}(,[\w.-]{1,60}=\d{1,9})*")


def is_text(cluster: str) -> bool:
    """Check whether a cluster is given as text; otherwise it is the name of a node file.

    Raises:
        InvalidInput: The text resembles a cluster but cannot be parsed.
    """
    if not cluster.strip():
        raise InvalidInput(f"cluster: is empty; write for example {EXAMPLE}, or name a file of nodes")
    short = [match for part in cluster.replace(" ", "").lower().split("+") if (match := SHORT.fullmatch(part))]
    if len(short) == cluster.count("+") + 1 and not os.path.lexists(cluster):
        each = [f"{match['count']} nodes of {match['gpus']} GPUs" for match in short]
        suggestion = "+".join(f"{match['count']}x({match['gpus']}gpu{match['kind'] or ''})" for match in short)
        raise InvalidInput(
            f"cluster '{shorten(cluster)}': {shorten(' and '.join(each))} each are written {shorten(suggestion)}"
        )
    if PER_TYPE.fullmatch(cluster.replace(" ", "")) and not os.path.lexists(cluster):
        raise InvalidInput(
            f"cluster '{shorten(cluster)}': here GPUs are in nodes, such as {TYPED_EXAMPLE}; write so, or choose the "
            "simulator of rounds (gavel), where they are not"
        )
    return "(" in cluster


def parse_nodes(text: str) -> Nodes | IntArray:
    """Return the nodes of a cluster text: as `parse_cluster` if untyped, else with the GPU type of each node."""
    plain, models = _parse_shapes(text)
    if not any(models):
        return plain
    if (plain[:, 2] % 1000).any():
        raise InvalidInput(
            f"cluster '{shorten(text)}': expected an integer number of GPUs per type; write for example {TYPED_EXAMPLE}"
        )
    return Nodes(
        ids=tuple(f"node-{k}" for k in range(len(plain))),
        cpu_milli=plain[:, 0],
        memory_mib=plain[:, 1],
        gpus=plain[:, 2] // 1000,
        model=tuple(models),
        source=f"{shorten(text)} (nodes)",
    )


def parse_cluster(text: str) -> IntArray:
    """Return capacities, shape (nodes, 3), in 1/1000 CPU, MiB and 1/1000 GPU; resources that a shape omits are 0."""
    rows, models = _parse_shapes(text)
    if any(models):
        raise InvalidInput(
            f"cluster '{shorten(text)}': all GPUs are alike here; leave out their types, for example {EXAMPLE}"
        )
    return rows


def _parse_shapes(text: str) -> tuple[IntArray, list[str]]:
    """Return the capacities and the GPU type of each node ("" if untyped)."""
    rows: list[list[int]] = []
    models: list[str] = []
    for part in text.replace(" ", "").split("+"):
        match = re.fullmatch(r"(\d{1,6})x\(([^()]*)\)", part)
        if not match or not 1 <= int(match[1]) <= MOST_NODES:
            raise InvalidInput(
                f"cluster '{shorten(text)}': '{shorten(part)}' is not COUNTx(SHAPE), "
                f"with a count of 1 to {MOST_NODES}; write for example {EXAMPLE}"
            )
        if len(rows) + int(match[1]) > MOST_NODES:
            raise InvalidInput(f"cluster '{shorten(text)}': has more than {MOST_NODES} nodes")
        amounts, model = _parse_shape(text, match[2])
        rows += [amounts] * int(match[1])
        models += [model] * int(match[1])
    return np.array(rows, dtype=np.int64), models


def _parse_shape(text: str, shape: str) -> tuple[list[int], str]:
    amounts: dict[str, int] = {}
    model = ""
    for item in shape.split(","):
        match = ITEM.fullmatch(item)
        unit = match[2].partition(":")[0] if match else ""
        if not match or UNITS[unit][0] in amounts:
            raise InvalidInput(
                f"cluster '{shorten(text)}': '{shorten(item)}' is not an amount of cpu, gb or gpu, each at most "
                f"once; write for example {EXAMPLE}{f' or {TYPED_EXAMPLE}' if ':' in text else ''}"
            )
        resource, factor = UNITS[unit]
        amounts[resource] = round(float(match[1]) * factor)
        model = match["type"] or model
    return [amounts.get(resource, 0) for resource in RESOURCES], model


def capacities(nodes: Nodes) -> IntArray:
    """Return the capacities of a list of nodes, as `parse_cluster` does."""
    return np.stack([nodes.cpu_milli, nodes.memory_mib, nodes.gpus * 1000], axis=1)


#: Resource as named in traces -> (its name in reports, units per reported unit).
WORDS = {resource: (word, factor) for word, (resource, factor) in UNITS.items()}


def described(capacity: IntArray, resources: tuple[str, ...], types: Sequence[str] = ()) -> str:
    """Describe a cluster, e.g. "3x(16 cpu, 4 gpu)", with at most four node shapes in order of first appearance.

    Args:
        capacity: Capacities, shape (nodes, resources).
        resources: Names of the resources.
        types: Type of each node if there are several; part of the node shape.
    """
    counts = Counter(zip(map(tuple, capacity.tolist()), types or itertools.repeat(""), strict=False))
    shapes = [
        f"{n}x({', '.join(map(amount, shape, resources))}{f': {kind}' if kind else ''})"
        for (shape, kind), n in counts.items()
    ]
    return " + ".join(shapes[:4]) + (f" + {len(shapes) - 4} more shapes" if len(shapes) > 4 else "")


def called(resource: str) -> str:
    """Return the name of a trace's resource in reports: gpu for gpu_milli."""
    return WORDS.get(resource, (resource, 1))[0]


def amount(count: int, resource: str) -> str:
    word, factor = WORDS.get(resource, (resource, 1))
    return f"{count / factor:.10g} {word}"
