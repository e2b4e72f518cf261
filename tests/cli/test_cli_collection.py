"""`mlsched collection`: make, verify, submit."""

from __future__ import annotations

import json

from collection_examples import known, rewritten

import mlsched
from mlsched.benchmark import gather
from mlsched.benchmark.collection import DIGITS
from mlsched.cli.main import run
from mlsched.core.errors import Contradiction


def test_from_the_command_line(tmp_path, capsys):
    (tmp_path / "mine.toml").write_text('[[case]]\nproblem = "preemption"\npreset = "small"\nseeds = 2\n')
    folder = tmp_path / "c"
    call = ["collection", "make", str(folder), "--suite", str(tmp_path / "mine.toml"), "--seeds", "2", "--json"]
    assert run(call) == 0
    counts = json.loads(capsys.readouterr().out)
    assert (counts["entries"], counts["confirmed"] + counts["unconfirmed"]) == (2, 2)
    assert counts["cpu_seconds"] > 0
    assert counts["problems"] == {
        "preemption": {k: counts[k] for k in ("certified", "confirmed", "unconfirmed", "open")}
    }
    assert run(call) == 2
    assert "exists already" in capsys.readouterr().err
    assert run([*call, "--resume"]) == 0
    assert run(["collection", "verify", str(folder), "--recompute", "60", "--json"]) == 0
    checked = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (checked["entries"], checked["wrong"], sum(checked["bounds"].values())) == (2, [], 2)
    assert run(["collection", "verify", str(folder)]) == 0
    assert "2 entries, 0 wrong; bounds: " in capsys.readouterr().out
    instance, _, exact = known(0)
    mlsched.save(instance, tmp_path / "i.json")
    mlsched.save(exact, tmp_path / "p.json")
    capsys.readouterr()
    submit = ["collection", "submit", str(folder), str(tmp_path / "i.json"), str(tmp_path / "p.json")]
    assert run([*submit, "--json"]) == 1
    shown = capsys.readouterr()
    assert "is not better than the best known plan" in shown.err
    assert json.loads(shown.out) == {
        "plan": str(tmp_path / "p.json"),
        "objective": "total_score",
        "entered": False,
        "value": None,
        "refuted": None,
    }
    entry = folder / "preemption" / f"{instance.hash[:DIGITS]}.total_score.json"
    rule = known(0)[1]
    rewritten(entry, value=rule.sort_key, bound=rule.sort_key, plan=rule.plan.to_json())
    assert run(submit) == 0
    assert f"it refutes the bound {rule.sort_key}, which nobody had certified" in capsys.readouterr().out
    entry.write_text(entry.read_text().replace('"value": ', '"value": 1'))
    assert run(["collection", "verify", str(folder)]) == 1


def test_a_suite_that_is_not_there_leaves_no_collection(tmp_path, cli):
    (tmp_path / "bad.toml").write_text('[[case]]\nproblem = "preemption"\npreset = "smal"\nseeds = 2\n')
    for suite, said in (
        ("nope", "unknown suite 'nope'"),
        (tmp_path / "bad.toml", "unknown preset 'smal' of preemption"),
    ):
        cli("collection", "make", tmp_path / "c", "--suite", suite).refused(said)
        assert not (tmp_path / "c").exists()


def test_engines_that_contradict_each_other_are_reported_and_the_rest_is_made(tmp_path, monkeypatch, capsys):
    def denies(request, result, *limits):
        if request.instance.hash == known(0)[0].hash:
            raise Contradiction("one proves 2, another has 1")
        return result

    monkeypatch.setattr(gather, "with_confirmation", denies)
    (tmp_path / "mine.toml").write_text('[[case]]\nproblem = "preemption"\npreset = "small"\nseeds = 2\n')
    call = ["collection", "make", str(tmp_path / "c"), "--suite", str(tmp_path / "mine.toml"), "--json"]
    assert run(call) == 1
    shown = capsys.readouterr()
    assert shown.err == "mlsched: preemption small, seed 0: one proves 2, another has 1\n"
    counts = json.loads(shown.out)
    assert (counts["entries"], counts["unconfirmed"]) == (2, 2)
    assert run([*call, "--resume"]) == 0
