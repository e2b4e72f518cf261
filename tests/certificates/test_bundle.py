"""Logic certificates: what is in a folder, what is refused; no tampering gets another optimum accepted."""

from __future__ import annotations

import hashlib
import json
import random
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest
from certificate_examples import DRAWN, drawn, minimum, needs_exact
from draws import draws

import mlsched
from mlsched import api
from mlsched.certificates import bundle, by_formulas, checker, engine
from mlsched.certificates.translation import translation_of
from mlsched.core.errors import BackendError, InvalidInput, MlschedError, SolverError
from mlsched.instances.workers.horizons import horizon

pytestmark = needs_exact


def hard(problem):
    """The first tiny instance whose proof needs more than loading constraints."""
    return list(drawn(problem, 8))[-1]


@pytest.fixture(scope="session", params=DRAWN)
def certificate(request, tmp_path_factory):
    """The folder of a certificate, one per problem."""
    folder = tmp_path_factory.mktemp("certificates") / request.param
    assert api.certify(hard(request.param), folder, proof="logic").evidence == "certified"
    return folder


@pytest.fixture
def copy(certificate, tmp_path):
    return shutil.copytree(certificate, tmp_path / "copy")


def rehashed(folder, **changes) -> None:
    """Make the manifest, and the plan of another instance, say what the files are, as a forger would."""
    if "instance_hash" in changes:
        plans = json.loads((folder / "plans.json").read_text())
        (folder / "plans.json").write_text(json.dumps({**plans, "instance_hash": changes["instance_hash"]}))
    path = folder / "manifest.json"
    manifest = {**json.loads(path.read_text()), **changes}
    manifest["sha256"] = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in manifest["sha256"]}
    path.write_text(json.dumps(manifest))


def test_a_certificate_is_checked_and_says_what_it_holds(certificate):
    found = api.check_certificate(certificate)
    assert (found.wrong, found.evidence) == ((), "certified")
    assert found.instance == hard(certificate.name)
    best = api.solve(found.instance, "brute-force", objective=found.objective)
    assert found.sort_key == best.sort_key
    manifest = json.loads((certificate / "manifest.json").read_text())
    for k, part in enumerate(manifest["proofs"], 1):
        formula = (certificate / f"{k}.opb").read_text()
        assert checker.check(formula, (certificate / f"{k}.log").read_text()) == part["minimum"]
        assert part["claim"] in formula
    assert (certificate / "checker.py").read_bytes() == Path(checker.__file__).read_bytes()


def test_every_file_is_covered_by_its_hash(copy):
    for path in sorted(copy.iterdir()):
        if path.name != "manifest.json":
            kept = path.read_bytes()
            path.write_bytes(kept + b"\n")
            assert f"{path.name} is not the file that the manifest was written for" in api.check_certificate(copy).wrong
            path.write_bytes(kept)
    assert api.check_certificate(copy).evidence == "certified"


def test_what_does_not_belong_together_is_said(copy):
    manifest = json.loads((copy / "manifest.json").read_text())
    rehashed(copy, values=[[manifest["values"][0][0] + 1]])
    assert "the manifest claims" in api.check_certificate(copy).wrong[0]
    rehashed(copy, **{**manifest, "proofs": manifest["proofs"][1:]})
    assert re.search(r"\d\.log, \d\.opb: not in the manifest", api.check_certificate(copy).wrong[0])
    rehashed(copy, **{**manifest, "proofs": [*manifest["proofs"], manifest["proofs"][0]]})
    assert "the manifest must have hashes of" in api.check_certificate(copy).wrong[0]
    number = len(manifest["proofs"]) + 1
    for end in ("opb", "log"):
        shutil.copyfile(copy / f"1.{end}", copy / f"{number}.{end}")
    hashes = {**manifest["sha256"], f"{number}.opb": "", f"{number}.log": ""}
    rehashed(copy, **{**manifest, "proofs": [*manifest["proofs"], manifest["proofs"][0]], "sha256": hashes})
    assert "proofs, expected" in api.check_certificate(copy).wrong[0]
    for end in ("opb", "log"):
        (copy / f"{number}.{end}").unlink()
    rehashed(copy, **{**manifest, "proofs": [{**part, "minimum": 7} for part in manifest["proofs"]]})
    assert "1.log proves the minimum" in api.check_certificate(copy).wrong[0]
    rehashed(copy, **{**manifest, "lemma": "trust me"})
    assert "lemma" in api.check_certificate(copy).wrong[0]
    rehashed(copy, **{**manifest, "instance_hash": "0"})
    assert api.check_certificate(copy).wrong[:2] == (
        "instance.json is not the instance that the manifest names",
        "plans.json answers another instance",
    )
    rehashed(copy, **manifest)
    (copy / "1.log").unlink()
    with pytest.raises(InvalidInput, match=r"1\.log: file not found"):
        api.check_certificate(copy)


def changed_number(text: str, dice: random.Random) -> str:
    """One of the integers of a JSON text, or of a formula or log, changed a little."""
    found = dice.choice(list(re.finditer(r"\d+", text)))
    old = int(found[0])
    new = dice.choice([n for n in (old - 1, old + 1, 2 * old, 0, 1) if n >= 0 and n != old])
    return text[: found.start()] + str(new) + text[found.end() :]


