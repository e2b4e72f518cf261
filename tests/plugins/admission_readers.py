"""The reader of states, as a function of the path, and a small file of each system."""

from __future__ import annotations

import json

from kai_examples import kai_state
from kubernetes_examples import kube_state
from kueue_examples import kueue_state
from state_examples import listed

from mlsched_admission.instances.states import instance_of, read_states

READERS = {"state": lambda path: list(map(instance_of, read_states([path])))}


def together(documents) -> dict:
    """Lists of objects in several documents as one list, which is a state in one file."""
    return listed(*(item for document in documents.values() for item in document["items"]))


def seeds() -> list[tuple[str, bytes]]:
    """(reader, content) of small files that the reader takes."""
    states = (kai_state(), together(kube_state()), together(kueue_state(topology=True)))
    return [("state", json.dumps(state).encode()) for state in states]


__all__ = ["READERS", "seeds"]
