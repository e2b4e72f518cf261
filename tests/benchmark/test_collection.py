"""Collections: what is entered, what is believed, and what a check finds."""

from __future__ import annotations

import json
import re
import shutil

import pytest
from collection_examples import entry_of, known, rewritten, verify

import mlsched
from mlsched import InvalidInput
from mlsched.benchmark import collection
from mlsched.benchmark.collection import add, certify, create, entries, proof_of, submit, write_table


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
    assert (closed[True].evidence, closed[False].evidence, closed[False].bound) == ("unconfirmed", None, None)
    text = (folder / "TABLE.md").read_text()
    assert text.count("| preemption |") == 2
    value = next(entry.value for entry in entries(folder) if entry.closed)
    assert f"| {value} | 0 | 100.0 % | {value} | unconfirmed | us |" in text, (
        "the statement proves 0, a solver said more"
    )
    assert "| 0 | 100.0 % | – | open | us |" in text
    assert collection.verify(folder).bounds == {"unconfirmed": 1, "none": 1}


def test_better_plans_are_entered_and_others_are_not(folder):
    instance, rule, exact = known(0)
    assert not add(folder, instance, rule, "again")
    assert rule.sort_key > exact.sort_key, "the example has something to improve"
    assert submit(folder, instance, exact.plan, "total_score", "them")
    assert not submit(folder, instance, exact.plan, "total_score", "them again")
    write_table(folder)
    (entry,) = [e for e in entries(folder) if e.instance == instance]
    assert (entry.value, entry.closed, entry.evidence) == (exact.sort_key, False, None)
    assert [(line["by"], line["value"]) for line in entry.history] == [("us", rule.sort_key), ("them", exact.sort_key)]
    assert add(folder, instance, exact, "prover"), "the same value with a bound"
    write_table(folder)
    (entry,) = [e for e in entries(folder) if e.instance == instance]
    assert (entry.closed, entry.evidence, len(entry.history)) == (True, "unconfirmed", 3)
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
    with pytest.raises(InvalidInput, match=r"collection\.json is missing"):
        verify(folder / "preemption")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"value": 1}, "value = 1: the plan's is"),
        ({"bound": 10**9}, "is better than the bound 1000000000: one of the two is wrong"),
        ({"bound": 0}, "evidence: 'unconfirmed', expected null exactly where"),
        ({"evidence": "sure"}, "evidence: 'sure', expected certified, confirmed, unconfirmed or null"),
        ({"history": []}, "history: expected lines of"),
        (
            {"history": [{"date": "2026-11-01", "by": "x", "value": 0, "bound": 0, "versions": {}}]},
            "history ends with another",
        ),
        ({"instance_hash": "0" * 64}, "the file beside it is another instance"),
        ({"objective": "cost"}, "unknown objective 'cost'"),
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
    assert any("its content does not match its name" in sentence for sentence in verify(folder)[1])
    of_instance.unlink()
    assert "is missing" in verify(folder)[1][0]
    of_instance.write_text(text)
    (folder / "TABLE.md").write_text("nothing")
    assert "is not what the entries say" in verify(folder)[1][0]


def test_a_certified_optimum_brings_its_proof(folder):
    (closed,) = [entry for entry in entries(folder) if entry.closed]
    assert certify(closed)
    write_table(folder)
    assert verify(folder) == (2, [])
    assert "| certified | us |" in (folder / "TABLE.md").read_text()
    proof = proof_of(closed)
    tree = proof / "tree.json"
    tree.write_text(tree.read_text() + "\n")
    said = f"{proof.name} does not hold: tree.json is not the file that the manifest was written for"
    assert said in verify(folder)[1][0]
    shutil.rmtree(proof)
    assert verify(folder)[1] == [f"{closed.path}: is called certified, and {proof.name} is missing"]


def test_a_certificate_of_a_gap_does_not_certify_an_optimum(folder):
    (closed,) = [entry for entry in entries(folder) if entry.closed]
    assert certify(closed)
    write_table(folder)
    manifest = proof_of(closed) / "manifest.json"
    document = json.loads(manifest.read_text())
    document["proofs"][0]["bound"] -= 1 if closed.objective.sense == "min" else -1
    manifest.write_text(json.dumps(document))
    assert not mlsched.check_certificate(proof_of(closed)).wrong
    assert verify(folder)[1] == [f"{closed.path}: {proof_of(closed).name} certifies something else"]


