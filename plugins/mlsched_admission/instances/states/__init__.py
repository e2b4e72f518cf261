"""Instances from cluster states, as printed by real schedulers: one reader per system."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from mlsched.core.collector import collector_paused
from mlsched.core.errors import InvalidInput
from mlsched_admission.instances.states.build import instance_of
from mlsched_admission.instances.states.documents import Document, read_documents
from mlsched_admission.instances.states.losses import different_times
from mlsched_admission.instances.states.state import Options, State

__all__ = ["Document", "Options", "State", "instance_of", "read_documents", "read_states", "states_of"]

#: Difference, in seconds, of the latest times in kubectl files above which a warning is added.
APART = 86_400
_SYSTEMS = {
    "kubernetes": "Kubernetes",
    "kai": "KAI",
    "slurm": "Slurm",
    "config": "Slurm",
    "own": "mlsched",
    "incident": "mlsched",
}


def read_states(paths: Iterable[str | os.PathLike[str]], options: Options | None = None) -> list[State]:
    """Read the common state of these files: one, or one per combination of flavors (`Options.flavors`).

    Raises InvalidFile and InvalidInput, in a line, for unreadable or unrelated files.
    """
    return states_of(read_documents(paths), options)


def states_of(documents: Sequence[Document], options: Options | None = None) -> list[State]:
    """Return the states of `read_states` from parsed documents."""
    with collector_paused():
        return _states_by_system(documents, options or Options())


def _states_by_system(documents: Sequence[Document], options: Options) -> list[State]:
    # Readers import the schedulers' programs, which import this package's parts.
    from mlsched_admission.instances.states import kai, kube, kueue, objects, slurm

    systems = sorted({_SYSTEMS[document.what] for document in documents})
    if len(systems) > 1:
        raise InvalidInput(f"the files are of different systems ({', '.join(systems)}); give the state of one")
    if systems == ["KAI"]:
        return [kai.read_kai(list(documents), options)]
    if systems == ["Slurm"]:
        return [slurm.read_slurm(list(documents), options)]
    if systems != ["Kubernetes"]:
        raise InvalidInput("the state is missing; name files that kubectl, squeue or KAI wrote")
    by_kind = objects.objects_by_kind(documents)
    if by_kind.get("Workload") or by_kind.get("ClusterQueue"):
        states = kueue.read_kueue(by_kind, options)
    else:
        states = [kube.read_kubernetes(by_kind, options)]
    if (seconds := objects.seconds_apart(documents)) > APART:
        for state in states:
            state.assumed.insert(0, different_times(seconds))
    return states
