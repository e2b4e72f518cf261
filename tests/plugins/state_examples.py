"""Tiny states in the true shape of what real schedulers print: one cluster, in every form that is read.

A file per scheduler (`kueue_examples` ...); here is what they and their tests have in common.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mlsched_admission.instances.states import Options, instance_of, read_states
from mlsched_admission.instances.states.state import State

Json = dict[str, Any]
NOW = "2026-11-24T12:00:00Z"
EPOCH = 1_795_521_600  # the same in seconds


def written(folder: Path, documents: dict[str, Json | str]) -> list[Path]:
    """The documents as files, in their order."""
    paths = []
    for name, document in documents.items():
        paths.append(folder / name)
        paths[-1].write_text(document if isinstance(document, str) else json.dumps(document))
    return paths


def listed(*items: Json) -> Json:
    """What `kubectl get -o json` prints of several objects."""
    return {"apiVersion": "v1", "kind": "List", "items": list(items), "metadata": {"resourceVersion": ""}}


def read(folder, documents, **options) -> State:
    """The one state that these documents hold."""
    (state,) = read_states(written(folder, documents), Options(**options))
    return state


def asked(folder, documents, **options):
    """The instance of that state."""
    return instance_of(read(folder, documents, **options))


def by_name(instance, field):
    """Unit -> its entry of a field."""
    return dict(zip(instance.unit_names, getattr(instance, field).tolist(), strict=True))
