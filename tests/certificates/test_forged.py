"""Folders that a stranger made: each is refused in a line, and nothing that lies in them is run or read without end."""

from __future__ import annotations

import hashlib
import json
import random
import re
import shutil
from collections import Counter
from pathlib import Path

import forgery
import pytest
from certificate_examples import drawn, needs_exact
from draws import draws

from mlsched import api
from mlsched.certificates import checker, received
from mlsched.certificates.prices.statement import statements
from mlsched.cli.main import run
from mlsched.core.errors import InvalidFile, InvalidInput

pytestmark = needs_exact
GIGABYTE = 10**9


@pytest.fixture(scope="session")
def genuine(tmp_path_factory):
    """A certificate of two formulas."""
    folder = tmp_path_factory.mktemp("genuine") / "proof"
    api.certify(list(drawn("preemption", 8))[-1], folder, proof="logic")
    return folder


@pytest.fixture
def forged(genuine, tmp_path):
    return shutil.copytree(genuine, tmp_path / "proof")


def rehash(folder, name: str) -> None:
    """Make the manifest say what a file is."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["sha256"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    path.write_text(json.dumps(manifest))


@pytest.fixture
def refusal(forged, capsys):
    """A function: the one line in which the command refuses the folder, with which status."""

    def said(status: int = 1) -> str:
        assert run(["check", str(forged)]) == status
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 1
        assert len(lines[0]) <= len("mlsched: ") + 300
        return lines[0]

    return said


def sparse(path, size: int) -> None:
    """A file of that many zero bytes, which takes no room on the disk."""
    with path.open("r+b") as stream:
        stream.truncate(size)


def test_the_checkers_that_are_shipped_are_on_the_list_of_released_ones():
    """Where one has changed, add its hash to the list."""
    texts = [Path(checker.__file__).read_text()]
    texts += [statement.checker() for statement in statements().values()]
    assert {hashlib.sha256(text.encode()).hexdigest() for text in texts} <= received.RELEASED


def test_another_checker_is_refused_whatever_it_prints(forged, refusal):
    (forged / "checker.py").write_text('print("proved: the minimum is 0")\n')
    rehash(forged, "checker.py")
    assert re.search(r"checker\.py is none that mlsched released: do not run it; .*python -I -m", refusal())


def test_a_genuine_checker_with_a_line_more_is_refused(forged, refusal):
    with (forged / "checker.py").open("a", encoding="utf-8") as stream:
        stream.write("check = lambda *_: 0\n")
    rehash(forged, "checker.py")
    assert "checker.py is none that mlsched released" in refusal()


@pytest.mark.parametrize("name", ["re.py", "pathlib.so", "README", "3.log", "\x1b[2J", "re"])
def test_what_the_manifest_does_not_list_is_refused(forged, refusal, name):
    if name == "re":
        (forged / name).mkdir()
        (forged / name / "__init__.py").write_text("")
    else:
        (forged / name).write_text("")
    assert "not in the manifest; beside checker.py, it could be run" in refusal()


def test_a_stranger_that_the_manifest_lists_is_refused_too(forged, refusal):
    (forged / "re.py").write_text("")
    rehash(forged, "re.py")
    assert "re.py: not in the manifest" in refusal()


def test_of_many_strangers_a_few_are_named(forged, refusal):
    for k in range(40):
        (forged / f"stranger-{k:02}").write_text("")
    assert "stranger-00, stranger-01, stranger-02 and 37 more: not in the manifest" in refusal()


def test_a_link_is_no_file_of_a_certificate(forged, genuine, refusal):
    (forged / "checker.py").unlink()
    (forged / "checker.py").symlink_to(genuine / "checker.py")
    assert "checker.py is no regular file; a certificate has no links" in refusal()


@pytest.mark.parametrize("name", ["checker.py", "manifest.json", "instance.json", "plans.json", "1.opb", "1.log"])
def test_what_is_too_large_is_not_read(forged, refusal, name):
    sparse(forged / name, 3 * GIGABYTE)
    assert re.search(rf"{re.escape(name)}: has 3000000000 bytes, expected at most \d+", refusal(2))


def change(folder, **fields) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"proofs": [{}] * 101}, "field 'proofs': has 101, expected at most 100"),
        ({"proofs": [{}] * 2_500_000}, r"manifest.json: has \d+ bytes, expected at most"),
        ({"problem": "x" * 10**5}, "field 'problem': has 100000, expected at most 100 characters"),
        ({"objectives": ["x" * 10**5]}, "field 'objectives': expected names of at most 100 characters"),
        ({"problem": "x" * 100}, "unknown problem 'x+'; there are"),
        ({"objectives": ["x" * 100]}, "unknown objective 'x+' of preemption; there are"),
        ({"values": True}, "field 'values': expected type list"),
        ({"x" * 10**5: 1}, "field 'x+ ... x+': is unknown"),
        ({"kind": "x" * 10**5}, "kind: "),
        ({"version": 10**400}, "version: "),
    ],
)
def test_a_manifest_is_bounded_and_so_is_what_is_said_of_it(forged, refusal, fields, said):
    change(forged, **fields)
    assert re.search(said, refusal(2))


def test_a_manifest_that_is_no_object_is_refused(forged, refusal):
    for text in (
        "[]",
        "3",
        "[" * 10**5,
        '{"kind": ' * 10**4,
        "\udcff".encode("utf-8", "surrogatepass").decode("latin-1"),
    ):
        (forged / "manifest.json").write_text(text, encoding="latin-1")
        with pytest.raises(InvalidFile):
            api.check_certificate(forged)
        assert "manifest.json" in refusal(2)


def test_no_forgery_is_accepted_unless_what_it_claims_is_true(genuine, tmp_path, report):
    """A small slice of `measurements/forged.py`. Too large files are a test of their own, above."""
    fate = Counter[str]()
    folders = [genuine, *(tmp_path / problem for problem in ("preemption", "placement", "taskgraph"))]
    for folder in folders[1:]:
        api.certify(list(drawn(folder.name, 8))[-1], folder, proof="dual")
    for number in range(draws(90, 1500)):
        folder, dice = tmp_path / str(number), random.Random(number)
        forgery.forge(folders, folder, dice)
        try:
            found = api.check_certificate(folder)
        except InvalidInput:
            fate["cannot be read"] += 1
        else:
            fate[
                "refused" if found.wrong else "accepted with the optimum" if found.evidence else "accepted: a gap"
            ] += 1
            if not found.wrong:
                best = api.solve(found.instance, "brute-force", objective=found.objective).sort_key
                assert found.sort_key == best or found.evidence is None
                sign = 1 if found.instance.objective(found.objective).sense == "min" else -1
                assert sign * found.sort_bound <= sign * best <= sign * found.sort_key
        shutil.rmtree(folder)
    report("forged certificates", [f"{n:5}  {how}" for how, n in sorted(fate.items())])
    assert fate["refused"] + fate["cannot be read"] > fate["accepted with the optimum"]


def test_a_formula_of_a_stranger_is_not_printed_raw(forged, capsys):
    text = (forged / "1.opb").read_text()
    (forged / "1.opb").write_text(text.replace("* ", "* \x1b[2J\u2028proved ", 1), encoding="utf-8")
    rehash(forged, "1.opb")
    assert run(["check", str(forged)]) == 1
    shown = capsys.readouterr()
    assert "is not the formula of this instance" in shown.out
    assert all(line.isprintable() for line in [*shown.out.splitlines(), *shown.err.splitlines()])
