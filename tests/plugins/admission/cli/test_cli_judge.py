"""`mlsched judge`: a state and a decision in, one screen and an exit status out."""

from __future__ import annotations

import json

import pytest
from kai_examples import kai_state
from kubernetes_examples import kube_state
from kueue_examples import kueue_state
from slurm_examples import slurm_state
from state_examples import written

import mlsched
import mlsched_admission
from mlsched_admission.instances.states import instance_of, read_states

MAKERS = {
    "kueue": kueue_state,
    "kubernetes": kube_state,
    "slurm": slurm_state,
    "kai": lambda: {"snapshot.json": kai_state()},
}


@pytest.fixture
def judged(cli, tmp_path):
    """`judged(system, ...)`: the command on its state, with further arguments; a list of names is a decision's file."""

    def call(system, *arguments, victims=None):
        more = list(arguments)
        if victims is not None:
            (tmp_path / "victims.txt").write_text("\n".join(victims))
            more += ["--decision", tmp_path / "victims.txt"]
        return cli("judge", *written(tmp_path, MAKERS[system]()), *more)

    return call


@pytest.mark.parametrize("system", MAKERS)
def test_without_a_decision_the_front_is_shown(judged, system):
    done = judged(system)
    assert done.status == 0, done.err
    for label in ("read", "assumed", "asked", "front", "it would take"):
        assert label in done.out
    assert "verdict" not in done.out
    assert done.out.count("\n") <= 40, "one screen"


def test_a_decision_on_the_front_is_accepted(judged):
    done = judged("kubernetes", victims=["web-1"])
    assert done.status == 0, done.err
    assert "ON THE FRONT" in done.out


@pytest.mark.parametrize(
    ("system", "victims", "kind"),
    [
        ("kubernetes", ["web-0"], "dominated"),
        ("kubernetes", ["web-0", "web-1"], "needless"),
        ("kubernetes", ["serving-0"], "ineligible"),
        ("kubernetes", ["batch-0"], "does not start"),
        ("kueue", ["train", "sweep"], "needless"),
        ("kueue", ["sweep", "notebook"], "does not start"),
        ("kueue", ["rent"], "ineligible"),
        ("slurm", ["7", "8"], "needless"),
        ("kai", ["ml/small-0"], "ineligible"),
    ],
)
def test_what_is_wrong_with_a_decision(judged, system, victims, kind):
    done = judged(system, victims=victims)
    assert done.status == 1
    assert kind.upper() in done.out, done.out
    assert done.err.startswith(f"mlsched: {kind}: ")
    assert done.err.count("\n") == 1


def test_priorities_are_the_reason_of_a_protected_victim(judged):
    done = judged("kubernetes", victims=["serving-0"])
    reason = "unit ml/serving-0 may not be evicted for this: priority 1000 is not below 100"
    assert done.out.count(reason) == 1, done.out
    assert "no job that starts" not in done.out
    assert done.err == f"mlsched: ineligible: {reason}\n"
    assert "no job that starts may evict it" in judged("kai", victims=["ml/small-0"]).out


@pytest.mark.parametrize(
    ("system", "rule", "line"),
    [
        ("kueue", "slurm", "rule: slurm copies Slurm, and the state is of Kueue, which may decide differently"),
        ("kubernetes", "kueue", "rule: kueue copies Kueue, and the state is of Kubernetes"),
        ("kubernetes", "kube", None),
        ("slurm", "slurm", None),
    ],
)
def test_a_rule_of_another_scheduler_is_named(judged, system, rule, line):
    document = json.loads(judged(system, "--rule", rule, "--json").out)
    lines = [one for one in document["assumed"] if one.startswith("rule: ")]
    assert not lines if line is None else lines[0].startswith(line)


def test_document_names_everything(judged):
    done = judged("kubernetes", "--json", victims=["web-1"])
    document = done.document
    assert document["accepted"] is True
    assert document["decision"]["evict"] == ["ml/web-1"]
    assert document["verdict"]["kind"] == "on the front"
    assert document["jobs"] == ["ml/urgent"]
    assert any(point["evict"] == ["ml/web-1"] for point in document["front"])
    assert document["needs"]["changes"]
    assert any("latest time in the state" in line for line in document["assumed"])