# -- strangers --------------------------------------------------------------------------------------------------------


@pytest.fixture
def poisoned(folder):
    """Somebody says of a rule's plan that two engines agreed that it is optimal; it is not."""
    instance, rule, exact = known(0)
    assert rule.sort_key > exact.sort_key
    rewritten(entry_of(folder, 0), bound=rule.sort_key, evidence="confirmed")
    write_table(folder)
    return folder, instance, rule, exact


def test_a_false_claim_keeps_no_plan_out(poisoned):
    folder, instance, rule, exact = poisoned
    assert verify(folder) == (2, []), "nothing shows yet that it is false"
    assert collection.verify(folder).bounds == {"unconfirmed": 2}
    noted = submit(folder, instance, exact.plan, "total_score", "them")
    assert (noted.value, noted.refuted) == (exact.sort_key, rule.sort_key)
    write_table(folder)
    (entry,) = [e for e in entries(folder) if e.instance == instance]
    assert (entry.value, entry.bound, entry.evidence) == (exact.sort_key, None, None)
    assert entry.history[0]["bound"] == rule.sort_key, "what was claimed remains on record"
    assert verify(folder) == (2, [])


def test_a_false_claim_makes_room_for_a_prover(poisoned):
    folder, instance, rule, exact = poisoned
    assert add(folder, instance, exact, "prover").refuted == rule.sort_key
    (entry,) = [e for e in entries(folder) if e.instance == instance]
    assert (entry.value, entry.bound, entry.evidence) == (exact.sort_key, exact.sort_bound, "unconfirmed")


def test_a_search_finds_false_claims_and_backs_true_ones(poisoned):
    folder, instance, rule, exact = poisoned
    count, (wrong,) = verify(folder, seconds=60)
    assert (count, f"bound = {rule.sort_key}: cp-sat has a plan of {exact.sort_key}, which is better" in wrong) == (
        2,
        True,
    )
    submit(folder, instance, exact.plan, "total_score", "them")
    write_table(folder)
    assert collection.verify(folder, seconds=60).bounds == {"recomputed": 1, "none": 1}


def test_a_bound_that_follows_from_the_statement_counts(folder):
    rewritten(entry_of(folder, 0), bound=0)
    write_table(folder)
    assert collection.verify(folder).bounds == {"unconfirmed": 1, "recomputed": 1}


def test_a_false_value_keeps_no_plan_out(folder):
    instance, rule, exact = known(0)
    rewritten(entry_of(folder, 0), value=0)
    assert submit(folder, instance, exact.plan, "total_score", "them").value == exact.sort_key
    nobody = instance.plan_type(te_node=[99] * len(instance.te_demand), victims=[]).to_json()
    rewritten(entry_of(folder, 0), value=0, plan=nobody)
    assert submit(folder, instance, rule.plan, "total_score", "them").value == rule.sort_key
    write_table(folder)
    assert verify(folder) == (2, [])


def test_a_forged_certificate_certifies_nothing(poisoned):
    """Of another instance, or one that was never there."""
    folder, instance, rule, exact = poisoned
    (closed,) = [entry for entry in entries(folder) if entry.instance != instance]
    assert certify(closed)
    path = entry_of(folder, 0)
    rewritten(path, evidence="certified")
    forged = path.with_suffix(".proof")
    assert verify(folder)[1] == [f"{path}: is called certified, and {forged.name} is missing"]
    shutil.copytree(proof_of(closed), forged)
    assert verify(folder)[1] == [f"{path}: {forged.name} certifies something else"]
    assert submit(folder, instance, exact.plan, "total_score", "them").refuted == rule.sort_key
    assert not forged.exists()
    write_table(folder)
    assert verify(folder) == (2, [])
    assert collection.verify(folder).bounds == {"certified": 1, "none": 1}


