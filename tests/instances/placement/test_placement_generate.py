"""The generator, the presets, Gavel's table, and the files."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from hypothesis import given

import mlsched
from mlsched.core.errors import InvalidFile, InvalidInput
from mlsched.core.registry import registry
from mlsched.instances import strategies
from mlsched.instances.placement.gavel import generate_measured, read_gavel
from mlsched.instances.placement.models import PAIRS

#: Hashes of seed 0: presets are frozen, so these never change.
FROZEN = ["09eb0c17", "f87967cc", "13853bb5"]


@pytest.mark.parametrize("preset", sorted(registry().problem("placement").presets))
def test_presets_draw_valid_instances_and_the_same_every_time(preset):
    one, two = (mlsched.generate("placement", preset, seed=3) for _ in range(2))
    assert one == two
    assert one != mlsched.generate("placement", preset, seed=4)
    assert (one.server_free >= 0).all()


def test_presets_are_frozen():
    drawn = [mlsched.generate("placement", name, seed=0).hash[:8] for name in ("6x5", "10x8-contended", "rack-30x10")]
    assert drawn == FROZEN


def test_contention_adds_running_jobs():
    counts = [len(mlsched.generate("placement", servers=10, jobs=4, contention=c).run_type) for c in (0.0, 0.6, 1.0)]
    assert counts[0] == 0
    assert counts[0] < counts[1] < counts[2]


def test_the_synthetic_interference_keeps_the_papers_anchors():
    pairs = np.array(PAIRS)
    lost = 1 - 1 / (1 + pairs)
    assert 0.32 <= lost.mean() <= 0.34, "two jobs per server lose 33 % on average"
    assert 1.9 <= (1 + pairs[2]).mean() <= 2.1, "ResNeXt slows down nearly twice"
    assert max(pairs[0, 5], pairs[5, 0], pairs[0, 3], pairs[3, 0]) <= 0.15, "ResNet is mild with WLM and Seq2Seq"
    assert pairs.max() == pairs[2, 4], "ResNeXt with CTC is the worst"


@pytest.mark.parametrize(
    ("sizes", "message"),
    [({"servers": 0}, "servers: 0"), ({"model": "cubic"}, "model: 'cubic'"), ({"all_reduce": 2.0}, "all_reduce: 2")],
)
def test_wrong_sizes_are_named(sizes, message):
    with pytest.raises(InvalidInput, match=message):
        mlsched.generate("placement", **sizes)


@given(instance=strategies.placement(servers=2, jobs=2, runs=1))
def test_limits_are_kept_and_files_come_back_equal(instance):
    assert len(instance.server_free) <= 2
    assert len(instance.job_type) <= 2
    assert len(instance.run_type) <= 1
    assert type(instance).from_json(json.loads(json.dumps(instance.to_json()))) == instance


TABLE = {
    "v100": {
        "('A', 1)": {"null": 10.0, "('A', 1)": [5.0, 5.0], "('B', 1)": [8.0, 2.0]},
        "('B', 1)": {"null": 4.0, "('A', 1)": [2.0, 8.0], "('B', 1)": [0.0, 0.0]},
        "('C', 1)": {"null": 0},
        "('A', 2)": {"null": 18.0},
    },
    "v100_unconsolidated": {"('A', 2)": {"null": 12.0}},
}


def test_gavel_pairs_become_slowdowns(tmp_path):
    path = tmp_path / "t.json.gz"
    path.write_bytes(gzip.compress(json.dumps(TABLE).encode()))
    read = read_gavel(path)
    assert read.types == ("A", "B")
    assert read.sigma.tolist() == [[1_000_000, 250_000], [1_000_000, 0]]
    assert read.apart.tolist() == [[0, 0], [0, 1]]
    assert read.rho_worker.tolist() == [500_000, 0]
    assert read.coverage == {"types": 2, "pairs": 4, "measured": 4, "does not fit": 1, "faster in company": 0}


def test_unmeasured_pairs_are_apart_or_average(tmp_path):
    table = {"v100": {"A": {"null": 10.0, "A": [5.0, 5.0]}, "B": {"null": 4.0, "B": [4.0, 4.0]}}}
    path = tmp_path / "t.json"
    path.write_text(json.dumps(table))
    assert read_gavel(path).apart.tolist() == [[0, 1], [1, 0]]
    assert read_gavel(path, missing="mean").sigma.tolist() == [[1_000_000, 500_000], [500_000, 0]]
    assert read_gavel(path).coverage["measured"] == 2


@pytest.mark.parametrize("text", ["[]", "not json", '{"v100": {"(1": {}}}', '{"v100": {"A": {"null": -1}}}'])
def test_bad_tables_are_refused(tmp_path, text):
    path = tmp_path / "t.json"
    path.write_text(text)
    with pytest.raises(InvalidFile):
        read_gavel(path)


def test_the_public_table_is_covered_and_gives_instances(shared_data):
    table = read_gavel(shared_data / "gavel" / "oracle_throughputs.json.gz", gpu="p100")
    assert table.coverage["measured"] == table.coverage["pairs"] == 676
    assert table.coverage["does not fit"] == 26
    for seed in range(5):
        instance = generate_measured(np.random.default_rng(seed), table, servers=8, jobs=4, contention=1.0)
        best = mlsched.solve(instance, "cp-sat")
        assert best.status == "optimal"
        assert best.sort_key >= mlsched.solve(instance, "tetris").sort_key