def test_the_instance_is_written_and_judged_alike(judged, cli, tmp_path):
    instance, without = tmp_path / "instance.json", tmp_path / "anonymous.json"
    first = judged("slurm", "--json", "-o", instance).document
    judged("slurm", "-o", without, "--anonymous")
    assert mlsched.load(instance).hash == first["instance_hash"]
    again = cli("judge", instance, "--json").document
    assert [point["values"] for point in again["front"]] == [point["values"] for point in first["front"]]
    shared = cli("judge", without, "--json").document
    assert [point["values"] for point in shared["front"]] == [point["values"] for point in first["front"]]
    assert shared["jobs"] == ["job-0"]
    assert "gres" not in without.read_text()


def test_a_plan_is_a_decision(judged, tmp_path):
    (state,) = read_states(written(tmp_path, kube_state()))
    instance = instance_of(state)
    result = mlsched.solve(instance, "brute-force", objective="lost")
    mlsched.save(result, tmp_path / "result.json")
    assert judged("kubernetes", "--decision", tmp_path / "result.json").status == 0


def test_a_rule_decides(judged):
    done = judged("kubernetes", "--rule", "kube", "--json")
    assert done.document["decision"]["by"] == "by kube"


def test_from_python_the_same(tmp_path):
    paths = written(tmp_path, kube_state())
    found = mlsched_admission.judge(*paths, decision=["web-0", "web-1"], job="urgent")
    assert found.verdict.kind == "needless"
    assert not found.accepted
    assert mlsched_admission.judge(*paths, decision=["web-1"]).accepted


def test_free_flavors_are_compared(cli, tmp_path):
    """With the second flavor nobody needs to go: a decision of the first is dominated by it."""
    documents = kueue_state()
    queue = documents["queues.json"]["items"][0]
    flavor = {"name": "spot", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": 8}]}
    queue["spec"]["resourceGroups"][0]["flavors"].append(flavor)
    queue["spec"]["flavorFungibility"] = {"whenCanPreempt": "MayStopSearch"}
    spot = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "spot"}, "spec": {}}
    documents["queues.json"]["items"].append(spot)
    paths = written(tmp_path, documents)
    (tmp_path / "victims.txt").write_text("train")
    assert cli("judge", *paths, "--decision", tmp_path / "victims.txt").status == 0
    done = cli("judge", *paths, "--decision", tmp_path / "victims.txt", "--flavors", "free")
    assert done.status == 1
    assert "DOMINATED" in done.out
    assert "spot" in done.out


@pytest.mark.parametrize(
    ("system", "arguments", "message"),
    [
        ("kubernetes", ["--job", "urgnt"], "did you mean"),
        ("kubernetes", ["--now", "soon"], "--now: 'soon', expected a time"),
        ("kubernetes", ["--checkpoint-every", "2x"], "--checkpoint-every: '2x', expected a time such as 2h"),
        ("kubernetes", ["--flavors", "none"], "expected chosen or free"),
        ("kubernetes", ["--anonymous"], "name a file with -o"),
        ("kubernetes", ["--rule", "kubee"], "did you mean 'kube'"),
        ("slurm", ["--slurm-conf", "none.conf"], "file not found"),
    ],
)
def test_bad_calls_are_one_line(judged, system, arguments, message):
    judged(system, *arguments).refused(message)


def test_bad_states_are_one_line(cli, tmp_path):
    documents = slurm_state()
    del documents["config.txt"]
    cli("judge", *written(tmp_path, documents)).refused("PreemptType", "give --slurm-conf slurm.conf")
    cli("judge", tmp_path / "none.json").refused("file not found")
    mlsched.save(mlsched.generate("preemption", "small"), tmp_path / "i.json")
    cli("judge", tmp_path / "i.json").refused(
        "i.json: is a preemption.instance, expected the state of a cluster; `mlsched check`"
    )
    documents = kube_state()
    documents["pods.json"]["items"].pop()
    cli("judge", *written(tmp_path, documents)).refused("no job waits in this state")


def test_a_decision_and_a_rule_exclude_each_other(judged):
    judged("kubernetes", "--rule", "kube", victims=["web-0"]).refused("decision and rule are both given")


def test_names_that_nobody_has_are_refused(judged):
    judged("kubernetes", victims=["web-9"]).refused("unknown running unit of the question")


def test_a_plan_of_another_state_is_refused(judged, cli, tmp_path):
    judged("slurm", "-o", tmp_path / "slurm.json")
    assert cli("solve", tmp_path / "slurm.json", "-o", tmp_path / "plan.json").status == 0
    document = json.loads((tmp_path / "plan.json").read_text())
    assert document["kind"] in ("result", "admission.plan")
    judged("kubernetes", "--decision", tmp_path / "plan.json").refused("answers another instance")
