"""The checker: what each rule allows, what it refuses, and that it stands alone."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from mlsched.certificates import checker
from mlsched.certificates.checker import HEADER, Wrong, check
from mlsched.certificates.elaborate import elaborated
from mlsched.core.deadline import Deadline, OutOfTime

SOURCE = Path(checker.__file__)
#: At least two of three, as few as possible; x3 is dear. The minimum is 3.
FORMULA = """* a comment
min: +1 x1 +2 x2 +5 x3 ;
* the constraints
+1 x1 +1 x2 +1 x3 >= 2 ;
"""


def proof(*lines: str) -> str:
    return "\n".join([HEADER, *lines]) + "\n"


def refused(fragment: str, *lines: str, formula: str = FORMULA) -> None:
    with pytest.raises(Wrong) as caught:
        check(formula, proof(*lines))
    assert fragment in str(caught.value)


def test_it_is_short_and_needs_the_standard_library_only():
    text = SOURCE.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 200
    names = {name.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import) for name in node.names}
    names |= {str(node.module) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names
    assert "float" not in text


def test_it_runs_without_mlsched(tmp_path):
    alone = tmp_path / "checker.py"
    alone.write_bytes(SOURCE.read_bytes())
    nothing = "+1 x1 >= 2 ;\n"
    files = {"f.opb": FORMULA, "none.opb": nothing, "good.log": proof(*GOOD), "bad.log": proof("c 1")}
    for name, text in {**files, "none.log": proof("l 1", "c 1")}.items():
        (tmp_path / name).write_text(text)
    call = [sys.executable, "-I", str(alone)]
    good, bad, none = (
        subprocess.run([*call, *(str(tmp_path / name) for name in names)], capture_output=True, text=True, check=False)
        for names in (("f.opb", "good.log"), ("f.opb", "bad.log"), ("none.opb", "none.log"))
    )
    assert (none.returncode, none.stdout) == (0, "proved: the formula has no solution\n")
    assert (good.returncode, good.stdout) == (0, "proved: the minimum is 3\n")
    assert (bad.returncode, bad.stderr) == (1, "not proved: proof, line 2: there is no constraint 1\n")


#: x3 >= 1 costs 5, so a better solution has x3 = 0; then x1 = x2 = 1 costs 3.
GOOD = [
    "* comments may stand anywhere",
    "l 1",
    "soli x1 x2 ~x3",  # 2: x1 + 2 x2 + 5 x3 <= 2, that is ~x1 + 2 ~x2 + 5 ~x3 >= 6
    "rup +1 ~x3 >= 1 ; ~ 2",  # 3
    "pol 1 3 + 2 *",  # 4: 2 x1 + 2 x2 >= 4
    "pol 2 4 + x3 5 * +",  # 5: x1 >= 2
    "c 5",
]


def test_a_proof_by_every_rule():
    assert check(FORMULA, proof(*GOOD)) == 3
    unnamed = [line.replace(" ~ 2", "") for line in GOOD]
    assert check(FORMULA, proof(*unnamed)) == 3


def test_a_formula_without_solution_and_one_without_constraints():
    nothing = "+1 x1 >= 1 ;\n+1 ~x1 >= 1 ;\n"
    assert check(nothing, proof("l 1", "l 2", "pol 1 2 +", "c 3")) is None
    assert check("min: +3 x1 -2 x2 ;\n", proof("soli ~x1 x2", "c 1")) == -2


@pytest.mark.parametrize(
    ("fragment", "lines"),
    [
        ("proof: has no end", []),
        ("line 2: there is no rule 'a'", ["a 1"]),
        ("line 2: there is no constraint 2", ["l 2"]),
        ("line 2: there is no constraint 0", ["l 0"]),
        ("line 2: its words do not fit together", ["l"]),
        ("line 3: there is no constraint 2", ["l 1", "pol 2"]),
        ("line 3: its words do not fit together", ["l 1", "pol 1 +"]),
        ("line 3: its words do not fit together", ["l 1", "pol 1 1"]),
        ("line 3: *: needs a positive integer", ["l 1", "pol 1 -1 *"]),
        ("line 3: d: needs a positive integer", ["l 1", "pol 1 0 d"]),
        ("line 3: *: needs a positive integer", ["l 1", "pol 1 x1 + *"]),
        ("line 4: d: needs a positive integer", ["l 1", "l 1", "pol 1 2 + d"]),
        ("line 3: 'y1' is no integer", ["l 1", "pol y1"]),
        ("line 3: 'x0' is no literal", ["l 1", "pol 1 x0 +"]),
        ("line 3: does not follow by unit propagation", ["l 1", "rup +1 x1 >= 1 ; ~ 1"]),
        ("line 3: does not follow by unit propagation", ["l 1", "rup +1 x1 +1 x2 >= 1 ; 1"]),
        ("line 3: x1 occurs twice", ["l 1", "rup +1 x1 +1 x1 >= 1 ;"]),
        ("line 2: is no solution: constraint 1", ["soli x1 ~x2 ~x3"]),
        ("line 2: the formula must have an objective, and each", ["soli x1 x2"]),
        ("line 2: the formula must have an objective, and each", ["soli x1 x2 ~x3 ~x1"]),
        ("line 3: is not better than the solution before: 3 for 3", ["soli x1 x2 ~x3", "soli x1 x2 ~x3"]),
        ("line 3: constraint 1 can hold", ["l 1", "c 1"]),
        ("line 4: constraint 2 can hold", ["l 1", "pol 1 x3 +", "c 2"]),
        ("line 4: constraint 2 can hold", ["l 1", "pol 1 ~x3 +", "c 2"]),
    ],
)
def test_what_is_wrong_is_said(fragment, lines):
    refused(fragment, *lines)


def test_nothing_comes_after_the_end():
    refused("line 4: comes after the end", "l 1", "c 1", "l 1", formula="+1 x1 >= 2 ;\n")


@pytest.mark.parametrize(
    ("fragment", "formula"),
    [
        ("formula, line 1: must end with ' ;'", "min: +1 x1\n"),
        ("formula, line 2: an objective must come once", "+1 x1 >= 1 ;\nmin: +1 x1 ;\n"),
        ("formula, line 2: an objective must come once", "min: +1 x1 ;\nmin: +1 x2 ;\n"),
        ("formula, line 1: a constraint must end with '>= INTEGER ;'", "+1 x1 <= 1 ;\n"),
        ("formula, line 1: its words do not fit together", "+1 x1 +1 >= 1 ;\n"),
        ("formula, line 1: '1.5' is no integer", "1.5 x1 >= 1 ;\n"),
    ],
)
def test_a_formula_that_is_none_is_refused(fragment, formula):
    refused(fragment, formula=formula)


def test_a_proof_of_another_format_is_refused():
    with pytest.raises(Wrong, match="proof, line 1: must be"):
        check(FORMULA, "pseudo-Boolean proof version 2.0\n")


@pytest.mark.parametrize(
    ("line", "terms", "bound"),
    [
        ("pol 1 2 *", {1: 6, 2: -4}, 2),
        ("pol 1 2 d", {1: 2, 2: -1}, 1),  # 3 x1 + 2 ~x2 >= 3 becomes 2 x1 + ~x2 >= 2
        ("pol 1 s", {1: 3, 2: -2}, 1),
        ("pol 1 ~x1 + s", {1: 2, 2: -2}, 0),  # 2 x1 + 2 ~x2 >= 2
        ("pol 1 x2 2 * +", {1: 3}, 1),
        ("pol 1 ~x2 3 * + 4 d", {1: 1, 2: -2}, -1),  # 3 x1 + 5 ~x2 >= 3 becomes x1 + 2 ~x2 >= 1
    ],
)
def test_arithmetic(line, terms, bound):
    """All on 3 x1 - 2 x2 >= 1, which is 3 x1 + 2 ~x2 >= 3."""
    read = checker.Proof("+3 x1 -2 x2 >= 1 ;\n")
    for words in (["l", "1"], line.split()):
        read.step(words)
    assert read.derived[-1] == (terms, bound)


def test_sums_hold_the_variables_of_both_and_large_coefficients_are_cut():
    read = checker.Proof("+5 x1 +1 x2 >= 2 ;\n+1 x3 -4 x4 >= -3 ;\n")
    checker.lines(["l 1", "l 2", "pol 1 2 +", "pol 1 s", "pol 2 s"], "proof", read.step)
    assert read.derived[2:] == [({1: 5, 2: 1, 3: 1, 4: -4}, -1), ({1: 2, 2: 1}, 2), ({3: 1, 4: -1}, 0)]


def test_a_solution_gives_every_variable_a_value():
    refused("the formula must have an objective, and each", "soli x1", formula="+1 x1 >= 1 ;\n")
    two = "min: +1 x1 ;\n+1 x2 >= 1 ;\n"
    refused("is no solution: constraint 1 of the formula does not hold", "soli ~x1", formula=two)
    assert check(two, proof("soli ~x1 x2", "c 1")) == 0


def test_a_clause_stays_a_clause():
    read = checker.Proof("+1 x1 -1 x2 >= 0 ;\n")  # x1 or ~x2
    for words in (["l", "1"], ["pol", "1", "3", "*", "s"], ["pol", "2", "3", "d"], ["pol", "1", "s"]):
        read.step(words)
    assert read.derived == [({1: 1, 2: -1}, 0), ({1: 3, 2: -3}, 0), ({1: 1, 2: -1}, 0), ({1: 1, 2: -1}, 0)]


def test_a_better_solution_is_better_by_one_and_constants_count():
    """The objective 4 ~x1 - x2 is 4 - 4 x1 - x2."""
    read = checker.Proof("min: +4 ~x1 -1 x2 ;\n+1 x1 +1 x2 >= 1 ;\n")
    read.step(["soli", "~x1", "x2"])
    assert (read.minimum, read.derived) == (3, [({1: 4, 2: 1}, 2)])
    read.step(["soli", "x1", "~x2"])
    assert (read.minimum, read.derived[-1]) == (0, ({1: 4, 2: 1}, 5))


def test_propagation_negates_bounds_rightly():
    formula = (
        "+1 x1 +1 x2 +1 x3 >= 2 ;\n+1 x1 +1 x2 +1 ~x3 >= 2 ;\n"  # so x1 + x2 >= 1 and, halved, both are 1 or x3 is
    )
    assert (
        check(
            formula + "-1 x1 -1 x2 >= 0 ;\n", proof("l 1", "l 2", "l 3", "rup +1 x1 +1 x2 >= 1 ;", "pol 3 4 +", "c 5")
        )
        is None
    )
    refused("line 4: does not follow", "l 1", "l 2", "rup +1 x1 +1 x2 +1 x3 >= 3 ; ~ 1 2", formula=formula)
    refused("line 4: does not follow", "l 1", "l 2", "rup +1 x1 +1 x2 +1 x3 >= 3 ;", formula=formula)


def test_named_constraints_are_taken_once_and_in_their_order():
    formula = "+1 ~x1 +1 x2 >= 1 ;\n+1 ~x2 +1 x3 >= 1 ;\n"
    good = ("l 1", "l 2", "rup +1 ~x1 +1 x3 >= 1 ; ~ 1 2")
    checker.lines(good, "proof", checker.Proof(formula).step)
    refused("line 4: does not follow", *good[:2], "rup +1 ~x1 +1 x3 >= 1 ; 2 1 ~", formula=formula)
    refused("line 4: does not follow", *good[:2], "rup +1 ~x1 >= 1 ;", formula=formula)


def test_propagation_goes_on_as_long_as_something_is_fixed():
    """What the second and third constraint fix contradicts the first, which comes before them."""
    formula = "+1 ~x2 +1 ~x3 >= 1 ;\n+1 ~x1 +1 x2 >= 1 ;\n+1 ~x1 +1 x3 >= 1 ;\n"
    read = checker.Proof(formula)
    checker.lines(["l 1", "l 2", "l 3", "rup +1 ~x1 >= 1 ;"], "proof", read.step)
    assert read.derived[-1] == ({1: -1}, 0)
    refused("does not follow", "l 1", "l 2", "l 3", "rup +1 ~x1 >= 1 ; ~ 1 2 3", formula=formula)


@pytest.mark.parametrize(("one", "other"), [("x1", "~x1"), ("~x1", "x1")])
def test_what_is_fixed_is_not_fixed_the_other_way(one, other):
    """The first constraint fixes x1; the second, though its coefficient is large, says nothing more of it."""
    formula = f"+1 {other} >= 1 ;\n+2 {one} +1 x2 +1 x3 >= 1 ;\n+1 {other} +1 x4 >= 1 ;\n"
    loaded = ("l 1", "l 2", "l 3")
    refused("line 5: does not follow", *loaded, "rup +1 x4 >= 1 ; ~ 1 2 3", formula=formula)


def test_what_can_just_hold_is_no_contradiction():
    exactly = "+1 x1 +1 x2 >= 2 ;\n"
    refused("constraint 1 can hold", "l 1", "c 1", formula=exactly)
    refused("does not follow", "l 1", "rup >= 1 ; 1", formula=exactly)


def test_a_constraint_that_always_holds_becomes_nothing():
    read = checker.Proof("+3 x1 -2 x2 >= -2 ;\n")
    for words in (["l", "1"], ["pol", "1", "s"], ["pol", "1", "5", "d"]):
        read.step(words)
    assert read.derived[1:] == [({}, 0), ({}, 0)]


def test_elaboration_keeps_what_is_needed_and_names_it():
    padded = [
        "l 1",
        "rup +1 x1 +1 x2 >= 1 ;",
        "soli x1 ~x2 x3",
        "pol 2 7 *",
        "soli x1 x2 ~x3",
        "rup +1 ~x3 >= 1 ;",
        "pol 1 6 + 2 *",
        "pol 5 7 + x3 5 * +",
        "c 8",
    ]
    short = elaborated(FORMULA, proof(*padded))
    assert check(FORMULA, short) == 3
    assert short == proof(
        "l 1", "soli x1 x2 ~x3", "rup +1 ~x3 >= 1 ; ~ 2", "pol 1 3 + 2 *", "pol 2 4 + x3 5 * +", "c 5"
    )


def test_elaboration_keeps_to_its_deadline():
    with pytest.raises(OutOfTime):
        elaborated(FORMULA, proof("l 1", "c 1"), Deadline(0.0))


def test_elaboration_does_not_hide_a_step_that_does_not_follow():
    with pytest.raises(Wrong, match="constraint 2 does not follow"):
        elaborated("+1 x1 +1 x2 >= 1 ;\n", proof("l 1", "rup >= 1 ;", "c 2"))
