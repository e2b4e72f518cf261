"""Slurm's preemption settings, from `scontrol show config` (text, or JSON since 26.05) or slurm.conf."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from mlsched.core.errors import InvalidInput, shorten
from mlsched_admission.instances.states.documents import Document
from mlsched_admission.instances.states.slurm_values import INFINITE

_LINE = re.compile(r"^\s*(\w+)\s*=\s*(.*?)\s*$", re.M)
_MODES = ("OFF", "CANCEL", "REQUEUE", "SUSPEND")
_CLOCK = re.compile(r"(?:([0-9]{1,6})-)?(?:([0-9]{1,6}):)?([0-9]{1,6}):([0-9]{2})")


@dataclass(frozen=True)
class Config:
    """Preemption settings.

    Attributes:
        by: "qos", "partition_prio" or "none".
        mode: Default mode.
        exempt: Seconds after the start.
    """

    by: str
    mode: str
    within: bool
    by_priority: bool
    exempt: int
    min_exempt_priority: int
    parameters: tuple[str, ...]


def config_of(documents: Iterable[Document], path: str | None) -> Config:
    """Return the configuration: the user's (`path`), else the state's own."""
    fields: dict[str, str] = {}
    for document in documents:
        if document.what == "config":
            text = document.entry.value.get("text")
            fields |= (
                _values_by_line(text)
                if isinstance(text, str) and len(document.entry.value) == 1
                else _flatten_fields(document)
            )
    if path is not None:
        fields |= _values_by_line(path)
    if "preempttype" not in fields:
        raise InvalidInput(
            "PreemptType is missing in the state; add the output of `scontrol show config`, or "
            "give slurm_conf=slurm.conf"
        )
    return _config_of_fields(fields)


def _values_by_line(text: str) -> dict[str, str]:
    """Return KEY = VALUE by line, as in scontrol's output and slurm.conf (with comments)."""
    plain = re.sub(r"(?m)#.*$", "", text)
    return {match[1].lower(): "" if match[2] in ("(null)", "N/A") else match[2] for match in _LINE.finditer(plain)}


def _flatten_fields(document: Document) -> dict[str, str]:
    """Return all fields of the JSON, at any depth, under names without underscores."""
    fields: dict[str, str] = {}
    pending = [document.entry.value]
    while pending:
        for key, value in pending.pop().items():
            if isinstance(value, dict) and not {"set", "number"} <= value.keys():
                pending.append(value)
            elif isinstance(value, list):
                fields[key.replace("_", "").lower()] = ",".join(map(str, value))
            elif isinstance(value, dict):
                fields[key.replace("_", "").lower()] = str(value["number"] if value["set"] else "")
            elif value is not None:
                fields[key.replace("_", "").lower()] = str(value)
    return fields


def _config_of_fields(fields: dict[str, str]) -> Config:
    kind = fields["preempttype"].lower().removeprefix("preempt/") or "none"
    if kind not in ("qos", "partition_prio", "none"):
        raise InvalidInput(
            f"PreemptType: {shorten(kind)}, expected preempt/qos, preempt/partition_prio or preempt/none"
        )
    words = [word for word in re.split(r"[,+\s]", fields.get("preemptmode", "").upper()) if word]
    parameters = tuple(filter(None, re.split(r"[,\s]", fields.get("preemptparameters", "").lower())))
    floor = next((p.partition("=")[2] for p in parameters if p.startswith("min_exempt_priority=")), "")
    if floor and not (floor.isdecimal() and len(floor) <= 12):
        raise InvalidInput(f"PreemptParameters: min_exempt_priority: {shorten(floor)}, expected a number")
    return Config(
        by=kind,
        mode=preemption_mode(words) or "OFF",
        within="WITHIN" in words,
        by_priority="PRIORITY" in words,
        exempt=_seconds_of_text(fields.get("preemptexempttime", "")),
        min_exempt_priority=int(floor) if floor else INFINITE,
        parameters=parameters,
    )


def preemption_mode(words: Iterable[str]) -> str:
    """Return the mode among several words (GANG, WITHIN, PRIORITY); "" if it is missing."""
    return next((word for word in words if word in _MODES), "")


def _seconds_of_text(text: str) -> int:
    """Parse a time of the configuration: 00:10:00, 1-00:00:00, or seconds."""
    if not text or text in ("NONE", "-1"):
        return 0
    if match := _CLOCK.fullmatch(text):
        days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
        return 86400 * days + 3600 * hours + 60 * minutes + seconds
    digits = text.split(" ")[0]
    if not (digits.isdecimal() and len(digits) <= 9):
        raise InvalidInput(f"PreemptExemptTime: {shorten(text)}, expected a time such as 00:10:00")
    return int(digits)
