"""The reader's arithmetic of quota trees, which decides whom a workload may evict, is the judge's."""

from __future__ import annotations

from draws import draws
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from kueue_examples import pod_set, workload
from state_examples import NOW, listed, written

from mlsched_admission.instances import judge_quotas
from mlsched_admission.instances.states import documents, instance_of, objects, read_states
from mlsched_admission.instances.systems.kueue.reading import read_snapshot

API = "kueue.x-k8s.io/v1beta2"
FR = ("h100", "nvidia.com/gpu")
LIMIT = st.one_of(st.none(), st.integers(0, 6))


def _group(nominal, borrow, lend):
    resource = {"name": "nvidia.com/gpu", "nominalQuota": nominal}
    resource |= {key: value for key, value in (("borrowingLimit", borrow), ("lendingLimit", lend)) if value is not None}
    return [{"coveredResources": ["nvidia.com/gpu"], "flavors": [{"name": "h100", "resources": [resource]}]}]


@st.composite
def trees(draw):
    """Two levels of cohorts, up to four queues, each with a workload or two; one workload waits."""
    cohorts = ["root", "left", "right"]
    queues = [f"q{n}" for n in range(draw(st.integers(1, 4)))]
    items = []
    for name in cohorts:
        nominal = draw(st.integers(0, 6))
        spec = {"resourceGroups": _group(nominal, *(draw(LIMIT) if name != "root" else None for _ in range(2)))}
        spec |= {"parentName": "root"} if name != "root" else {}
        items.append({"apiVersion": API, "kind": "Cohort", "metadata": {"name": name}, "spec": spec})
    for name in queues:
        cohort = draw(st.sampled_from([*cohorts, ""]))
        preemption = {
            "withinClusterQueue": draw(st.sampled_from(["Never", "LowerPriority"])),
            "reclaimWithinCohort": draw(st.sampled_from(["Never", "LowerPriority", "Any"])),
        }
        limits = (draw(LIMIT), draw(LIMIT)) if cohort else (None, None)
        spec = {"resourceGroups": _group(draw(st.integers(0, 6)), *limits), "preemption": preemption}
        spec |= {"cohortName": cohort} if cohort else {}
        items.append({"apiVersion": API, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec})
        local = {"name": "team-lq", "namespace": name}
        items.append({"apiVersion": API, "kind": "LocalQueue", "metadata": local, "spec": {"clusterQueue": name}})
        for number in range(draw(st.integers(0, 2))):
            items.append(_admitted(f"{name}-{number}", name, draw(st.integers(0, 2)), draw(st.integers(1, 5))))
    waits = workload("waits", queues[0], API, 1, [pod_set(1, draw(st.integers(1, 8)))])
    waits["spec"]["queueName"] = "team-lq"
    return listed(*items, waits)


def _admitted(name, queue, priority, gpus):
    assignment = {
        "name": "main",
        "count": 1,
        "flavors": {"nvidia.com/gpu": "h100"},
        "resourceUsage": {"nvidia.com/gpu": gpus},
    }
    conditions = [{"type": "QuotaReserved", "status": "True", "lastTransitionTime": NOW}]
    admission = {"clusterQueue": queue, "podSetAssignments": [assignment]}
    return workload(name, queue, API, priority, [], conditions=conditions, admission=admission)


@settings(max_examples=draws(60, 10_000), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(document=trees())
def test_trees_agree_with_the_judge(tmp_path, document):
    paths = written(tmp_path, {"state.json": document})
    (state,) = read_states(paths)
    instance = instance_of(state)
    snapshot = read_snapshot(objects.objects_by_kind(documents.read_documents(paths)))
    nodes = {f"cohort:{name}": node for name, node in snapshot.cohorts.items()}
    nodes |= {name: queue.node for name, queue in snapshot.queues.items()}
    judged = judge_quotas.Tree(instance, 0)
    limits = [(judged.usage_of(q, {}), judged.total_limit(q)) for q in range(len(instance.queue_names))]
    over = any(allowed is not None and usage > allowed for usage, allowed in limits)
    for q, name in enumerate(instance.queue_names):
        node = nodes[name]
        assert node.subtree_quota(FR) == judged.subtree_quota(q), name
        assert node.usage_of(FR) == judged.usage_of(q, {}), name
        for more in range(1, 10):
            # Where more has been admitted than there is, Kueue's recursion and the rule of the judge differ.
            if node.is_queue and not over:
                assert (more > node.available(FR)) == bool(judged.exceeded_limits(q, {q: more})), (name, more)
    own = int(instance.job_queue[0])
    event(f"the workload lacks quota: {bool(judged.exceeded_limits(own, {own: int(instance.job_use[0, 0])}))}")
    event(f"may evict by 2: {bool((instance.may == 2).any())}")


@settings(max_examples=draws(60, 5000), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(document=trees())
def test_whom_a_workload_may_evict_follows_its_policies(tmp_path, document):
    """Straight from the statement: own queue and others, by priority; whom only while not borrowing is of another."""
    (state,) = read_states(written(tmp_path, {"state.json": document}))
    (job,) = state.jobs.values()
    specs = {i["metadata"]["name"]: i["spec"] for i in document["items"] if i["kind"] == "ClusterQueue"}
    policy = specs[job.queue]["preemption"]
    for name, unit in state.units.items():
        rule = policy["withinClusterQueue" if unit.queue == job.queue else "reclaimWithinCohort"]
        passes = rule == "Any" or (rule == "LowerPriority" and unit.priority < job.priority)
        related = unit.queue == job.queue or _root(state, unit.queue) == _root(state, job.queue)
        # Of those, others go only while their queues exceed their quota.
        assert name not in job.may | job.may_if_nominal or (passes and related)
        assert not (name in job.may_if_nominal and unit.queue == job.queue)


def _root(state, name):
    while state.quotas[name].parent:
        name = state.quotas[name].parent
    return name
