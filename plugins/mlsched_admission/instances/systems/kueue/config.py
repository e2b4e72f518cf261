"""The manager's configuration: fair sharing, feature gates and transformations of resources.

It is YAML in a ConfigMap. Only block mappings, block lists and flow values of JSON are read, within bounds; anything
else in it is left out, with a note.
"""

from __future__ import annotations

import json
import re
from typing import Any

from mlsched.core.aliases import Data
from mlsched_admission.instances.states import objects as k8s
from mlsched_admission.instances.systems.kueue.snapshot import Config

#: Lines and depth that are read at most.
MOST_LINES, MOST_DEPTH = 5000, 30
_KEY = re.compile(r"""(?:"([^"]*)"|'([^']*)'|([^\s:#][^:#]*?)):(?:\s+(.*))?$""")


def read_config(by_kind: k8s.Objects) -> Config | None:
    """Return the configuration of these objects; None if they have no ConfigMap of the manager."""
    for entry in by_kind.get("ConfigMap", []):
        for name, text in entry.mapping("data").items():
            if "controller_manager_config" in name or "fairSharing" in text or "featureGates" in text:
                data = parse_yaml(text)
                return _config_of_data(data if isinstance(data, dict) else {})
    return None


def _config_of_data(data: dict[str, Any]) -> Config:
    """Return the settings in a parsed manager configuration; entries of a wrong type are ignored."""
    fair, gates = data.get("fairSharing"), data.get("featureGates")
    config = Config()
    if "fairSharing" in data:
        fair = fair if isinstance(fair, dict) else {}
        config.fair = str(fair.get("enable", True)).lower() != "false"
        strategy_names = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")
        strategies = tuple(one for one in fair.get("preemptionStrategies") or () if one in strategy_names)
        config.strategies = strategies or config.strategies
    config.admission_fair = "admissionFairSharing" in data
    if isinstance(gates, dict):
        config.gates = {str(name): str(value).lower() == "true" for name, value in gates.items()}
    resources = data.get("resources")
    for one in (resources.get("transformations") or []) if isinstance(resources, dict) else []:
        outputs = one.get("outputs") if isinstance(one, dict) else None
        if isinstance(outputs, dict) and isinstance(one.get("input"), str):
            keep = one.get("strategy", "Retain") != "Replace"
            factors = {str(name): str(value) for name, value in outputs.items()}
            config.transformations.append((one["input"], keep, factors, str(one.get("multiplyBy") or "")))
    if isinstance(resources, dict):
        config.excluded = tuple(str(one) for one in resources.get("excludeResourcePrefixes") or ())
    wait = data.get("waitForPodsReady")
    config.block_admission = isinstance(wait, dict) and str(wait.get("blockAdmission", "false")).lower() == "true"
    return config


def parse_yaml(text: str) -> Any:
    """Return the mappings, lists and texts of a small part of YAML; JSON is such a part."""
    if text.lstrip()[:1] == "{":
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return {}
    lines = []
    for line in text.splitlines()[:MOST_LINES]:
        content = line.split(" #")[0].rstrip()
        if content.strip() and not content.lstrip().startswith(("#", "---")):
            lines.append((len(content) - len(content.lstrip()), content.strip()))
    return _parse_block(lines, 0, lines[0][0] if lines else 0, 0)[0]


def _parse_block(lines: list[tuple[int, str]], at: int, indent: int, depth: int) -> tuple[Any, int]:
    """Return the value of the block that starts at a line, and the line after it."""
    if depth > MOST_DEPTH or at >= len(lines):
        return None, len(lines)
    if lines[at][1].startswith("- ") or lines[at][1] == "-":
        return _parse_list(lines, at, indent, depth)
    mapping: Data = {}
    while at < len(lines) and lines[at][0] == indent and (match := _KEY.match(lines[at][1])):
        key, rest = match[1] or match[2] or match[3], (match[4] or "").strip()
        at += 1
        if rest:
            mapping[key] = _parse_scalar(rest)
        elif at < len(lines) and (lines[at][0] > indent or (lines[at][0] == indent and lines[at][1][:1] == "-")):
            mapping[key], at = _parse_block(lines, at, lines[at][0], depth + 1)
        else:
            mapping[key] = None
    while at < len(lines) and lines[at][0] > indent:  # what is not understood is passed over
        at += 1
    return mapping, at if not (at < len(lines) and lines[at][0] == indent) else at + (0 if mapping else 1)


def _parse_list(lines: list[tuple[int, str]], at: int, indent: int, depth: int) -> tuple[Any, int]:
    items = []
    while at < len(lines) and lines[at][0] == indent and lines[at][1][:1] == "-":
        rest = lines[at][1][1:].strip()
        inner = indent + len(lines[at][1]) - len(rest)
        if rest and _KEY.match(rest):
            lines[at] = (inner, rest)
            value, at = _parse_block(lines, at, inner, depth + 1)
        elif rest:
            value, at = _parse_scalar(rest), at + 1
        elif at + 1 < len(lines) and lines[at + 1][0] > indent:
            value, at = _parse_block(lines, at + 1, lines[at + 1][0], depth + 1)
        else:
            value, at = None, at + 1
        items.append(value)
    return items, at


def _parse_scalar(text: str) -> Any:
    if text[:1] in "[{":
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            inner = text[1:-1].strip()
            return [part.strip().strip("\"'") for part in inner.split(",") if part.strip()]
    return text.strip("\"'")
