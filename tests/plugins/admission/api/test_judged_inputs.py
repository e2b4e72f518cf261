"""Small states that were judged wrongly once, each with the right answer."""

from __future__ import annotations

import pytest

import mlsched_admission
from mlsched.core.errors import InvalidInput


@pytest.fixture(scope="module")
def inputs(shared_data):
    folder = shared_data / "inputs" / "judge"
    if not folder.is_dir():
        pytest.skip(f"no inputs at {folder}: set MLSCHED_DATA to the folder that holds data/")
    return folder


def named(found, units):
    return {found.instance.unit_names[u] for u in units}


#: File -> (rule, victims).
DECIDED = {
    "kueue-1-attempts": ("kueue", {"n/low"}),
    "kueue-2-lending": ("kueue", {"n/borrows"}),
    "kueue-3-beyond-nominal": ("kueue", set()),
    "kueue-4-no-flavor-suits": ("kueue", set()),
    "kueue-7-pods-quota": ("kueue", set()),
    "kueue-8-tas-fragmented": ("kueue", {"n/lowcpu", "n/lowmem"}),
    "kueue-10-multilayer": ("kueue", set()),
    "kai-1-build-over-quota": ("kai", set()),
    "kai-2-below-deserved": ("kai", set()),
    "kai-3-fair-share": ("kai", {"n/big-0"}),
    "kai-4-youngest": ("kai", {"n/young-0"}),
    "kube-1-overcommitted": ("kube", {"n/a", "n/b", "n/c"}),
    "kube-2-repelled": ("kube", {"n/repels"}),
}


@pytest.mark.parametrize("name", DECIDED)
def test_schedulers_decide_as_they_do_and_are_not_accused(inputs, name):
    rule, victims = DECIDED[name]
    found = mlsched_admission.judge(inputs / f"{name}.json", rule=rule, job="waits")
    assert named(found, found.verdict.evict) == victims
    assert found.verdict.kind in ("on the front", "unknown"), found.verdict.sentence
    assert not found.needs.starts_now
    assert bool(found.verdict.jobs) == bool(victims)


@pytest.mark.parametrize(
    ("name", "feature"),
    [("kueue-10-multilayer", "nested topology slices"), ("kube-2-repelled", "required anti-affinity of n/repels")],
)
def test_features_that_the_model_lacks_make_the_verdict_unknown(inputs, name, feature):
    rule = "kueue" if name.startswith("kueue") else "kube"
    found = mlsched_admission.judge(inputs / f"{name}.json", rule=rule, job="waits")
    assert found.verdict.kind == "unknown"
    assert found.verdict.sentence.startswith(feature)
    assert "is not modelled" in found.verdict.sentence
    assert found.verdict.proof == ""


@pytest.mark.parametrize("name", ["kueue-3909-a", "kueue-3909-b"])
def test_of_all_flavors_those_are_shown_with_which_the_job_starts(inputs, name):
    found = mlsched_admission.judge(inputs / f"{name}.json", job="high", flavors="free")
    assert named(found, found.verdict.front[0].plan.evict.nonzero()[0]) == {"ns/low"}
    assert found.verdict.front[0].plan.start.all()


def test_equal_nodes_are_one_change(inputs):
    """Racks of 18 nodes have six free ones, and 16 are needed in one."""
    found = mlsched_admission.judge(inputs / "kueue-10815.json.gz", rule="kueue")
    assert named(found, found.verdict.evict) == {"uni/big9"}
    assert any(change.sentence == "10 more nodes like r0n00" for change in found.needs.changes)
    assert [row.outcome for row in found.cycle] == ["preempts"]


def test_a_gang_of_volcano_starts_as_one(inputs):
    found = mlsched_admission.judge(inputs / "volcano-3291.json")
    (point,) = found.verdict.front
    assert named(found, point.plan.evict.nonzero()[0]) == {"ml/low-0"}
    assert point.plan.place.sum() == 2


def test_memory_of_gpus_is_not_counted_as_gpus(inputs):
    found = mlsched_admission.judge(inputs / "volcano-4863.json")
    assert found.verdict.front[0].values["lost"] == 60 * 60
    assert found.counted == "GPU"


def test_a_slice_counts_its_seventh(inputs):
    instance = mlsched_admission.judge(inputs / "mig.json").instance
    lost = dict(zip(instance.unit_names, instance.unit_lost.tolist(), strict=True))
    assert lost["ml/low0"] == pytest.approx(lost["ml/whole"] / 7, rel=0.01)


def test_a_quota_out_of_range_is_one_line(inputs):
    with pytest.raises(InvalidInput, match="expected a number below 2\\^40"):
        mlsched_admission.judge(inputs / "kai_bigquota.json")
