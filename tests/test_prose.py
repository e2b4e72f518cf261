"""Docstrings and comments are plain English: no forbidden phrase, few weak words, names that are nouns."""

from __future__ import annotations

import ast

import pytest
from prose import ROOT, WEAK, Prose, allowed_counts, documented_parameters, packages, prose_of, python_files

from mlsched.certificates import checker
from mlsched.certificates.prices import command, core, documents
from mlsched.certificates.prices.statement import statements

#: Packages without a forbidden phrase, whose rates keep to the budget. In the other packages the counts of
#: `prose_counts.txt` may only fall, as the uses of `Any` in all packages; `python tests/prose.py --write` updates them.
FINISHED: tuple[str, ...] = (
    "mlsched/api",
    "mlsched/benchmark",
    "mlsched/certificates",
    "mlsched/cli",
    "mlsched/core",
    "mlsched/formulations",
    "mlsched/heuristics",
    "mlsched/instances",
    "mlsched/learned",
    "mlsched/simulation",
    "mlsched/solvers",
    "mlsched/testing",
    "plugins/mlsched_admission",
    "plugins/mlsched_papers",
    "plugins/mlsched_rounds",
    "plugins/mlsched_training",
)
#: Measure of a finished package -> least and greatest value.
BUDGET = {
    "sentences with two relative clauses, %": (0, 6),
    "sentences over 30 words, %": (0, 3),
    "docstrings of functions that open with a verb, %": (70, 100),
    "names that are bare participles, %": (0, 1.5),
    "mean name of a function, characters": (8.5, 100),
}


@pytest.mark.parametrize("package", packages())
def test_prose_keeps_to_its_budget(package: str) -> None:
    prose = prose_of([ROOT / package])
    allowed, counts = allowed_counts()[package], prose.counts()
    if package in FINISHED:
        counts = {"any": counts["any"]}
        assert not prose.errors, "\n".join(prose.errors)
        over = [f"{rule}: {prose.rate(rule):.0f}" for rule, (_, most) in WEAK.items() if prose.rate(rule) > most]
        assert not over, f"{package}, hits per 10,000 words: {over}"
        shares = prose.shares()
        missed = {name: shares[name] for name, (low, high) in BUDGET.items() if not low <= shares[name] <= high}
        assert not missed, f"{package}: {missed}"
    risen = {rule: (allowed[rule], n) for rule, n in counts.items() if n > allowed[rule]}
    assert not risen, f"{package}: hits rose (before, now): {risen}; see `python tests/prose.py {package}`"


def test_documented_parameters_exist() -> None:
    wrong = []
    for file in (*python_files(ROOT / "mlsched"), *python_files(ROOT / "plugins")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        # Fields of classes in the file: a function may take a group of parameters as one dataclass.
        fields = {
            node.target.id
            for node in ast.walk(tree)
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.args.kwarg is None:
                arguments = {argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg)}
                unknown = documented_parameters(ast.get_docstring(node) or "") - arguments - fields
                wrong += [f"{file.relative_to(ROOT)}: {node.name}: {name}" for name in sorted(unknown)]
    assert not wrong


def test_texts_that_certificates_contain_are_left_out() -> None:
    modules = {checker, core, documents, command}
    for statement in statements().values():
        modules |= {statement.module, *statement.shared}
    assert {str(module.__file__) for module in modules}.isdisjoint(map(str, python_files(ROOT / "mlsched")))


@pytest.mark.parametrize(
    "sentence",
    [
        "It is written that there is an end.",
        "This is no list of nodes.",
        "Only the first so many jobs are read.",
        "The table has a row a point.",
        "The plan is judged anew.",
        "The name is said in a line.",
        "Evidence that nobody believed.",
        "This is what comes out of it.",
        "The search goes on from there.",
        "Each plan is held against the bound.",
        "The victim gives way to the job.",
    ],
)
def test_a_forbidden_phrase_is_reported(sentence: str) -> None:
    prose = Prose()
    prose.read(sentence, "here.py")
    assert [error.partition(":")[0] for error in prose.errors] == ["here.py"]


def test_plain_sentences_have_no_hit() -> None:
    prose = Prose()
    prose.read("Return the bound. It is not an optimum. See `what there is` and Fig. 3 for the proof.")
    assert (prose.sentences, prose.errors, prose.weak.total(), prose.relatives) == (3, [], 0, 0)


def test_docstrings_comments_and_names_of_a_file_are_read(tmp_path) -> None:
    file = tmp_path / "example.py"
    file.write_text(
        '"""A module that tells what it does."""\n'
        "# The first line of a comment that says\n# what follows.\n"
        'def found(asked):\n    """Return the value.\n\n    >>> what = 1\n    """\n    return asked  # nothing\n'
        'def second():\n    """Of two values the larger."""\n',
        encoding="utf-8",
    )
    prose = prose_of([file])
    assert prose.weak == {"what": 2, "say, tell": 2}
    assert (prose.docstrings, prose.imperative, prose.relatives) == (2, 1, 2)
    assert (prose.participles, prose.names, prose.functions) == ({"found": 1, "asked": 1}, 3, 2)
