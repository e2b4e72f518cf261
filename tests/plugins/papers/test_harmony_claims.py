"""Verdicts on the Harmony paper's claims: computed from made-up measurements, each both ways; and the case studies."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from mlsched.instances.placement.models import MODELS, PAIRS
from mlsched_papers.harmony import claims_training, studies, training
from mlsched_papers.harmony import grid as g
from mlsched_papers.harmony.claims import STATEMENTS, claims
from mlsched_papers.harmony.measure import Metrics
from mlsched_papers.harmony.measured import COMPLETION, WHOLE, HarmonyView, Measured
from mlsched_papers.harmony.prediction import METHODS, WAYS, draw, errors

RACK = g.Interpretation("rack", 0.3, servers=30, patterns=("uniform",))
GRID = g.Grid(interpretations=(g.LIGHT, g.BASE), rack=RACK, seeds=5)
RULES = [p for p in g.policies() if p.kind == "rule"]
TRAINED = g.Policy("harmony", "of-others", "trained")
#: Completion times in intervals: baselines 10, other rules 8, a local search 5.2, the exact solver 5.
TIMES = dict.fromkeys((*g.BASELINES, *g.INTERPRETATIONS), 10.0)
TIMES |= {p: 5.2 if p.text == g.SEARCH else 8.0 for p in RULES} | {g.EXACT: 5.0}
#: LIF-Quad by all its interpretations.
QUAD = ("lif_quadratic", "lif_quadratic:score=increase", "lif_quadratic:tie=random")


def measured(trained=None, rack=None, fit=30.0, ctc=10.0, **changes):
    """Five equal workloads in each interpretation and pattern; `changes`: completion times by the solver's name."""
    times = TIMES | ({TRAINED: trained} if trained else {})
    times = {p: changes.get(p.text.replace("-", "_"), t) for p, t in times.items()}
    runs = {}
    for interpretation in GRID.interpretations:
        for pattern in interpretation.patterns:
            for seed in range(GRID.seeds):
                for p, t in times.items():
                    runs[g.Case(interpretation, pattern, seed, p)] = Metrics({COMPLETION: t, WHOLE: t + 0.5})
    for seed in range(GRID.seeds):
        for p in (*g.BASELINES, *((TRAINED,) if rack else ())):
            runs[g.Case(RACK, "uniform", seed, p)] = Metrics({COMPLETION: rack if p == TRAINED else 10.0})
    found = {(w, m, n): [fit] * GRID.seeds for w in WAYS for m in METHODS for n in ("all", *studies.NAMES)}
    found |= {(w, m, "ctc"): [ctc] * GRID.seeds for w in WAYS for m in METHODS}
    views = [HarmonyView(r, runs, metric) for r in GRID.interpretations for metric in (COMPLETION, WHOLE)]
    return Measured(GRID, views, HarmonyView(RACK, runs), {"pairwise": found})


def verdicts(**changes):
    return {claim.name: claim.verdict for claim in claims(measured(**changes))}


#: What no measurement of runs can change: the presets' case studies.
STUDIES = dict.fromkeys(
    (
        "packing-33",
        "resnext-2x",
        "pairs-mild",
        "pair-severe",
        "standalone-best",
        "packing-helps-vgg",
        "packing-hurts-resnext",
        "more-mates-worse",
    ),
    "assumed",
) | {"schemes": "holds", "reward-model-9.8": "not measured"}
UNTRAINED = {"harmony-25", "full-harmony-25", "harmony-rack", *(s.name for s in claims_training.STATEMENTS)}


def test_without_a_trained_policy_nothing_is_said_of_harmony():
    found = verdicts()
    assert {name: found[name] for name in STUDIES} == STUDIES
    assert {name for name, verdict in found.items() if verdict == "not measured"} == UNTRAINED | {"reward-model-9.8"}
    assert {found[name] for name in found if name not in STUDIES and name not in UNTRAINED} == {"holds"}
    assert list(found) == [s.name for s in STATEMENTS]


def test_a_trained_policy_joins():
    found = verdicts(trained=6.0, rack=7.0)
    assert (found["harmony-25"], found["harmony-rack"]) == ("holds", "holds")
    assert found["training-techniques"] == "not measured", "no training was made for Table II"


@pytest.mark.parametrize(
    ("changes", "refuted"),
    [
        ({"trained": 7.6, "rack": 7.0}, {"harmony-25", "full-harmony-25"}),
        ({"trained": 6.0, "rack": 7.8}, {"harmony-rack"}),
        ({"trained": 6.0, "rack": 7.0, "tetris": 7.0}, {"harmony-25"}),
        ({"cp_sat": 8.1}, {"ours-exact-25", "ours-exact-rules"}),
        (dict.fromkeys(QUAD, 6.0), {"ours-exact-25"}),
        ({"bin_packing": 4.9}, {"ours-exact-rules"}),
        ({"trained": 6.0, "rack": 7.0, "lif_quadratic:score=increase": 7.0}, {"full-harmony-25"}),
        ({"harmony_plus": 4.9}, set()),  # is neither a baseline nor bin packing nor standalone
        ({"local_search": 5.6}, {"ours-search"}),
        ({"fit": 19.0, "ctc": 9.0}, {"lif-errors"}),
        ({"fit": 9.0}, {"lif-errors", "lif-by-model"}),
        ({"ctc": 16.0}, {"lif-by-model"}),
    ],
)
def test_a_number_refutes_its_claims_and_no_others(changes, refuted):
    found = verdicts(**changes)
    assert {name for name, verdict in found.items() if verdict == "does not hold"} == refuted