def changed_words(text: str, dice: random.Random) -> str:
    """A line left out, doubled or exchanged, a word left out or exchanged, a sign turned, or a number changed."""
    lines = text.split("\n")
    i, j = dice.randrange(1, len(lines)), dice.randrange(1, len(lines))
    words = lines[i].split()
    match dice.randrange(6):
        case 0:
            del lines[i]
        case 1:
            lines.insert(i, lines[j])
        case 2:
            lines[i], lines[j] = lines[j], lines[i]
        case 3 if words:
            del words[dice.randrange(len(words))]
            lines[i] = " ".join(words)
        case 4 if words:
            k = dice.randrange(len(words))
            words[k] = words[k][1:] if words[k][0] == "~" else f"~{words[k]}" if words[k][0] == "x" else f"-{words[k]}"
            lines[i] = " ".join(words)
        case _:
            return changed_number(text, dice)
    return "\n".join(lines)


@pytest.mark.parametrize("name", ["instance.json", "plans.json", "1.opb", "1.log"])
def test_no_change_gets_another_optimum_accepted(certificate, copy, name, report):
    """Hashes are made anew after each change, so that they are no help."""
    dice, count, fate = random.Random(name), draws(8, 200), Counter[str]()
    original = (certificate / name).read_text()
    truth = api.check_certificate(certificate)
    formula = translation_of(truth.instance).formulas(truth.instance, truth.objective, truth.plan)[0]
    for _ in range(count):
        text = (changed_number if name.endswith("json") else changed_words)(original, dice)
        (copy / name).write_text(text)
        try:
            rehashed(copy, instance_hash=api.load(copy / "instance.json").hash)
            found = api.check_certificate(copy)
        except InvalidInput:
            fate["cannot be read"] += 1
            continue
        if found.wrong:
            fate["refused"] += 1
        else:
            fate["accepted with the same optimum"] += 1
            assert found.sort_key == api.solve(found.instance, "brute-force", objective=found.objective).sort_key
        if name == "1.log":
            assert proved((certificate / "1.opb").read_text(), text) in (None, minimum(formula)), text
    report(f"{certificate.name}: {count} changes of {name}", [f"{n:5}  {how}" for how, n in sorted(fate.items())])
    assert fate["refused"] + fate["cannot be read"] > 0


def proved(formula: str, log: str) -> int | None:
    """What the checker alone says of a formula and a log; None where it refuses."""
    try:
        return checker.check(formula, log)
    except checker.Wrong:
        return None


def test_a_plan_that_is_not_optimal_is_not_certified(tmp_path):
    instance = hard("workers")
    waits = instance.plan_type(workers=[0] * len(instance.waiting), ps=[0] * len(instance.waiting))
    with pytest.raises(SolverError, match="the plan is not optimal"):
        api.certify(instance, tmp_path / "new", plan=waits, proof="logic")
    assert list(tmp_path.iterdir()) == []


def test_the_folder_must_be_new_and_is_made_whole(tmp_path, monkeypatch):
    instance = hard("workers")
    (tmp_path / "there").mkdir()
    with pytest.raises(InvalidInput, match="exists already; name a new folder"):
        api.certify(instance, tmp_path / "there")
    with pytest.raises(InvalidInput, match="unknown folder"):
        api.certify(instance, tmp_path / "no" / "new")
    monkeypatch.setattr(engine, "log_of", lambda formula, seconds: "pseudo-Boolean proof version 1.1\nc 1\n")
    with pytest.raises(BackendError, match="exact logged an invalid proof"):
        api.certify(instance, tmp_path / "new", proof="logic")
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


def test_a_proof_that_takes_too_long_to_write_out_says_so(tmp_path, monkeypatch):
    instance, plan = hard("workers"), mlsched.solve(hard("workers"), "cp-sat").plan
    log = engine.log_of(translation_of(instance).formulas(instance, "total_jct", plan)[0].text(), None)
    monkeypatch.setattr(engine, "log_of", lambda formula, seconds: log)
    (formula,) = translation_of(instance).formulas(instance, "total_jct", plan)
    with pytest.raises(BackendError, match=r"exact found a proof, but not all .* in 1e-09 s; give more time"):
        by_formulas.write_proof(tmp_path, 1, formula, 1e-9)
    assert list(tmp_path.iterdir()) == []


def test_a_certificate_that_fails_its_own_check_is_not_kept(tmp_path, monkeypatch):
    instance = hard("quality")
    monkeypatch.setattr(bundle, "wrong_files", lambda folder, manifest: ["something"])
    with pytest.raises(MlschedError, match="did not pass its own check: something"):
        api.certify(instance, tmp_path / "new", proof="logic")
    assert list(tmp_path.iterdir()) == []


def test_a_question_without_a_translation_is_refused_before_any_work(tmp_path):
    asked = horizon("poisson-6")
    with pytest.raises(InvalidInput, match=r"a workers\.horizon cannot be certified; .*workers\.instance can"):
        api.certify(asked, tmp_path / "new", proof="logic")
