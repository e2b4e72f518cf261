"""Collections: what is entered, what is believed, and what a check finds."""

from __future__ import annotations

import json
import shutil

import pytest

import mlsched
from mlsched import InvalidInput
from mlsched.benchmark import gather
from mlsched.benchmark.collection import DIGITS, add, certify, create, entries, proof_of, submit, verify, write_table
from mlsched.cli.main import run


def known(seed=3):
    instance = mlsched.generate("preemption", preset="small", seed=seed)
    return instance, mlsched.solve(instance, "fitgpp"), mlsched.solve(instance, "cp-sat")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A collection of two instances, one with an optimum and one with a rule's plan."""
    folder = tmp_path_factory.mktemp("collection") / "c"
    create(folder, "tiny", "for tests")
    for seed, which in ((3, 2), (0, 1)):
        found = known(seed)
        assert add(folder, found[0], found[which], "us")
    write_table(folder)
    return folder


@pytest.fixture
def folder(made, tmp_path):
    return shutil.copytree(made, tmp_path / "c")


def test_a_collection_verifies_and_says_what_is_known(folder):
    assert verify(folder) == (2, [])
    closed = {entry.closed: entry for entry in entries(folder)}
    assert (closed[True].backing, closed[False].backing, closed[False].bound) == ("claimed", None, None)
    text = (folder / "TABLE.md").read_text()
    assert text.count("| preemption |") == 2
    assert "| claimed | us |" in text
    assert "| – | – | open | us |" in text


def test_better_plans_are_entered_and_others_are_not(folder):
    instance, rule, exact = known(0)
    assert not add(folder, instance, rule, "again")
    assert rule.value > exact.value, "the example has something to improve"
    assert submit(folder, instance, exact.plan, "total_score", "them")
    assert not submit(folder, instance, exact.plan, "total_score", "them again")
    write_table(folder)
    (entry,) = [e for e in entries(folder) if e.instance == instance]
    assert (entry.value, entry.closed, entry.backing) == (exact.value, False, None)
    assert [(line["by"], line["value"]) for line in entry.history] == [("us", rule.value), ("them", exact.value)]
    assert add(folder, instance, exact, "prover"), "the same value with a bound"
    write_table(folder)
    (entry,) = [e for e in entries(folder) if e.instance == instance]
    assert (entry.closed, entry.backing, len(entry.history)) == (True, "claimed", 3)
    assert verify(folder) == (2, [])


def test_what_is_not_believed(folder):
    instance, _, exact = known(0)
    with pytest.raises(InvalidInput, match="the plan is infeasible"):
        submit(
            folder, instance, instance.plan_type(te_node=[99] * len(instance.te_demand), victims=[]), "total_score", "x"
        )
    with pytest.raises(InvalidInput, match="the result answers instance"):
        add(folder, known(5)[0], exact, "x")
    other = mlsched.generate("preemption", preset="small", seed=3)
    assert not submit(folder, other, mlsched.solve(other, "fitgpp").plan, "total_score", "x")
    with pytest.raises(InvalidInput, match="exists already"):
        create(folder, "again", "")
    with pytest.raises(InvalidInput, match=r"has no collection\.json"):
        verify(folder / "preemption")


def entry_of(folder, seed=3):
    return folder / "preemption" / f"{known(seed)[0].hash[:DIGITS]}.total_score.json"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"value": 1}, "value = 1: the plan's is"),
        ({"bound": 10**9}, "is better than the bound 1000000000: one of the two is wrong"),
        ({"bound": 0}, "backing = 'claimed': must be null exactly where"),
        ({"backing": "sure"}, "backing = 'sure': must be certified, agreed, claimed or null"),
        ({"history": []}, "history: must be lines of"),
        ({"history": [{"date": "", "by": "x", "value": 0, "bound": 0, "versions": {}}]}, "history ends with another"),
        ({"instance_hash": "0" * 64}, "the file beside it holds another"),
        ({"objective": "cost"}, "has no objective 'cost'"),
        ({"objective": "victim_count"}, "is an entry for victim_count"),
        (
            {"plan": {"kind": "preemption.plan", "version": 1, "te_node": [99, 99], "victims": []}},
            "the plan is infeasible",
        ),
        ({"more": 1}, "an entry has exactly"),
    ],
)
def test_what_a_check_finds(folder, change, said):
    path = entry_of(folder)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    count, wrong = verify(folder)
    assert (count, len(wrong)) == (2, 1)
    assert said in wrong[0]
    assert str(path) in wrong[0]


def test_files_that_are_missing_or_changed_are_found(folder):
    path = entry_of(folder)
    of_instance = path.with_name(f"{path.name.partition('.')[0]}.json")
    text = of_instance.read_text()
    mlsched.save(known(5)[0], of_instance)
    assert any("holds something else than its name says" in sentence for sentence in verify(folder)[1])
    of_instance.unlink()
    assert "is missing" in verify(folder)[1][0]
    of_instance.write_text(text)
    (folder / "TABLE.md").write_text("nothing")
    assert "is not what the entries say" in verify(folder)[1][0]


def test_a_certified_optimum_brings_its_proof(folder):
    pytest.importorskip("exact")
    (closed,) = [entry for entry in entries(folder) if entry.closed]
    assert certify(closed)
    write_table(folder)
    assert verify(folder) == (2, [])
    assert "| certified | us |" in (folder / "TABLE.md").read_text()
    proof = proof_of(closed)
    log = proof / "1.log"
    log.write_text(log.read_text() + "c more\n")
    assert str(proof) in verify(folder)[1][0]
    shutil.rmtree(proof)
    assert verify(folder)[1] == [f"{closed.path}: is called certified, and {proof.name} is missing"]


def test_no_solve_is_without_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(gather, "MOST_SECONDS", 1e-3)
    create(tmp_path / "c", "c", "for tests")
    suite = tmp_path / "mine.toml"
    suite.write_text('[[case]]\nproblem = "placement"\npreset = "6x5"\nseeds = [100]\n')
    counts = gather.gather(tmp_path / "c", str(suite), None, 1.0)
    assert counts["agreed"] + counts["claimed"] == 0, "proved in a millisecond"


def test_from_the_command_line(tmp_path, capsys):
    (tmp_path / "mine.toml").write_text('[[case]]\nproblem = "preemption"\npreset = "small"\nseeds = 2\n')
    folder = tmp_path / "c"
    call = ["collection", "make", str(folder), "--suite", str(tmp_path / "mine.toml"), "--seeds", "2", "--json"]
    assert run(call) == 0
    counts = json.loads(capsys.readouterr().out)
    assert (counts["entries"], counts["agreed"] + counts["claimed"]) == (2, 2)
    assert counts["cpu_seconds"] > 0
    assert counts["problems"] == {"preemption": {k: counts[k] for k in ("certified", "agreed", "claimed", "open")}}
    assert run(call) == 2
    assert "exists already" in capsys.readouterr().err
    assert run([*call, "--resume"]) == 0
    assert run(["collection", "verify", str(folder)]) == 0
    instance, _, exact = known(0)
    mlsched.save(instance, tmp_path / "i.json")
    mlsched.save(exact, tmp_path / "p.json")
    capsys.readouterr()
    assert run(["collection", "submit", str(folder), str(tmp_path / "i.json"), str(tmp_path / "p.json")]) == 1
    assert "is not better than the best known plan" in capsys.readouterr().err
    entry = next(folder.glob("preemption/*.total_score.json"))
    entry.write_text(entry.read_text().replace('"value": ', '"value": 1'))
    assert run(["collection", "verify", str(folder)]) == 1
