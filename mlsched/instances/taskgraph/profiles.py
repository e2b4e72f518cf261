"""Measured models as jobs: operator graphs of PipeDream (SOSP 2019) and dnn-partitioning (NeurIPS 2020).

Formats: PipeDream's `graph.txt` has a line per layer, `id -- layer -- forward_compute_time=ms,
backward_compute_time=ms, activation_size=bytes, parameter_size=bytes`, and indented lines `id -- id`. The JSON of
dnn-partitioning has nodes with `fpgaLatency` (ms on the accelerator) and `size` (bytes in the node, more than its
parameters), and edges with `size` (bytes sent). Their `cost` is not used, since its unit differs between the files.
PipeDream's `Input` layers have the time of loading data, up to 640 ms: it is set to 0.

A profile becomes a networkx graph with `time` (ms, forward and backward), `parameters` (4 bytes each) of nodes and
`bytes` of edges; `job_graph` cuts it into tasks.
"""

from __future__ import annotations

import math
import os
import re
import tarfile
import zlib
from pathlib import Path
from typing import Any

from mlsched.core.arguments import validate_arguments
from mlsched.core.errors import InvalidFile, InvalidInput
from mlsched.core.files import parse_json
from mlsched.core.params import Positive, check_range
from mlsched.core.safe_open import open_tar, read_text, shown_path
from mlsched.instances.taskgraph.convert import Link, chain_iterations

#: Largest archive of profiles, uncompressed; the published archives have 1 and 3 MB.
MOST_BYTES = 2**26

_LAYER = re.compile(
    r"(?P<id>\S+) -- (?P<layer>.*) -- forward_compute_time=(?P<forward>\S+), backward_compute_time=(?P<backward>\S+), "
    r"activation_size=(?P<activation>.+), parameter_size=(?P<parameters>\S+)"
)


