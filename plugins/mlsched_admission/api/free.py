"""`free_nodes`: the fewest moves that free nodes, racks or other domains of a cluster's state."""

from __future__ import annotations

import dataclasses

from mlsched.core.aliases import Data
from mlsched.core.arguments import validate_arguments
from mlsched.core.brief import count_of, short_repr
from mlsched.core.errors import InvalidInput
from mlsched.core.params import Positive, Seed
from mlsched_admission.api.judgement import names_of
from mlsched_admission.api.questions import Paths, instances_of_documents
from mlsched_admission.instances import Instance
from mlsched_admission.instances.states import Options, instance_of, read_documents, states_of
from mlsched_admission.solvers.freeing import Freed, free_whole_nodes

#: Most nodes or domains to free: each number is a separate problem.
MOST = 64


@dataclasses.dataclass(frozen=True)
class Freeing:
    """The cheapest ways to free 1, 2, ... nodes or domains of a state.

    level: "node" or the name of a topology level. instance: the state. ways: the cheapest way for each number.
    """

    level: str
    instance: Instance
    ways: tuple[Freed, ...]

    def __repr__(self) -> str:
        return short_repr(self, self.level, ", ".join(f"{way.count}: {self.cost(way)}" for way in self.ways))

    def cost(self, way: Freed) -> str:
        """Return the cost of a way in words."""
        if way.plan is None:
            return "impossible" if way.proved else "not found within the time limit"
        parts = [count_of(len(way.moves), "move")] if way.moves or not way.evicts else []
        parts += [count_of(len(way.evicts), "eviction")] if way.evicts else []
        return " and ".join(parts) + ("" if way.proved else " (not proved)")

    def to_json(self) -> Data:
        """Return all of it as plain JSON data, with units and nodes by name."""
        return {
            "instance_hash": self.instance.hash,
            "level": self.level,
            "ways": [
                {
                    "count": way.count,
                    "possible": way.plan is not None,
                    "proved": way.proved,
                    "nodes": names_of(self.instance.node_names, way.nodes),
                    "moves": names_of(self.instance.unit_names, way.moves),
                    "evicts": names_of(self.instance.unit_names, way.evicts),
                }
                for way in self.ways
            ],
        }


@validate_arguments
def free_nodes(
    *states: Paths | Instance, level: str = "node", most: int = 1, time_limit: Positive | None = None, seed: Seed = 0
) -> Freeing:
    """Find the fewest units to move so that whole nodes, racks or other domains become free.

    Every running unit may move to any node on which it fits, and a gang inside one domain moves to one domain. If moves
    do not suffice, the fewest evictions are found. A node is free if none of its GPUs is used (without GPUs: none of
    its first resource). Only nodes of the most frequent size count.

    Args:
        states: files that kubectl, Slurm or KAI wrote, or one instance.
        level: "node", the name of a topology level of the state ("rack"), or a level's number in an instance.
        most: the largest number to free, at most 64; all smaller numbers are solved too.
        time_limit: wall seconds for all of it (default 60).
        seed: an integer >= 0.

    Raises:
        InvalidFile: a file cannot be read.
        InvalidInput: the state has no such level, or too few nodes or domains.

    Examples:
        >>> state = mlsched.generate("admission", "small", seed=1)
        >>> mlsched_admission.free_nodes(state, level="node").ways[0].count
        1
    """
    if not 1 <= most <= MOST:
        raise InvalidInput(f"most: {most}, expected 1 to {MOST}")
    instance, levels = _only_state(states)
    ways = free_whole_nodes(instance, _index_of_level(level, levels), most, time_limit=time_limit, seed=seed)
    return Freeing(level, instance, tuple(ways))


def _only_state(states: tuple[Paths | Instance, ...]) -> tuple[Instance, list[str]]:
    """Return the only state as an instance, and the names of its levels."""
    if len(states) == 1 and isinstance(states[0], Instance):
        return states[0], [str(level) for level in range(len(states[0].node_domain))]
    paths = [state for state in states if not isinstance(state, Instance)]
    documents = read_documents(paths)
    if any(document.what in ("own", "incident") for document in documents):
        ((_, instance),) = instances_of_documents(documents, paths, Options())
        return instance, [str(level) for level in range(len(instance.node_domain))]
    read = states_of(documents, Options())
    return instance_of(read[0]), read[0].levels


def _index_of_level(name: str, levels: list[str]) -> int:
    """Return the index of a level, -1 for nodes. A level may be named by its last part."""
    if name == "node":
        return -1
    matches = [i for i, level in enumerate(levels) if level == name or level.endswith((f"/{name}", f"-{name}"))]
    if len(matches) != 1:
        choices = ", ".join(["node", *levels])
        raise InvalidInput(f"free: {name!r}, expected one of {choices}")
    return matches[0]
