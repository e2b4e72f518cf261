"""Clusters in text: `84x(32cpu,256gb,8gpu)`, several shapes joined by `+`; and how reports write them.

GPUs may be of a type, `8gpu:v100`.
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

#: Unit in the text -> (resource as traces name it, factor).
UNITS = {"cpu": ("cpu_milli", 1000), "gb": ("memory_mib", 1024), "gpu": ("gpu_milli", 1000)}
#: Resources in the order of a trace's workload.
RESOURCES = ("cpu_milli", "memory_mib", "gpu_milli")
EXAMPLE = "84x(32cpu,256gb,8gpu)"
TYPED_EXAMPLE = "2x(8gpu:v100)"
MOST_NODES = 10**5
#: One resource of a shape; GPUs may be of a type.
ITEM = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(cpu|gb|gpu(?::(?P<type>[\w.-]{1,60}))?)")


#: "12x8", "12x8gpu", "12x8:v100": what people write for nodes of so many GPUs.
SHORT = re.compile(r"(?P<count>\d{1,6})[x*](?P<gpus>\d{1,4})(gpus?)?(?P<kind>:[\w.-]{1,60})?")
#: "v100=8,k80=16": GPUs of each type without nodes, as worlds of rounds have them.
PER_TYPE = re.compile(r"[\w.-]{1,60}=\d{1,9}(,[\w.-]{1,60}=\d{1,9})*")


def is_text(cluster: str) -> bool:
    """Whether a cluster is written out; else it is the name of a file of nodes.

    Raises InvalidInput for what looks like the one and is neither.
    """
    if not cluster.strip():
        raise InvalidInput(f"cluster: is empty; write for example {EXAMPLE}, or name a file of nodes")
    short = [found for part in cluster.replace(" ", "").lower().split("+") if (found := SHORT.fullmatch(part))]
    if len(short) == cluster.count("+") + 1 and not os.path.lexists(cluster):
        each = [f"{found['count']} nodes of {found['gpus']} GPUs" for found in short]
        meant = "+".join(f"{found['count']}x({found['gpus']}gpu{found['kind'] or ''})" for found in short)
        raise InvalidInput(
            f"cluster '{shorten(cluster)}': {shorten(' and '.join(each))} each are written {shorten(meant)}"
        )
    if PER_TYPE.fullmatch(cluster.replace(" ", "")) and not os.path.lexists(cluster):
        raise InvalidInput(
            f"cluster '{shorten(cluster)}': here GPUs are in nodes, such as {TYPED_EXAMPLE}; write so, or choose the "
            "simulator of rounds (gavel), where they are not"
        )
    return "(" in cluster


def parse_nodes(text: str) -> Nodes | IntArray:
    """The nodes of a cluster's text: as `parse_cluster` where no GPUs are of a type, else with the type of each."""
    plain, models = _read(text)
    if not any(models):
        return plain
    if (plain[:, 2] % 1000).any():
        raise InvalidInput(
            f"cluster '{shorten(text)}': GPUs of a type must be whole; write for example {TYPED_EXAMPLE}"
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
    """Capacities, nodes x (1/1000 CPU, MiB, 1/1000 GPU); what a shape does not name it does not have."""
    rows, models = _read(text)
    if any(models):
        raise InvalidInput(
            f"cluster '{shorten(text)}': all GPUs are alike here; leave out their types, for example {EXAMPLE}"
        )
    return rows


def _read(text: str) -> tuple[IntArray, list[str]]:
    """Capacities, and the type of each node's GPUs; "" where none is named."""
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
        amounts, model = _shape(text, match[2])
        rows += [amounts] * int(match[1])
        models += [model] * int(match[1])
    return np.array(rows, dtype=np.int64), models


def _shape(text: str, shape: str) -> tuple[list[int], str]:
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
    """Capacities of a list of nodes, as `parse_cluster` has them."""
    return np.stack([nodes.cpu_milli, nodes.memory_mib, nodes.gpus * 1000], axis=1)


#: Resource as traces name it -> (what reports call it, so many of its units).
WORDS = {resource: (word, factor) for word, (resource, factor) in UNITS.items()}


def described(capacity: IntArray, resources: tuple[str, ...], types: Sequence[str] = ()) -> str:
    """A cluster in words, e.g. "3x(16 cpu, 4 gpu)"; node shapes in order of first appearance, four at most.

    types: of each node, where there are several; they are part of its shape.
    """
    counts = Counter(zip(map(tuple, capacity.tolist()), types or itertools.repeat(""), strict=False))
    shapes = [
        f"{n}x({', '.join(map(amount, shape, resources))}{f': {kind}' if kind else ''})"
        for (shape, kind), n in counts.items()
    ]
    return " + ".join(shapes[:4]) + (f" + {len(shapes) - 4} more shapes" if len(shapes) > 4 else "")


def called(resource: str) -> str:
    """What reports call a resource of a trace: gpu for gpu_milli."""
    return WORDS.get(resource, (resource, 1))[0]


def amount(count: int, resource: str) -> str:
    word, factor = WORDS.get(resource, (resource, 1))
    return f"{count / factor:.10g} {word}"
