"""A scheduler's decision in a file: its victims and the jobs that they are for.

A text with a name per line; JSON: a list of names, {"evict": names, "start": names}; the output of `kubectl get events
-o json` (reason Preempted); a later state with the scheduler's marks on victims: workloads the condition Preempted,
pods the condition DisruptionTarget (PreemptionByScheduler), jobs of Slurm the state PREEMPTED. A name is that of a
unit, of a gang (all of its units), or a unique last part of one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mlsched.core.errors import InvalidFile, InvalidInput, did_you_mean, shorten
from mlsched.core.files import parse_json
from mlsched.core.safe_open import gunzipped, read_bytes, shown_path
from mlsched_admission.instances.instance import Instance
from mlsched_admission.instances.states import objects as k8s
from mlsched_admission.instances.states import slurm_jobs
from mlsched_admission.instances.states.documents import MOST_SIGNS, MOST_STATE
from mlsched_admission.instances.states.entries import Entry

_KINDS = ("admission.plan", "result")


@dataclass(frozen=True)
class Decision:
    """Numbers of the evicted units, and of the jobs to start (None: not given)."""

    evict: tuple[int, ...]
    start: tuple[int, ...] | None = None


def read_decision(path: str | os.PathLike[str], instance: Instance) -> Decision:
    """Return the decision in a file about the units of `instance`; raise InvalidFile for any other file."""
    name = shown_path(path)
    content = gunzipped(path, read_bytes(path, most=MOST_STATE), most=MOST_STATE).removeprefix(b"\xef\xbb\xbf")
    if content.lstrip()[:1] not in (b"{", b"["):
        return Decision(_units_of_names(instance, _names_by_line(name, content), name))
    data = parse_json(path, content, max_characters=MOST_SIGNS, constant=str)
    if isinstance(data, list):
        return Decision(_units_of_names(instance, _names_in_list(data, name), name))
    if data.get("kind") in _KINDS:
        raise InvalidFile(f"{name}: is an mlsched {data['kind']}; it is read by mlsched.load")
    if "evict" in data:
        start = data.get("start")
        jobs = None if start is None else _jobs_of_names(instance, _names_in_list(start, name), name)
        return Decision(_units_of_names(instance, _names_in_list(data["evict"], name), name), jobs)
    victims = list(dict.fromkeys(_marked_victims(Entry(data, name))))
    if not victims:
        raise InvalidFile(
            f'{name}: victims are missing; give a name per line, {{"evict": [names]}}, or events, pods, workloads or '
            f"jobs that the scheduler marked as preempted"
        )
    # The later state may have victims of other decisions, too: those of this one are among its units.
    known_names = set(instance.unit_names) | set(instance.group_names)
    return Decision(_units_of_names(instance, [one for one in victims if one in known_names] or victims, name))


def decision_to_evict(instance: Instance, names: Sequence[str]) -> Decision:
    """Return the decision to evict units of these names."""
    return Decision(_units_of_names(instance, list(names), "decision"))


def _names_by_line(name: str, content: bytes) -> list[str]:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidFile(f"{name}: is not text (byte {error.start} is not UTF-8)") from None
    lines = [line.partition("#")[0].strip() for line in text.splitlines()]
    return [line for line in lines if line]


def _names_in_list(values: Any, name: str) -> list[str]:
    if not isinstance(values, list) or not all(isinstance(one, str) for one in values):
        raise InvalidFile(f"{name}: {shorten(repr(values))}: expected a list of names")
    return values


def _marked_victims(entry: Entry) -> Iterator[str]:
    """Yield names of victims by the schedulers' marks."""
    if "jobs" in entry.value:
        for job in entry.entries("jobs"):
            if "PREEMPTED" in slurm_jobs.job_states(job):
                yield str(job.get("job_id"))
        return
    for one in entry.entries("items") if "items" in entry.value else [entry]:
        kind = one.text("kind") or entry.text("kind").removesuffix("List")
        if kind == "Event" and one.text("reason") == "Preempted":
            subject = one.under("involvedObject" if "involvedObject" in one.value else "regarding")
            yield f"{subject.text('namespace')}/{subject.text('name')}"
        elif kind == "Workload" and k8s.condition(one, "Preempted"):
            yield k8s.full_name(one)
        elif kind == "Pod" and (mark := k8s.condition(one, "DisruptionTarget")) is not None:
            yield from [k8s.full_name(one)] * (mark.text("reason") == "PreemptionByScheduler")


def _units_of_names(instance: Instance, names: list[str], where: str) -> tuple[int, ...]:
    """Return the units of these names."""
    units = instance.unit_names or tuple(map(str, range(len(instance.unit_group))))
    gangs = instance.group_names or ()
    numbers: dict[int, None] = {}
    for name in names:
        mine = [u for u, one in enumerate(units) if one == name]
        mine = mine or [u for u, g in enumerate(instance.unit_group.tolist()) if gangs and gangs[g] == name]
        mine = mine or _only_match(name, units, where)
        numbers |= dict.fromkeys(mine)
    return tuple(sorted(numbers))


def _jobs_of_names(instance: Instance, names: list[str], where: str) -> tuple[int, ...]:
    jobs = instance.job_names or tuple(map(str, range(len(instance.job_priority))))
    return tuple(sorted({_only_match(name, jobs, where, what="waiting job")[0] for name in names}))


def _only_match(name: str, known_names: Sequence[str], where: str, what: str = "running unit") -> list[int]:
    """Return the only match of this full name or last part."""
    short = [n for n, one in enumerate(known_names) if name in (one, one.rpartition("/")[2])]
    if len(short) == 1:
        return short
    if short:
        several = shorten(", ".join(known_names[n] for n in short), 100)
        raise InvalidInput(f"{where}: {len(short)} of them are called {name!r}; name one of {several}")
    raise InvalidInput(f"{where}: {name!r}: unknown {what} of the question{_similar_name(name, known_names)}")


def _similar_name(name: str, known_names: Sequence[str]) -> str:
    """Return the known name that is similar in full or in its last part."""
    by_last = {one.rpartition("/")[2]: one for one in known_names}
    return did_you_mean(name, known_names) or did_you_mean(name, by_last)
