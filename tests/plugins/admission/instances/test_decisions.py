"""What a scheduler decided is read by the names of its victims."""

from __future__ import annotations

import json

import pytest
from kai_examples import kai_state
from kueue_examples import kueue_state
from slurm_examples import slurm_state
from state_examples import asked, listed

from mlsched.core.errors import InvalidFile, InvalidInput
from mlsched_admission.instances.anonymous import anonymous
from mlsched_admission.instances.states.decision import decision_to_evict, read_decision


@pytest.mark.parametrize(
    "content",
    [
        "team-a/train\n# and\nsweep\n",
        '["train", "team-a/sweep"]',
        {"evict": ["train", "sweep"], "start": ["urgent"]},
        listed(
            *(
                {"apiVersion": "v1", "kind": "Event", "reason": "Preempted",
                 "involvedObject": {"kind": "Workload", "namespace": "team-a", "name": name}}
                for name in ("train", "sweep")
            ),
            {"apiVersion": "v1", "kind": "Event", "reason": "Pulled", "involvedObject": {"name": "x"}},
        ),
        listed(
            *(
                {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
                 "metadata": {"namespace": "team-a", "name": name},
                 "status": {"conditions": [{"type": "Preempted", "status": "True"}]}}
                for name in ("train", "sweep")
            ),
        ),
    ],
)  # fmt: skip
def test_decisions_by_name(tmp_path, content):
    instance = asked(tmp_path, kueue_state())
    path = tmp_path / "decision"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    made = read_decision(path, instance)
    assert [instance.unit_names[u] for u in made.evict] == ["team-a/sweep", "team-a/train"]
    assert made.start == ((0,) if isinstance(content, dict) and "start" in content else None)


def test_decision_names_of_slurm_and_of_gangs(tmp_path):
    slurm = asked(tmp_path, slurm_state())
    path = tmp_path / "later.json"
    path.write_text(
        json.dumps({"jobs": [{"job_id": 8, "job_state": ["PREEMPTED"]}, {"job_id": 7, "job_state": "RUNNING"}]})
    )
    assert read_decision(path, slurm).evict == (1,)
    kai = asked(tmp_path, {"snapshot.json": kai_state()})
    assert [kai.unit_names[u] for u in decision_to_evict(kai, ["ml/big"]).evict] == ["ml/big-0", "ml/big-1"]


def test_an_empty_decision_evicts_nobody(tmp_path):
    instance = asked(tmp_path, kueue_state())
    (tmp_path / "none.txt").write_text("# nobody\n")
    assert read_decision(tmp_path / "none.txt", instance).evict == ()


def test_anonymous_instances_have_numbers_for_names(tmp_path):
    instance = asked(tmp_path, kueue_state(topology=True))
    without = anonymous(instance)
    text = json.dumps(without.to_json())
    for name in ("train", "team-a", "cq-a", "research", "h100", "nvidia", "urgent", "racks"):
        assert name not in text
    numbers = {k: v for k, v in instance.to_json().items() if k != "resources" and not k.endswith("_names")}
    assert numbers == {k: v for k, v in without.to_json().items() if k in numbers}


def test_what_is_wrong_with_a_decision_is_said(tmp_path):
    instance = asked(tmp_path, kueue_state())
    path = tmp_path / "d.json"
    for content, message in (
        ('["trian"]', "did you mean 'train'"),
        ('{"evict": "train"}', "expected a list of names"),
        ("{}", "victims are missing"),
        ('{"evict": [], "start": ["train"]}', "unknown waiting job"),
    ):
        path.write_text(content)
        with pytest.raises((InvalidFile, InvalidInput), match=message):
            read_decision(path, instance)
