"""Verdicts on the Chic paper's claims: computed from made-up measurements, each both ways."""

from __future__ import annotations

import pytest

from mlsched.benchmark.experiments.chic import grid as g
from mlsched.benchmark.experiments.chic import paper
from mlsched.benchmark.experiments.chic.claims import STATEMENTS, claims
from mlsched.benchmark.experiments.chic.measure import Metrics
from mlsched.benchmark.experiments.chic.measured import At, ChicView, Measured

GRID = g.Grid(readings=g.READINGS[:2], rates=(0.9, 1.8, 2.7), seeds=2)
PAIRS = [g.windowed("Chic-Pair", f"chic-pair:window={w}", w) for w in g.WINDOWS]
LONGER = {policy: g.with_episode(policy, 60) for policy in (g.CHIC, g.CHIC_PAIR)}  # trained with W = 60
EVERYBODY = (*(g.optimus(i) for i in g.INTERVALS), g.OPTIMUS, g.CHIC, g.CHIC_PAIR, g.RANDOM, g.RANDOM_PAIR, g.DRF_600)
#: What the paper prints or implies, as values where Optimus-600's are 4,000 s.
AS_PRINTED = {
    g.CHIC: {"act": 3000.0, "shortest": 900.0, "median": 2000.0, "runtime_s": 3.0},
    g.CHIC_PAIR: {"act": 3200.0, "runtime_s": 1.0},
    g.OPTIMUS_300: {"act": 3500.0},
    g.optimus(150): {"act": 3600.0},
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


def measured(changes=None, without=()) -> Measured:
    """Every policy at every rate under both readings; `changes`: policy -> metrics."""
    values = {**AS_PRINTED, **(changes or {})}
    metrics = {
        g.case(reading, policy, rate, seed, jobs): Metrics({**USUAL, **values.get(policy, {})}, [1.0])
        for reading in GRID.readings
        for rate in GRID.rates
        for seed in range(GRID.seeds)
        for policy in (*EVERYBODY, *PAIRS, *LONGER.values())
        if policy not in without
        for jobs in GRID.lengths.values()
    }
    return Measured(GRID, [ChicView(reading, GRID, metrics) for reading in GRID.readings])


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
    "untrained-worse": {g.RANDOM: {"act": 3999.0}},
    "untrained-worse-at-events": {g.RANDOM: {"act": 3549.0}},
    "optimus-beats-drf": {g.DRF_600: {"act": 3999.0}},
    "optimus-300": {g.OPTIMUS: {"act": 3499.0}},
    "optimus-cannot-catch-up": {g.OPTIMUS_300: {"act": 3199.0}},
    "optimus-cannot-catch-up-at-events": {g.OPTIMUS: {"act": 3199.0}},
    "shortest-median": {g.CHIC: {"act": 3000.0, "shortest": 900.0, "median": 2501.0}},
    "runtime-ratio": {g.CHIC_PAIR: {"act": 3200.0, "runtime_s": 2.0}},
    "episode-60": {LONGER[g.CHIC_PAIR]: {"act": 3200.0}},
    "window-4": {PAIRS[2]: {"act": 3201.0}},
}


def test_every_claim_can_be_refuted():
    assert set(REFUTED) == {s.name for s in STATEMENTS}


@pytest.mark.parametrize("name", REFUTED)
def test_and_is_where_the_numbers_say_so(name):
    assert verdicts(REFUTED[name])[name] == "does not hold"


def test_without_a_policy_its_claims_are_not_measured():
    found = verdicts(without=(g.CHIC, g.CHIC_PAIR, *PAIRS))
    assert {name for name, verdict in found.items() if verdict == "holds"} == {
        "untrained-worse",
        "untrained-worse-at-events",
        "optimus-beats-drf",
        "optimus-300",
    }
    assert set(found.values()) == {"holds", "not measured"}


def test_a_reading_can_decide():
    found = measured()
    worse = g.case(GRID.readings[1], g.OPTIMUS, 1.8, 0)
    metrics = dict(found.views[0]._metrics)
    for seed in range(GRID.seeds):
        metrics[dataclasses_replace(worse, seed)] = Metrics({**USUAL, "act": 3400.0}, [1.0])
    both = Measured(GRID, [ChicView(reading, GRID, metrics) for reading in GRID.readings])
    claim = next(c for c in claims(both) if c.name == "optimus-300")
    assert claim.verdict == "depends on the reading"
    assert claim.by_reading == {GRID.readings[0].name: "holds", GRID.readings[1].name: "does not hold"}


def dataclasses_replace(case, seed):
    return g.Case(case.text, case.wake, case.options, case.rate, seed)


def test_cuts_are_paired():
    view = measured().views[0]
    assert view.cut(g.CHIC, g.OPTIMUS_600, "act", At(1.8)).tolist() == [25.0, 25.0]
    assert view.less(g.CHIC, g.OPTIMUS_600, "act", At(1.8)).tolist() == [1000.0, 1000.0]
    assert view.cut(g.Policy("nobody", "nobody"), g.OPTIMUS_600, "act", At(1.8)).size == 0
    assert view.cut(g.CHIC, g.OPTIMUS_600, "act", At(1.8, GRID.jobs + 1)).size == 0  # no such sequences were run
    assert paper.CHIC_CUT < 25


def test_longer_episodes_are_judged_on_sequences_of_both_lengths():
    found = measured()
    metrics = dict(found.views[0]._metrics)
    for seed in range(GRID.seeds):  # worse on the longer sequences alone
        case = g.case(GRID.readings[0], LONGER[g.CHIC], 1.8, seed, 2 * GRID.jobs)
        assert case in metrics
        metrics[case] = Metrics({**USUAL, "act": 3001.0}, [1.0])
    again = claims(Measured(GRID, [ChicView(reading, GRID, metrics) for reading in GRID.readings]))
    claim = next(claim for claim in again if claim.name == "episode-60")
    assert [piece.side() for piece in claim.evidence] == ["inside", "outside", "inside", "inside"]
    assert claim.verdict == "does not hold"
