"""Scoreboards: counts of outcomes by verdict and kind, and the reader of recorded claims."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from mlsched_papers import EXPERIMENTS
from mlsched_papers.claim import Bound, Claim, Estimate, Exclusion, Measurement, Verdict
from mlsched_papers.power import TESTED
from mlsched_papers.recorded import claim_from_json, recorded
from mlsched_papers.scoreboard import COUNTED, KINDS, Outcome, outcome, score, scoreboard_row, verdict_row
from mlsched_papers.statement import Piece, stated

RESULTS = Path(__file__).parents[3] / "docs" / "results"
REPORTS = (
    "fitgpp",
    "slaq",
    "placement-online",
    "harmony-rack",
    "harmony-training",
    "chic",
    "mlfs",
    "gavel",
    "shockwave",
)
PAPERS = {name: one for name, one in EXPERIMENTS.items() if one.paper is not None}


def claim(name, kind="direction", where="Section 1"):
    return Claim(name, f"it is {name}", where, "tested", (), kind=kind)


OUTCOMES = {
    "a": Outcome("holds", 0.75),
    "b": Outcome("does not hold", 0.5),
    "c": Outcome("undecided"),
    "d": Outcome("excluded by the simulator"),
    "e": Outcome("assumed"),
    "ours": Outcome("holds", 1.0),
}
CLAIMS = [
    claim("a"),
    claim("b", "size"),
    claim("c", "size"),
    claim("d", "size"),
    claim("e", "testbed"),
    claim("ours", where="ours"),
    claim("unknown"),
]


def test_claims_are_counted_by_verdict_and_kind():
    found = score(CLAIMS, OUTCOMES)
    assert verdict_row("p", found) == ["p", 4, 1, "1.2 of 2", 1, 1, 0, 1]
    assert scoreboard_row("p", "holds", found) == ["p", "holds", "1 of 1", "0 of 2", "–", 1, 1]
    assert found.sentences == (
        "4 claims about the scheduler: 1 holds, 1 does not, 1 is undecided, 1 cannot be tested here. Only the paper's "
        "testbed could show 1 more. If the paper were exactly right, 1.2 of 2 would hold with this number of workloads."
    )
    assert Outcome("holds", 0.125).percent == "12 %"
    assert Outcome("assumed").percent == "–"


def test_a_claim_that_no_paper_makes_has_no_chance():
    piece = Measurement("A", "what", Estimate(9.0, 1.0, 5), Bound(low=0.0))
    made = Claim("c", "text", "Section 1", "tested", (piece,))
    assert outcome(made) == Outcome("holds", 1.0)
    assert outcome(dataclasses.replace(made, where="ours")) == Outcome("holds", None)


def test_every_verdict_is_counted_once():
    columns = [verdict for verdicts in COUNTED.values() for verdict in verdicts]
    assert sorted(columns) == sorted(Verdict.__args__)
    assert set(TESTED) == set(Verdict.__args__) - set(COUNTED["cannot be tested here"])


def test_the_kind_follows_from_the_bounds_unless_it_is_stated():
    def kind(bound, **more):
        @stated("c", text="text", where="here", tested="tested", **more)
        def made(m):
            return [Piece("Z", "what", [1.0] * 5, bound)]

        return made.judge(None).kind

    assert kind(Bound(low=0.0, strict=True)) == "direction"
    assert kind(Bound(low=12.0)) == kind(Bound(-5.0, 5.0)) == "size"
    assert kind(Bound(low=0.0), kind="order") == "order"


@pytest.mark.parametrize("name", PAPERS)
def test_a_papers_headline_is_one_of_its_claims(name):
    statements = {statement.name: statement for statement in PAPERS[name].statements}
    headline = statements[PAPERS[name].paper.headline]
    assert headline.where != "ours"
    assert headline.kind in (None, *KINDS)


@pytest.mark.parametrize("name", REPORTS)
def test_recorded_claims_are_read_with_their_verdicts(name):
    """The reader's claims have the recorded verdicts, by today's rule, also of reports without newer fields."""
    for data in json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["document"]["claims"]:
        assert claim_from_json(data).verdict == data["verdict"]


def test_a_claim_survives_its_json():
    piece = Measurement("A", "what", Estimate(9.0, 1.0, 5), Bound(low=0.0), "%", 3.0, each=(8.0, 10.0))
    far = Measurement("B", "what", None, Bound(low=110.0), reach=Bound(high=96.4))
    excluded = {"B": Exclusion("the paper says otherwise", "Section 1: it is")}
    made = Claim("c", "text", "here", "tested", (piece, far), "measured", excluded, ("d",), "level", "order")
    assert claim_from_json(json.loads(json.dumps(made.to_json()))) == made


def test_intervals_of_few_workloads_are_not_read():
    data = claim("a").to_json() | {"measurements": [_of(3), _of(5)]}
    assert [piece.measured.half for piece in claim_from_json(data).measurements] == [None, 1.0]


def _of(count):
    return {"interpretation": "Z", "what": "x", "measured": {"mean": 9.0, "half": 1.0, "count": count}} | {
        "bound": {"low": 0.0, "high": None, "strict": False}
    }


def test_recorded_outcomes_have_chances():
    assert all(one.chance is None or 0 <= one.chance <= 1 for each in recorded().values() for one in each.values())
    assert recorded()["fitgpp"]["te-p95-cut"] == Outcome("holds", 1.0)
