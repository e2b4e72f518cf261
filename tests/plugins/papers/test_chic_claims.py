"""Verdicts on the Chic paper's claims: computed from made-up measurements, each both ways."""

from __future__ import annotations

import pytest

from mlsched.learned.workers.chic_policy import Variant
from mlsched_papers.chic import grid as g
from mlsched_papers.chic import learning, paper
from mlsched_papers.chic.claims import ALL, OF_OPTIMUS, STATEMENTS, claims
from mlsched_papers.chic.measure import Metrics
from mlsched_papers.chic.measured import At, ChicView, Measured

GRID = g.Grid(interpretations=g.INTERPRETATIONS, rates=(0.9, 1.8, 2.7), seeds=5)
PAIRS = [g.windowed("Chic-Pair", f"chic-pair:window={w}", w, anew=True) for w in g.WINDOWS]
LONGER = {policy: g.with_episode(policy, 60) for policy in (g.CHIC, g.CHIC_PAIR)}  # trained with W = 60
EVERYBODY = (*(g.optimus(i) for i in g.INTERVALS), g.OPTIMUS, g.CHIC, g.CHIC_PAIR, g.RANDOM, g.RANDOM_PAIR, g.DRF_600)
ONCE = (g.CHIC_ONCE, g.CHIC_PAIR_ONCE)
SETTLED = (g.CHIC_SETTLED, g.CHIC_PAIR_SETTLED)
#: What the paper prints or implies, as values where Optimus-600's are 4,000 s.
AS_PRINTED = {
    g.CHIC: {"act": 3000.0, "shortest": 900.0, "median": 2000.0, "runtime_s": 3.0, "step_ms": 0.5},
    g.CHIC_PAIR: {"act": 3200.0, "runtime_s": 1.0},
    g.CHIC_ONCE: {"act": 3090.0},
    g.CHIC_PAIR_ONCE: {"act": 3210.0},
    g.CHIC_SETTLED: {"act": 3000.0},
    g.CHIC_PAIR_SETTLED: {"act": 3200.0},
    g.OPTIMUS_300: {"act": 3500.0, "runtime_s": 2.0},
    g.optimus(150): {"act": 3600.0, "runtime_s": 4.0},
    g.OPTIMUS: {"act": 3550.0},
    g.RANDOM: {"act": 5000.0},
    g.RANDOM_PAIR: {"act": 5000.0},
    g.DRF_600: {"act": 4500.0},
    LONGER[g.CHIC]: {"act": 2990.0},
    LONGER[g.CHIC_PAIR]: {"act": 3190.0},
    PAIRS[0]: {"act": 3400.0},
    PAIRS[1]: {"act": 3200.0},
    PAIRS[2]: {"act": 3128.7},
}
USUAL = {"act": 4000.0, "shortest": 1000.0, "median": 2500.0, "runtime_s": 1.0}


#: A training as the paper shows it: iteration, bound, mean reward, ACT.
CURVE = ((2, -90.0, -100.0, 5000.0), (20, -70.0, -75.0, 3500.0), (30, -59.0, -61.0, 3200.0), (40, -55.0, -56.0, 3100.0))


def trainings(iterations=(60, 61, 62, 63, 64), curve=CURVE, trained=True):
    """Five seeds of either policy; Chic-Pair takes half as many iterations."""
    names = ("iteration", "bound", "reward", "validation")
    entries = [dict(zip(names, map(float, row), strict=True)) for row in curve]

    def seeds(policy):
        share = 0.5 if policy == g.CHIC_PAIR else 1.0
        return [
            {"seed": k, "trained": trained, "scores": {"best_iteration": share * n}, "curve": entries}
            for k, n in enumerate(iterations)
        ]

    return seeds


@pytest.fixture(autouse=True)
def all_trained(monkeypatch):
    """As if every policy had been trained for every rate, and such weights came with mlsched."""
    several = (
        *(Variant(window, 30, rate, "paper") for window in g.WINDOWS for rate in g.RATES),
        Variant(3, 60, g.AT, "paper"),
        Variant(3, 30, g.AT, "settled"),
    )
    monkeypatch.setattr(g, "VARIANTS", {"chic": several, "chic-pair": several})
    monkeypatch.setattr(learning, "untrained", lambda policy, rate=None: "")
    monkeypatch.setattr(learning, "seeds", trainings())


