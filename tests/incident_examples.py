"""Reported incidents as instances: the states of shared data, whose fields are named a little otherwise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mlsched.instances.admission import Instance


def incidents(folder: Path) -> list[tuple[dict[str, Any], Instance]]:
    """(what the file says, its instance) of each incident in a folder, by name."""
    found = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    return [(incident, _instance(incident["instance"])) for incident in found]


def _instance(fields: dict[str, Any]) -> Instance:
    given = {name: value for name, value in fields.items() if name not in ("limits", "pod_nodes", "node_domain")}
    if limits := fields.get("limits"):
        given["limit_left"] = [limit["left"] for limit in limits]
        given |= {f"limit_{of}": [limit[of] for limit in limits] for of in ("job", "unit")}
    if rows := fields.get("pod_nodes"):
        sets = sorted(set(map(tuple, rows)))
        given |= {"node_sets": [list(one) for one in sets], "pod_set": [sets.index(tuple(row)) for row in rows]}
    if domains := fields.get("node_domain"):
        given["node_domain"] = domains
    return Instance(**given)
