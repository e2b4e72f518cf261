"""The claims of each problem say what the judge says: what is proved is the optimum, and nothing beyond it ever is."""

from __future__ import annotations

import contextlib
import inspect
import json
import random
import re
import subprocess
import sys
from collections import Counter

import pytest
from certificate_examples import drawn, with_cuts
from draws import draws
from price_trees import changed

from mlsched import api
from mlsched.certificates.by_prices import reasons_unproved
from mlsched.certificates.prices.statement import statements
from mlsched.core.deadline import Deadline
from mlsched.core.registry import registry
from mlsched.solvers import prices
from mlsched.solvers.prices import search

PROBLEMS = sorted(kind.partition(".")[0] for kind in statements())
#: Those whose best plans prices reach; see `test_taskgraph_prices.py` for the others.
REACHED = [p for p in PROBLEMS if statements()[f"{p}.instance"].reaches]
ASKED = [(p, goal.name) for p in REACHED for goal in registry().problem(p).instance_type.objectives]
ASKED = [(p, goal) for p, goal in ASKED if goal in statements()[f"{p}.instance"].module.CLAIMS]


def proves(instance, objective, bound, trees) -> bool:
    return not list(reasons_unproved(instance, objective, bound, trees, Deadline()))


@pytest.mark.parametrize(("problem", "objective"), ASKED)
def test_the_optimum_is_proved_and_nothing_better_is(problem, objective, report):
    """The optimum is brute force's. A bound beyond it is refused for the tree of the optimum and for changed ones."""
    fate, dice = Counter[str](), random.Random(objective)
    for instance in drawn(problem, draws(8, 300)):
        goal = instance.objective(objective)
        best = api.solve(instance, "brute-force", objective=objective).sort_key
        beyond = best + 1 if goal.sense == "min" else best - 1
        trees, bound = prices.trees(instance, objective, best, Deadline())
        assert bound == best
        assert proves(instance, objective, best, trees)
        assert not proves(instance, objective, beyond, trees)
        with contextlib.suppress(prices.Refuted):
            assert prices.trees(instance, objective, beyond, Deadline())[1] != beyond
        fate["one leaf" if all(len(tree) == 1 for tree in trees) else "a tree"] += 1
        for _ in range(5):
            other = [changed(tree, dice) for tree in trees]
            fate["changed and accepted, true"] += proves(instance, objective, best, other)
            assert not proves(instance, objective, beyond, other)
    report(f"{problem} {objective} by prices", [f"{n:5}  {how}" for how, n in sorted(fate.items())])


def test_cuts_prove_no_more_than_the_optimum(monkeypatch, report):
    """Where the prover may not go through choices, it fixes and cuts; changed, these prove nothing that is false."""
    monkeypatch.setattr(search, "STEPS", 0)
    fate, dice = Counter[str](), random.Random(7)
    for instance in with_cuts():
        best = api.solve(instance, "brute-force", objective="total_score").sort_key
        trees, bound = prices.trees(instance, "total_score", best, Deadline())
        assert bound == best
        assert any(len(node) == 2 and node[1] for node in trees[0])
        assert proves(instance, "total_score", best, trees)
        assert not proves(instance, "total_score", best + 1, trees)
        for _ in range(draws(40, 4000)):
            other = [changed(tree, dice) for tree in trees]
            good = proves(instance, "total_score", best, other)
            fate["changed, accepted, true" if good else "changed, refused, true"] += 1
            assert not proves(instance, "total_score", best + 1, other)
    report("preemption by fixings and cuts", [f"{n:5}  {how}" for how, n in sorted(fate.items())])