def measured(changes=None, without=()) -> Measured:
    """Every policy at every rate under both interpretations; `changes`: policy -> metrics."""
    values = {**AS_PRINTED, **(changes or {})}
    metrics = {
        g.case(interpretation, policy, rate, seed, jobs): Metrics({**USUAL, **values.get(policy, {})}, [1.0])
        for interpretation in GRID.interpretations
        for rate in GRID.rates
        for seed in range(GRID.seeds)
        # Those that are trained anew come last: at 1.8/h they are those that were trained once.
        for policy in (*ONCE, *SETTLED, *EVERYBODY, *PAIRS, *LONGER.values())
        if policy not in without
        for jobs in GRID.lengths.values()
    }
    return Measured(GRID, [ChicView(interpretation, GRID, metrics) for interpretation in GRID.interpretations])


def verdicts(*args, **kwargs) -> dict[str, str]:
    return {claim.name: claim.verdict for claim in claims(measured(*args, **kwargs))}


def test_what_the_paper_prints_holds():
    assert set(verdicts().values()) == {"holds"}


REFUTED = {
    "chic-12.65": {g.CHIC: {"act": 3495.0}},
    "chic-pair-10.08": {g.CHIC_PAIR: {"act": 3600.0}},
    "chic-400-s": {g.CHIC: {"act": 3601.0}},
    "chic-best": {g.CHIC_PAIR: {"act": 2999.0}},
    "learning-needed": {g.RANDOM: {"act": 2999.0}},
    "pair-learning-needed": {g.RANDOM_PAIR: {"act": 3199.0}},
    "random-worse": {g.RANDOM: {"act": 3999.0}},
    "random-worse-at-events": {g.RANDOM: {"act": 3549.0}},
    "optimus-beats-drf": {g.DRF_600: {"act": 3999.0}},
    "optimus-300": {g.OPTIMUS: {"act": 3499.0}},
    "optimus-cannot-catch-up": {g.OPTIMUS_300: {"act": 3199.0}},
    "optimus-cannot-catch-up-at-events": {g.OPTIMUS: {"act": 3199.0}},
    "shortest-median": {g.CHIC: {"act": 3000.0, "shortest": 900.0, "median": 2501.0}},
    "runtime-ratio": {g.CHIC_PAIR: {"act": 3200.0, "runtime_s": 2.0}},
    "episode-60": {LONGER[g.CHIC_PAIR]: {"act": 3201.0}},
    "window-4": {PAIRS[2]: {"act": 3201.0}},
    "trained-once-4.06": {g.CHIC_ONCE: {"act": 3150.0}},
    "pair-adapts": {g.CHIC_PAIR_ONCE: {"act": 3400.0}},
    "trained-once-below-optimus": {g.CHIC_PAIR_ONCE: {"act": 4001.0}},
    "runtime-pair-as-optimus": {g.CHIC_PAIR: {"act": 3200.0, "runtime_s": 2.0}},
    "runtime-pair-before-optimus": {g.OPTIMUS_300: {"act": 3500.0, "runtime_s": 0.9}},
    "settled-learning-needed": {g.CHIC_SETTLED: {"act": 5001.0}},
    "step-0.78-ms": {g.CHIC: {**AS_PRINTED[g.CHIC], "step_ms": 0.8}},
}
#: Claims about trainings, and a curve or iterations that refute them.
CURVES = {
    "fig6-reward-grows": {"curve": [(k, b, -r, a) for k, b, r, a in CURVE]},
    "fig6-gap-narrows": {"curve": [(k, b + k, r, a) for k, b, r, a in CURVE]},
    "fig6-reward-is-act": {"curve": [(k, b, r, -a) for k, b, r, a in CURVE]},
    "fig6-act-falls": {"curve": [(k, b, r, -a) for k, b, r, a in CURVE]},
    "settled-reward-is-act": {"curve": [(k, b, r, -a) for k, b, r, a in CURVE]},
    "settled-act-falls": {"curve": [(k, b, r, -a) for k, b, r, a in CURVE]},
    "fig6-19-iterations": {"curve": [(k, b, r, 4001.0) for k, b, r, _ in CURVE]},
    "fig6-pair-faster": {"iterations": (-60,) * 5},
}