def test_where_a_plan_beats_a_proof_that_holds_nothing_is_entered(folder, monkeypatch):
    (closed,) = [entry for entry in entries(folder) if entry.closed]
    assert certify(closed)
    instance, _, exact = known(3)
    honest = type(instance).evaluate
    monkeypatch.setattr(
        type(instance), "evaluate", lambda self, plan: {k: v - 1 for k, v in honest(self, plan).items()}
    )
    monkeypatch.setattr(collection.changes, "certificate_fault", lambda entry: "")
    monkeypatch.setattr(collection.Entry, "judged", closed.value)
    before = closed.path.read_bytes()
    with pytest.raises(InvalidInput, match="with a valid certificate: judge and checker contradict each other"):
        submit(folder, instance, exact.plan, "total_score", "them")
    assert closed.path.read_bytes() == before


NAMES = (
    "a\n| quality | 0 | cost | 1 | 1 | 0 % | – | certified | me |",
    "x" * 81,
    "",
    " ",
    "\u202egnp",
    "a\tb",
    "\x1b[2J",
)


@pytest.mark.parametrize("by", NAMES)
def test_names_of_more_than_a_line_are_refused(folder, by):
    instance, _, exact = known(0)
    with pytest.raises(InvalidInput, match=r"^by: .*, expected one line of 1 to 80 characters that can be printed$"):
        submit(folder, instance, exact.plan, "total_score", by)
    path = entry_of(folder)
    data = json.loads(path.read_text())
    data["history"][-1]["by"] = by
    path.write_text(json.dumps(data))
    ((wrong),) = verify(folder)[1]
    assert "history[0].by: " in wrong
    with pytest.raises(InvalidInput, match="by: "):
        write_table(folder)


def test_names_are_text_in_the_table(folder):
    instance, _, exact = known(0)
    name = "A | certified | [me](http://x) <b>&amp; `c` \\| 1"
    assert submit(folder, instance, exact.plan, "total_score", name)
    described = json.loads((folder / "collection.json").read_text()) | {"name": "# a | b", "doc": "| x | <i>"}
    (folder / "collection.json").write_text(json.dumps(described))
    write_table(folder)
    text = (folder / "TABLE.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert [len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) for row in rows] == [10] * 4
    assert f"| open | {name} |" in re.sub(r"\\(.)", r"\1", text)
    assert text.startswith("# \\# a \\| b\n\n\\| x \\| \\<i\\>\n")
    assert verify(folder) == (2, [])


ODD = (None, True, 1.5, -1, "1", "", [], [1], {}, {"a": 1}, 10**30, 1e300, -(10**30))


@pytest.mark.parametrize(
    "name", ["kind", "version", "instance_hash", "objective", "value", "bound", "evidence", "plan"]
)
def test_odd_values_are_one_line_each(folder, name):
    path = entry_of(folder)
    honest, missing = json.loads(path.read_text()), object()
    for odd in (*ODD, missing):
        changed = {**honest, name: odd} if odd is not missing else {k: v for k, v in honest.items() if k != name}
        path.write_text(json.dumps(changed))
        refused_or_sound(folder, path, json.dumps(changed) == json.dumps(honest))


@pytest.mark.parametrize("name", ["date", "by", "value", "bound", "versions"])
def test_odd_history_is_one_line_each(folder, name):
    path = entry_of(folder)
    honest = json.loads(path.read_text())
    for odd in ODD:
        path.write_text(json.dumps({**honest, "history": [{**honest["history"][0], name: odd}]}))
        refused_or_sound(folder, path, (name, odd) == ("versions", {}))
    for history in (*ODD, [None], [[]], [{}]):
        path.write_text(json.dumps({**honest, "history": history}))
        refused_or_sound(folder, path, False)


def refused_or_sound(folder, path, sound):
    count, wrong = verify(folder)
    assert count == 2
    assert sound == (not wrong)
    assert all(sentence.count("\n") == 0 and len(sentence) <= 300 for sentence in wrong)


def test_a_file_that_holds_no_instance_is_one_line(folder):
    path = entry_of(folder)
    instance = path.with_name(f"{path.name.partition('.')[0]}.json")
    for text in (json.dumps(known()[2].plan.to_json()), "{}", "[]", "", "\x00", '{"kind": 1e999}'):
        instance.write_text(text)
        wrong = verify(folder)[1]
        assert wrong
        assert all(sentence.count("\n") == 0 for sentence in wrong)
        with pytest.raises(InvalidInput):
            submit(folder, known()[0], known(3)[1].plan, "total_score", "x") or list(entries(folder))