@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_checker_alone_says_the_same(problem, tmp_path):
    """`checker.py` needs nothing of mlsched, nor the site packages."""
    instance = list(drawn(problem, 3))[-1]
    made = api.certify(instance, tmp_path / "proof", proof="dual")
    call = [sys.executable, "-I", "-S", str(tmp_path / "proof" / "checker.py"), str(tmp_path / "proof")]
    found = subprocess.run(call, capture_output=True, text=True, check=True)
    bound = json.loads((tmp_path / "proof" / "manifest.json").read_text())["proofs"][0]["bound"]
    assert bound == made.sort_bound
    assert found.stdout.startswith("proved: no plan of this instance has a better ")
    assert found.stdout.strip().endswith(f" than {bound}")
    manifest = (tmp_path / "proof" / "manifest.json").read_text()
    worse = made.sort_key + (1 if instance.objectives[0].sense == "min" else -1)
    (tmp_path / "proof" / "manifest.json").write_text(manifest.replace(f'"bound": {bound}', f'"bound": {worse}'))
    found = subprocess.run(call, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr[:11]) == (1, "not proved:")


def test_the_checker_alone_refuses_bounds_between_integers(tmp_path):
    """Where all costs are integers, prices that prove 97 prove nothing of 97.9, which a plan of 97 is below."""
    instance = next(drawn("workers", 1))
    best = api.certify(instance, tmp_path / "proof", objective="total_jct").sort_key
    manifest = json.loads((tmp_path / "proof" / "manifest.json").read_text())
    for bound, said in ((best, "proved: no plan"), (best + 0.5, "not proved: a number is no integer")):
        manifest["proofs"][0]["bound"] = bound
        (tmp_path / "proof" / "manifest.json").write_text(json.dumps(manifest))
        command = [sys.executable, "-I", str(tmp_path / "proof" / "checker.py"), str(tmp_path / "proof")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.stdout + done.stderr).startswith(said)


#: What mlsched would not read -> how the instance's text is changed, and what the checker says alone.
UNREADABLE = {
    "no number": (lambda text: text.replace('"reserved":', '"none": NaN, "reserved":'), "no integer: NaN"),
    "a float": (lambda text: text.replace('"cores":', '"none": 1e9, "cores":'), "no integer: 1e9"),
    "beyond floats": (lambda text: text.replace('"cores":', f'"none": {2**53 + 1}, "cores":'), "above 2^53"),
    "below 0": (lambda text: text.replace('"cores":', '"none": -1, "cores":'), "below 0"),
    "twice": (lambda text: text.replace('"cores":', '"cores": 5, "cores":'), "a field twice"),
    "unknown": (
        lambda text: text.replace('"cores":', '"none": 5, "cores":'),
        "a field that no quality.instance has: none",
    ),
    "another kind": (lambda text: text.replace('"quality.instance"', '"quality.horizon"'), "no quality.instance"),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_the_checker_alone_reads_what_mlsched_would_read(tmp_path, case):
    """With NaN among the costs, no choice is below any target; a loss below 0 is smaller than the least."""
    change, said = UNREADABLE[case]
    folder = tmp_path / "proof"
    api.certify(next(drawn("quality", 1)), folder, objective="worst_loss", proof="dual")
    text = (folder / "instance.json").read_text()
    data = json.loads(text) | {"reserved": 0}
    (folder / "instance.json").write_text(change(json.dumps(data)))
    command = [sys.executable, "-I", str(folder / "checker.py"), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr[:12]) == (1, "not proved: ")
    assert said in done.stderr


@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_statement_and_the_core_are_short(problem):
    """Readers are promised a page: lines of code, without docstrings, comments and empty lines."""
    statement = statements()[f"{problem}.instance"]
    assert code_lines(statement.sources()[0]) <= 80
    assert code_lines(text_of(statement.module)) <= 100
    assert sum(code_lines(text_of(module)) for module in statement.shared) <= 50


def text_of(module) -> str:
    """As it stands in the checker, where it imports nothing of mlsched."""
    return re.sub(r"(?m)^from mlsched.*\n", "", inspect.getsource(module))


def code_lines(source: str) -> int:
    import ast
    import io
    import tokenize

    words = set[int]()
    silent = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in silent:
            words |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node):
            words -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(words)
