"""Pollux profiles: the public archive's counts, fits and tables; tiny files for everything that can be wrong."""

from __future__ import annotations

import numpy as np
import pytest
from _pollux_profiles import generate_measured, read_pollux

from mlsched import api
from mlsched.core.errors import InvalidFile, InvalidInput
from mlsched.instances.workers import NEVER

PLACED = """placement,local_bsz,step_time,sync_time
1,10,1.0,0.0
1,20,1.5,0.0
2,10,1.2,0.2
2,20,1.7,0.2
11,10,2.2,1.2
11,20,2.7,1.2
"""
SCALED = "num_nodes,num_replicas,local_bsz,step_time,sync_time\n3,4,10,1.6,0.6\n"


@pytest.fixture
def profile(tmp_path):
    (tmp_path / "app").mkdir()
    path = tmp_path / "app" / "placements.csv"
    path.write_text(PLACED)
    return read_pollux(path)["app"]


def test_a_table_interpolates_between_batches_on_the_fewest_nodes(profile):
    # 30 samples: 1 GPU would need 30 each (never measured); 2 GPUs 15 each, on one node: halfway from 1.2 to 1.7.
    assert profile.table(30, 3).rows == ((None,), (1.45,), (None,))
    assert profile.table(20, 3).rows == ((1.5,), (1.2,), (None,))


def test_a_fit_is_linear_in_samples_and_gpus(profile):
    found = profile.fit(20)
    assert found.points == 6
    assert found.model.theta0_m == pytest.approx(20 * 0.05, rel=0.3)
    assert (found.model.theta2, found.model.theta4) == (0, 0)
    assert 0 < found.mean_error < 0.3


def test_replicas_over_nodes(tmp_path):
    path = tmp_path / "scalability.csv"
    path.write_text(SCALED)
    found = read_pollux(path, application="x")["x"]
    assert (found.gpus.tolist(), found.nodes.tolist(), found.step.tolist()) == ([4], [3], [1.6])


BAD = [
    (PLACED.replace("\n2,10", "\n2a,10"), "placement: '2a', expected digits from 1 to 9"),
    (PLACED.replace("1.0,0.0", "1.0,1.1"), "sync_time: '1.1', expected part of a step_time above 0"),
    (PLACED.replace("1.0,0.0", "x,0.0"), "step_time: 'x', expected a number of seconds >= 0"),
    (PLACED.replace("1.0,0.0", "nan,0.0"), "step_time: 'nan', expected a number of seconds >= 0"),
    (PLACED.replace("1,10,1.0", "1,0,1.0"), "local_bsz: '0', expected at least 1"),
    (SCALED.replace("3,4", "5,4"), "num_nodes: '5', expected between 1 and 4"),
    ("placement,local_bsz,step_time,sync_time\n", "there is no row"),
    ("placement,local_bsz\n1,2\n", "the header lacks 'step_time', 'sync_time'"),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_what_is_wrong_is_said_in_a_line(tmp_path, text, message):
    path = tmp_path / "placements.csv"
    path.write_text(text)
    with pytest.raises(InvalidFile, match=message) as error:
        read_pollux(path, application="x")
    assert "line" in str(error.value)


def test_a_missing_file_is_named():
    with pytest.raises(InvalidFile, match=r"nowhere\.csv: file not found"):
        read_pollux("nowhere.csv", application="x")


@pytest.fixture(scope="module")
def profiles(shared_data):
    return read_pollux(shared_data / "pollux" / "pollux_traces.tar.gz")


def test_the_public_profiles(profiles):
    # data/FORMATS.md states the rows of both files of each application.
    counts = {"bert": 720, "cifar10": 1512, "deepspeech2": 952, "imagenet": 1152, "ncf": 2119, "yolov3": 648}
    assert {name: len(p.step) for name, p in profiles.items()} == counts
    for name, profile in profiles.items():
        found = profile.fit(4 * int(np.median(profile.local)))
        assert found.mean_error < 0.15, name
    resnet = profiles["cifar10"].table(4 * int(np.median(profiles["cifar10"].local))).rows
    assert resnet[0][0] > resnet[1][0] > resnet[3][0], "one node: more GPUs are faster"


@pytest.mark.parametrize("speed", ["table", "fit"])
def test_measured_jobs_make_instances(profiles, speed):
    inst = generate_measured(np.random.default_rng(0), profiles, jobs=30, gpus=40, speed=speed)
    assert inst.cost.shape == (30, 16, 1)
    assert (inst.cost == NEVER).any() == (speed == "table")
    best = api.solve(inst, "cp-sat")
    assert best.status == "optimal"
    assert best.sort_key == api.solve(inst, "dp").sort_key
    assert api.solve(inst, "optimus").sort_key >= best.sort_key
    assert generate_measured(np.random.default_rng(0), profiles, jobs=30, gpus=40, speed=speed) == inst


def test_measured_sizes_are_checked(profile):
    with pytest.raises(InvalidInput, match="most_iterations: 5, expected at least 10"):
        generate_measured(np.random.default_rng(0), {"app": profile}, least_iterations=10, most_iterations=5)
    with pytest.raises(InvalidInput, match="profiles: is empty"):
        generate_measured(np.random.default_rng(0), {})