def read_profiles(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Name -> graph (networkx.DiGraph) of the profiles in a `graph.txt`, a `.json`, or a `.tar.gz` of such files.

    Raises InvalidFile, naming file and line, for anything else.
    """
    if Path(path).suffix not in (".gz", ".tar", ".tgz"):
        return {Path(path).stem: _parse_profile(shown_path(path), read_text(path))}
    try:
        return _read_archive(path)
    except (OSError, tarfile.TarError, EOFError, zlib.error) as error:
        raise InvalidFile(f"{shown_path(path)}: cannot be read: {error}; check the path") from None
    except UnicodeDecodeError as error:
        raise InvalidFile(f"{shown_path(path)}: is not text (byte {error.start} is not UTF-8)") from None


def _read_archive(path: str | os.PathLike[str]) -> dict[str, Any]:
    profiles, size = {}, 0
    with open_tar(path) as archive:
        for member in archive:
            size += member.size
            if size > MOST_BYTES:
                raise InvalidFile(f"{shown_path(path)}: has more than {MOST_BYTES} bytes; give profiles")
            stream = archive.extractfile(member) if member.isfile() else None
            if stream is not None and member.name.endswith((".txt", ".json")):
                text = stream.read().decode("utf-8")
                profiles[member.name] = _parse_profile(f"{shown_path(path)}::{member.name}", text)
    if not profiles:
        raise InvalidFile(f"{path}: expected a folder of profiles (.txt or .json)")
    return profiles


def _parse_profile(name: str, text: str) -> Any:
    import networkx as nx

    graph = _parse_json(name, text) if text.lstrip().startswith("{") else _parse_pipedream(name, text)
    if not graph or not nx.is_directed_acyclic_graph(graph):
        raise InvalidFile(
            f"{name}: {'has a cycle' if graph else 'is empty'}, expected a graph of layers without cycles"
        )
    return graph


def _parse_pipedream(name: str, text: str) -> Any:
    import networkx as nx

    graph = nx.DiGraph()
    size_of: dict[str, float] = {}
    edges = []
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{name}, line {number}"
        if not line.strip():
            continue
        if line[0].isspace():
            ends = line.split(" -- ")
            if len(ends) != 2:
                raise InvalidFile(f"{where}: expected 'id -- id'")
            edges.append((where, ends[0].strip(), ends[1].strip()))
            continue
        layer = _LAYER.fullmatch(line.strip())
        if layer is None:
            raise InvalidFile(f"{where}: expected 'id -- layer -- forward_compute_time=..., ...'")
        loading = layer["layer"].startswith("Input")
        time = 0.0 if loading else _parse_number(where, layer["forward"]) + _parse_number(where, layer["backward"])
        graph.add_node(layer["id"], time=time, parameters=round(_parse_number(where, layer["parameters"]) / 4))
        # A layer with several outputs lists their sizes.
        size_of[layer["id"]] = sum(
            _parse_number(where, size) for size in re.split(r"[;, \[\]]+", layer["activation"]) if size
        )
    for where, tail, head in edges:
        for end in (tail, head):
            if end not in size_of:
                raise InvalidFile(f"{where}: unknown layer {end!r}")
        graph.add_edge(tail, head, bytes=size_of[tail])
    return graph


def _parse_json(name: str, text: str) -> Any:
    import networkx as nx

    graph = nx.DiGraph()
    try:
        data = parse_json(name, text.encode())
        for node in data["nodes"]:
            where = f"{name}: node {node['id']}"
            size = _parse_number(where, node["size"])
            if node["id"] is None:
                raise InvalidFile(f"{where}: a node needs a name")
            graph.add_node(node["id"], time=_parse_number(where, node["fpgaLatency"]), parameters=round(size / 4))
        for edge in data["edges"]:
            where = f"{name}: edge {edge['sourceId']} -> {edge['destId']}"
            if edge["sourceId"] not in graph or edge["destId"] not in graph:
                raise InvalidFile(f"{where}: names a node that does not exist")
            graph.add_edge(edge["sourceId"], edge["destId"], bytes=_parse_number(where, edge["size"]))
    except (KeyError, TypeError) as error:
        raise InvalidFile(f"{name}: is not a dnn-partitioning graph: {type(error).__name__} {error}") from None
    return graph


def _parse_number(where: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidFile(f"{where}: {value!r} is not a number") from None
    if not 0 <= number < math.inf:
        raise InvalidFile(f"{where}: {number} must be at least 0 and finite")
    return number


@validate_arguments
def job_graph(
    profile: Any,
    parts: int,
    *,
    tick: Positive = 10.0,
    bandwidth: Positive = 1250.0,
    demand: dict[str, int] | None = None,
) -> Any:
    """Cut a profile into at most `parts` consecutive tasks of about equal time, for `from_networkx`.

    The layers are cut in a topological order, so the pieces form an acyclic graph. The first pieces of an iteration
    wait for the last of the previous one.

    Args:
        profile: Graph of layers.
        parts: Most pieces.
        tick: Milliseconds per tick (`tick_ms` of `from_networkx`). A piece lasts its time, rounded up, at least 1.
        bandwidth: MB per second. An edge's volume is the MB sent between two pieces, its delay the transfer in ticks,
            both rounded up.
        demand: Demand of each task (default: one "gpu", in complete GPUs).
    """
    import networkx as nx

    check_range("parts", parts, 1)
    if not len(profile):
        raise InvalidInput("profile: 0 layers, expected at least one")
    order = list(nx.lexicographical_topological_sort(profile, key=str))
    total = sum(profile.nodes[v]["time"] for v in order)
    piece: dict[Any, int] = {}
    elapsed = 0.0
    for place, v in enumerate(order):
        # By the middle of the layer's time; by its position if all times are 0.
        middle = (elapsed + profile.nodes[v]["time"] / 2) / total if total else place / len(order)
        piece[v] = min(parts - 1, int(middle * parts))
        elapsed += profile.nodes[v]["time"]
    graph = nx.MultiDiGraph()
    for p in sorted(set(piece.values())):
        inside = [profile.nodes[v] for v in order if piece[v] == p]
        ticks = max(1, math.ceil(sum(layer["time"] for layer in inside) / tick))
        graph.add_node(
            p,
            duration=ticks,
            parameters=sum(layer["parameters"] for layer in inside),
            demand=dict(demand or {"gpu": 1}),
        )
    volumes: dict[tuple[int, int], float] = {}
    for u, v, size in profile.edges(data="bytes"):
        if piece[u] != piece[v]:
            volumes[piece[u], piece[v]] = volumes.get((piece[u], piece[v]), 0.0) + size
    for (p, q), size in sorted(volumes.items()):
        mega = size / 10**6
        graph.add_edge(p, q, lag=0, volume=math.ceil(mega), delay=math.ceil(1000 * mega / bandwidth / tick))
    chain_iterations(graph, Link(0, 0))
    return graph
