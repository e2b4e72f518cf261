"""Reported incidents as instances: the states of shared data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mlsched.instances.admission import Instance
from mlsched.instances.admission.states.entries import Entry
from mlsched.instances.admission.states.incident import incident_instance


def incidents(folder: Path) -> list[tuple[dict[str, Any], Instance]]:
    """(what the file says, its instance) of each incident in a folder, by name."""
    found = [(path.name, json.loads(path.read_text())) for path in sorted(folder.glob("*.json"))]
    return [(incident, incident_instance(Entry(incident, name))) for name, incident in found]