def test_every_claim_can_be_refuted():
    assert {*REFUTED, *CURVES} == {s.name for s in STATEMENTS}


@pytest.mark.parametrize("name", CURVES)
def test_trainings_can_refute_a_claim(name, monkeypatch):
    monkeypatch.setattr(learning, "seeds", trainings(**CURVES[name]))
    assert verdicts()[name] == "does not hold"
    monkeypatch.setattr(learning, "seeds", trainings(**CURVES[name], trained=False))
    assert verdicts()[name] == "not trained"


def test_a_policy_trained_at_another_rate_is_not_the_one_of_figure_4a(monkeypatch):
    reason = "trained at 1.8/h, not anew"
    monkeypatch.setattr(
        learning, "untrained", lambda p, rate=None: "" if rate in (None, 1.8) or p == g.RANDOM else reason
    )
    found = verdicts()
    assert (found["chic-12.65"], found["trained-once-4.06"], found["pair-adapts"]) == ("not trained",) * 3
    assert found["trained-once-below-optimus"] == "holds"
    assert verdicts(REFUTED["chic-12.65"])["chic-12.65"] == "does not hold", "at 1.8/h it is refuted"


def test_who_is_trained_anew_runs_with_the_weights_of_the_rate():
    texts = {
        policy.label: [g.case(g.INTERPRETATIONS[0], policy, rate, 0).text for rate in (0.9, 1.8)]
        for policy in (g.CHIC, g.CHIC_ONCE, PAIRS[0], LONGER[g.CHIC], g.CHIC_PLUS)
    }
    assert texts == {
        "Chic": ["chic:rate=0.9", "chic"],
        "Chic (1.8/h)": ["chic", "chic"],
        "Chic-Pair, I = 2": ["chic-pair:window=2,rate=0.9", "chic-pair:window=2"],
        "Chic, W = 60": ["chic:episode=60", "chic:episode=60"],  # of which there is one
        "Chic plus (ours)": ["chic-plus", "chic-plus"],
    }


def test_optimus_counts_as_it_stops_in_print_and_at_full_strength_it_is_ours():
    found = {claim.name: claim for claim in claims(measured())}
    full = {interpretation.name for interpretation in g.INTERPRETATIONS if interpretation.stop == "full"}
    assert {interpretation.stop for interpretation in g.INTERPRETATIONS if interpretation.name in g.PRINTED} == {
        "used-up",
        "misfit",
    }
    for statement in OF_OPTIMUS:
        claim, ours = found[statement.name], found[f"full-{statement.name}"]
        assert set(claim.counted) == set(claim.interpretations) == set(g.PRINTED)
        assert ours.where == "ours"
        assert set(ours.counted) == set(ours.interpretations) <= full
    assert all(not claim.excluded for claim in found.values())
    assert [(c.name, c.text) for c in found.values()] == [(s.name, s.text) for s in ALL]


def test_a_policy_level_with_chance_is_said_to_be_so_beside_what_it_confirms():
    level = {claim.name: claim for claim in claims(measured(REFUTED["learning-needed"]))}
    assert level["chic-12.65"].verdict == "holds"
    assert "not shown to be above chance" in level["chic-12.65"].level
    assert "not shown to be above chance" in level["chic-12.65"].summary()
    assert level["chic-pair-10.08"].level == level["optimus-beats-drf"].level == ""
    assert all(claim.level == "" for claim in claims(measured()))