def test_a_reading_of_lif_stands_in_for_both_models():
    found = measured().views[0].baselines()
    assert {name: [p.label for p in policies] for name, policies in found.items()} == {
        "load 0.2": ["load balancing", "Tetris", "LIF-Line", "LIF-Quad"],
        "load 0.2, LIF by the increase": [
            "load balancing",
            "Tetris",
            "LIF-Line, by the increase",
            "LIF-Quad, by the increase",
        ],
        "load 0.2, LIF random ties": ["load balancing", "Tetris", "LIF-Line, random ties", "LIF-Quad, random ties"],
    }


@pytest.mark.parametrize("text", QUAD)
def test_a_baseline_that_is_strong_under_one_reading_makes_the_claim_depend_on_it(text):
    assert verdicts(**{text: 6.0})["ours-exact-25"] == "depends on the interpretation"


def test_a_printed_lower_bound_is_shown_as_one():
    shown = [e for claim in claims(measured(trained=6.0)) for e in claim.measurements if e.paper in (25.0, 23.0)]
    assert shown
    assert all(e.lower_bound for e in shown)


def test_cuts_are_paired_by_workload():
    runs = {}
    for seed, (new, old) in enumerate([(1.0, 2.0), (30.0, 40.0)]):
        runs[g.Case(g.BASE, "uniform", seed, g.EXACT)] = Metrics({COMPLETION: new})
        runs[g.Case(g.BASE, "uniform", seed, g.LOAD_BALANCING)] = Metrics({COMPLETION: old})
    view = HarmonyView(g.BASE, runs)
    assert view.cut(g.EXACT, g.LOAD_BALANCING, view.metric).tolist() == [50.0, 25.0]
    assert view.estimate(g.EXACT, "proven", "uniform") is None
    assert view.cut(g.EXACT, g.BASELINES[1], view.metric).size == 0


# -- case studies -----------------------------------------------------------------------------------------------------


def test_packed_jobs_slow_down_as_the_table_says():
    """Bin packing pairs the presets in their order: ResNet-50 with VGG-16, ResNeXt with Seq2Seq, CTC with WLM."""
    found = studies.packed("pairwise")
    for k, name in enumerate(studies.NAMES):
        mate = k + 1 if k % 2 == 0 else k - 1
        assert found[name] == pytest.approx(100 * PAIRS[k][mate] / (1 + PAIRS[k][mate]), abs=0.1)


def test_levels_and_means_come_from_the_same_pairs():
    levels, means = studies.pair_levels("pairwise"), studies.mean_of_pairings("pairwise")
    assert len(levels) == 30
    assert all(levels[a, b] == levels[b, a] for a, b in levels)
    assert sum(levels.values()) / 2 / 5 == pytest.approx(sum(means.values()))


def test_schemes_and_speeds():
    spread = studies.scheme("load-balancing", "vgg16", "pairwise")
    assert spread.tasks == (((1, 0), (0, 1)), ((1, 0), (0, 1)))
    assert studies.scheme("bin-packing", "vgg16", "pairwise").tasks == (((1, 1), (0, 0)), ((1, 1), (0, 0)))
    assert studies.scheme("standalone", "vgg16", "pairwise").speeds == (1.0, 1.0)
    ctc, vgg = MODELS[4], MODELS[1]
    # The worker of VGG-16 sits beside that of CTC, which causes 0.7 of the pair's interference, and its PS is remote.
    assert spread.speeds[1] == pytest.approx(1 / (1 + 0.7 * PAIRS[1][4] + vgg.local / vgg.remote - 1), abs=1e-3)
    assert spread.speeds[0] == pytest.approx(1 / (1 + 0.7 * PAIRS[4][1] + ctc.local / ctc.remote - 1), abs=1e-3)


def test_more_mates():
    found = studies.with_mates("resnext110", "pairwise")
    assert found == pytest.approx([1 / (1 + n * PAIRS[2][4]) for n in range(5)], abs=1e-3)


# -- prediction -------------------------------------------------------------------------------------------------------


def test_samples_are_placed_jobs():
    samples, placements = draw(np.random.default_rng(1), 200, "pairwise")
    assert len(samples.kind) == len(samples.slowdown) == len(samples.use) >= 200
    assert (samples.slowdown >= 1).all()
    hosted = ~np.isnan(samples.use[..., 0])
    assert hosted.any(axis=1).all()
    assert np.nanmin(samples.use) >= 0
    assert sum(len(instance.run_type) for instance in placements) == len(samples.kind)


def test_lif_errs_by_the_network_only_where_its_model_is_true():
    """Linear interference: profiling finds the coefficients, so without network penalties nothing would be left."""
    grid = g.Grid(interpretations=(), rack=None, samples=400, rounds=1)
    found = errors(grid, "linear")
    assert set(found) == {(w, m, n) for w in WAYS for m in METHODS for n in ("all", *studies.NAMES)}
    assert found["profiled", "LIF-Line", "resnext110"][0] < 1  # its PS may be remote: 2 %
    assert found["profiled", "LIF-Line", "resnet50"][0] > 20  # a remote PS halves its speed
    assert found["profiled", "LIF-Line", "all"][0] == pytest.approx(found["profiled", "LIF-Quad", "all"][0], rel=1e-3)
    assert found == errors(grid, "linear")


def test_a_policy_whose_training_has_not_ended_decides_nothing(monkeypatch):
    card = {"trained": False}
    monkeypatch.setattr(training, "of", lambda name, problem, path: SimpleNamespace(card=card))
    found = {claim.name: claim.verdict for claim in claims(measured(trained=6.0, rack=7.0))}
    assert found["harmony-25"] == "not trained"
    card["trained"] = True
    found = {claim.name: claim.verdict for claim in claims(measured(trained=6.0, rack=7.0))}
    assert found["harmony-25"] == "holds"
