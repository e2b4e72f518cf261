"""Upstream test tables of Kueue, KAI and Kubernetes: their expected decisions, and verdicts on them."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mlsched_admission
from mlsched.core.errors import MlschedError
from mlsched_admission.instances.states import documents, kai
from mlsched_admission.instances.states import objects as k8s
from mlsched_admission.instances.states.entries import Entry
from mlsched_admission.instances.systems.kai import actions
from mlsched_admission.instances.systems.kai.reading import read_session
from mlsched_admission.instances.systems.kube import Cluster
from mlsched_admission.instances.systems.kueue import cycle, preemption
from mlsched_admission.instances.systems.kueue.reading import read_snapshot
from mlsched_admission.instances.systems.kueue.tree import Amounts

Case = dict[str, Any]
ACCUSATIONS = ("ineligible", "does not start", "needless")


def cases(folder: Path, system: str) -> list[Case]:
    """Return the cases of a system."""
    found: list[Case] = json.loads(gzip.decompress((folder / f"{system}.json.gz").read_bytes()))["cases"]
    return found


def _objects(state: list[Any]) -> k8s.Objects:
    return k8s.objects_by_kind(
        [documents.Document("kubernetes", "case", Entry({"kind": "List", "items": state}, "case"))]
    )


# --- agreement -------------------------------------------------------------------------------------------------------


def kueue(case: Case) -> tuple[Any, Any]:
    """Return (decided, expected) of a case of Kueue: victims, and with chosen flavors what is admitted."""
    snapshot, expect = read_snapshot(_objects(case["state"])), case["expect"]
    if "forced" in case:
        workload = snapshot.waiting[case["ask"][0]]
        usage: Amounts = {}
        contested = set()
        for name, imposed in case["forced"].items():
            each = next(one.each for one in workload.pod_sets if one.name == name)
            for resource, (flavor, needed) in imposed["flavors"].items():
                fr = (flavor, resource)
                usage[fr] = usage.get(fr, 0) + imposed["count"] * each.get(resource, 0)
                contested |= {fr} if needed else set()
        victims = preemption.choose_victims(snapshot, workload, usage, frozenset(contested), []) or []
        return sorted(one.name for one in victims), sorted(expect["victims"])
    made = cycle.run(snapshot, [snapshot.waiting[name] for name in case["ask"]])
    evicted = sorted(name for names in made.victims.values() for name in names)
    admitted: dict[str, Any] = {}
    for name, assignment in made.admitted.items():
        admitted[name] = {}
        for label, part in assignment.pod_sets.items():
            admitted[name][label] = row = {"count": part.count, "flavors": part.flavors}
            if part.domains:
                forest = snapshot.forest
                by_host = any(f in forest.levels and forest.ends_at_hosts(f) for f in part.flavors.values())
                row["domains"] = [[[values[-1]] if by_host else list(values), pods] for values, pods in part.domains]
    wanted = {
        name: {label: {k: v for k, v in part.items() if k != "delayed"} for label, part in sets.items()}
        for name, sets in expect["admitted"].items()
    }
    return [evicted, admitted], [sorted(expect.get("victims", evicted)), wanted]


def kai_case(case: Case) -> tuple[Any, Any]:
    """Return (decided, expected) of a case of KAI: phase and node of each pod, nodes only if they are expected."""
    found = kai._objects_by_kind(Entry(case["state"]["rawObjects"], "case"), "case")
    session = read_session(found, k8s.machines_by_name(found))
    for _ in range(case["rounds"]):
        actions.run(session, case["actions"])
        if len(case["actions"]) > 1:
            actions.next_round(session, {f"s1/{name}" for name in case["deleted_stay"]})
    there = {pod.name.rpartition("/")[2]: (pod.status, pod.node) for pod in session.all_pods()}
    expected = {name: (phase, node) for name, (phase, node) in case["expect"].items()}
    decided = {name: (there[name][0], there[name][1] if node else None) for name, (_, node) in expected.items()}
    return decided, expected


def kube(case: Case) -> tuple[Any, Any]:
    """Return (decided, expected) of a case of default preemption: all nodes, or the chosen one."""
    cluster, expect = Cluster(_objects(case["state"]), case["filters"]), case["expect"]
    name = case["ask"][0]
    if "each_node" in expect:
        choices = cluster.victims_by_node(name)
        rows = {
            c.node: {"victims": sorted(pod.short for pod in c.victims), "violations": c.violations} for c in choices
        }
        return rows, expect["each_node"]
    made = cluster.decide_pod(name)
    if "nodes" in expect:
        return made.node in expect["nodes"], True
    decided = [made.node, sorted(pod.short for pod in made.victims)]
    return decided, [expect["node"], sorted(expect.get("victims", decided[1]))]


SYSTEMS = {"kueue": kueue, "kai": kai_case, "kube": kube}


def differences(folder: Path, system: str) -> Iterator[tuple[Case, Any, Any]]:
    """Yield the cases that are decided otherwise than expected, with both decisions."""
    for case in cases(folder, system):
        try:
            decided, expected = SYSTEMS[system](case)
        except MlschedError as error:
            decided, expected = f"refused: {error}", "a decision"
        if decided != expected:
            yield case, decided, expected


# --- verdicts --------------------------------------------------------------------------------------------------------


def decisions(case: Case, system: str) -> Iterator[tuple[list[str], list[str]]]:
    """Yield (jobs, victims) of the expected decisions that the judge can be asked about."""
    expect = case["expect"]
    if system == "kueue" and "forced" not in case:
        for name in case["ask"]:
            if expect["why"][name] in ("preempts", "no candidates", "no fit"):
                yield [name], expect["by"].get(name, [])
    elif system == "kueue" and expect["whole_cycle"] == {"victims": expect["victims"], "why": "preempts"}:
        yield case["ask"], expect["victims"]
    elif system == "kai" and len(case["actions"]) > 1:
        whole = case["one_whole_round"]
        if whole["evicted"] and not whole["moved"]:
            pods = {pod["metadata"]["name"]: pod for pod in case["state"]["rawObjects"]["pods"]}
            jobs = {f"s1/{pods[name]['metadata']['annotations']['pod-group-name']}" for name in whole["starts"]}
            yield sorted(jobs), [f"s1/{name}" for name in whole["evicted"]]
    elif system == "kube":
        node = case["port"]["node"]
        if isinstance(node, str):
            yield case["ask"], [f"s1/{name}" for name in case["port"]["victims"]]


def verdicts(folder: Path, system: str) -> tuple[Counter[str], list[str]]:
    """Return kinds of verdicts on the expected decisions, and the accusations."""
    kinds: Counter[str] = Counter()
    accused = []
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "state.json"
        for case in cases(folder, system):
            state = case["state"] if system == "kai" else {"apiVersion": "v1", "kind": "List", "items": case["state"]}
            path.write_text(json.dumps(state))
            for jobs, victims in decisions(case, system):
                try:
                    found = mlsched_admission.judge(path, decision=victims, job=jobs).verdict
                except MlschedError as error:
                    kinds["refused"] += 1
                    accused.append(f"{case['id']}: refused: {error}")
                    continue
                kinds[found.kind] += 1
                if found.kind in ACCUSATIONS:
                    accused.append(f"{case['id']}: {found.kind}: {found.sentence}")
                elif found.kind == "dominated":
                    accused.append(f"{case['id']}: (dominated) {found.sentence}")
                elif found.kind == "unknown":
                    accused.append(f"{case['id']}: (unknown) {found.sentence}")
    return kinds, accused


#: Systems as the tables of the documentation name them.
