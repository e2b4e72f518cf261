"""`mlsched doctor`."""

from __future__ import annotations

import pytest

from mlsched.solvers.backends.known_bugs import ask, models, trust


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Two known-bug models are enough here."""
    monkeypatch.setattr(models, "known_bugs", lambda: KNOWN_BUGS[:2])


KNOWN_BUGS = models.known_bugs()


def test_it_shows_versions_and_who_is_right(cli):
    done = cli("doctor", "--json")
    assert done.status == 0
    assert {e["engine"] for e in done.document["engines"]} == set(ask.ENGINES)
    assert all(e["right"] + e["not asked"] == 2 and e["tested"] for e in done.document["engines"])
    assert done.document["known_bugs"][0]["answer"] == 9
    assert "highspy" in done.document["versions"]
    shown = cli("doctor").out
    assert "2 models about which some solver was wrong" in shown
    assert "believed" not in shown


def test_a_version_that_is_news(cli, monkeypatch):
    monkeypatch.setattr(trust, "TESTED", {})
    monkeypatch.setitem(ask._ASK, "highs", lambda known_bug, engine: ask.Said("infeasible"))
    done = cli("doctor")
    assert done.status == 1
    assert "is wrong about highs-3043, highs-2957" in done.err
    assert "no proof of models with continuous and integer by it is believed here" in done.out