def test_the_weights_that_come_with_mlsched_say_for_what_they_are_trained(monkeypatch):
    monkeypatch.undo()
    for policy in (g.CHIC, g.CHIC_PAIR, *PAIRS, *LONGER.values(), *ONCE):
        met = learning.card(policy).get("trained") is True
        assert bool(learning.untrained(policy)) != met
        assert learning.card(policy)["data"]["rates"] == [1.8, 1.8]
    for policy in (g.CHIC, g.CHIC_PAIR, *PAIRS):
        if g.at_rate(policy, 0.9) == policy.text:
            assert learning.untrained(policy, 0.9), "no weights for 0.9/h come along"
        else:
            assert learning.card(policy, 0.9)["data"]["rates"] == [0.9, 0.9]
    for policy in (*LONGER.values(), *ONCE):
        assert learning.untrained(policy, 0.9), "it is not trained at 0.9/h"
    assert learning.untrained(g.OPTIMUS_600) == learning.untrained(g.CHIC_PLUS) == ""


@pytest.mark.parametrize("name", REFUTED)
def test_and_is_where_the_numbers_say_so(name):
    assert verdicts(REFUTED[name])[name] == "does not hold"


def test_without_a_policy_its_claims_are_not_measured():
    found = verdicts(without=(g.CHIC, g.CHIC_PAIR, *PAIRS, *ONCE, *SETTLED))
    assert {name for name, verdict in found.items() if verdict == "holds"} == {
        "random-worse",
        "random-worse-at-events",
        "optimus-beats-drf",
        "optimus-300",
        "full-random-worse",
        "full-random-worse-at-events",
        "full-optimus-beats-drf",
        "full-optimus-300",
        *CURVES,
        "full-fig6-19-iterations",
    }
    assert set(found.values()) == {"holds", "not measured"}


def test_a_reading_can_decide():
    found = measured()
    worse = g.case(GRID.interpretations[2], g.OPTIMUS, 1.8, 0)  # as the paper describes it
    metrics = dict(found.views[0]._metrics)
    for seed in range(GRID.seeds):
        metrics[dataclasses_replace(worse, seed)] = Metrics({**USUAL, "act": 3400.0}, [1.0])
    both = Measured(GRID, [ChicView(interpretation, GRID, metrics) for interpretation in GRID.interpretations])
    claim = next(c for c in claims(both) if c.name == "optimus-300")
    assert claim.verdict == "depends on the interpretation"
    assert claim.by_interpretation == {
        GRID.interpretations[2].name: "does not hold",
        GRID.interpretations[3].name: "holds",
    }


def dataclasses_replace(case, seed):
    return g.Case(case.text, case.scheduling_events, case.options, case.rate, seed)


def test_cuts_are_paired():
    view = measured().views[0]
    assert view.cut(g.CHIC, g.OPTIMUS_600, "act", At(1.8)).tolist() == [25.0] * 5
    assert view.less(g.CHIC, g.OPTIMUS_600, "act", At(1.8)).tolist() == [1000.0] * 5
    assert view.cut(g.Policy("nobody", "nobody"), g.OPTIMUS_600, "act", At(1.8)).size == 0
    assert view.cut(g.CHIC, g.OPTIMUS_600, "act", At(1.8, GRID.jobs + 1)).size == 0  # no such sequences were run
    assert paper.CHIC_CUT < 25


def test_longer_episodes_are_judged_on_sequences_of_both_lengths():
    found = measured()
    metrics = dict(found.views[0]._metrics)
    for seed in range(GRID.seeds):  # worse on the longer sequences alone
        case = g.case(GRID.interpretations[0], LONGER[g.CHIC], 1.8, seed, 2 * GRID.jobs)
        assert case in metrics
        metrics[case] = Metrics({**USUAL, "act": 3001.0}, [1.0])
    again = claims(Measured(GRID, [ChicView(interpretation, GRID, metrics) for interpretation in GRID.interpretations]))
    claim = next(claim for claim in again if claim.name == "episode-60")
    assert [piece.side() for piece in claim.measurements] == ["inside", "outside", "inside", "inside"]
    assert claim.verdict == "does not hold"
