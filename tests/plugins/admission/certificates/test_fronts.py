"""Fronts proved whole by one formula: it has a solution exactly where a point is missing; no tampering is accepted."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from collections import Counter

import numpy as np
import pytest
from admission_examples import incidents, kueue_questions, needs_incidents, needs_kueue, one_node, plan_of
from certificate_examples import drawn, needs_exact
from draws import draws
from hypothesis import given, settings
from ortools.sat.python import cp_model

import mlsched
import mlsched_admission
from mlsched import api
from mlsched.certificates.cover import points_of, uncovered
from mlsched.certificates.translation import translation_of
from mlsched.core.errors import BackendError, InvalidInput, SolverError
from mlsched.instances import strategies

OBJECTIVES = {"admission": ("victims", "lost", "moves"), "preemption": ("total_score", "max_grace_period")}
OBJECTIVES |= {
    "quality": ("total_loss_reduction", "worst_loss"),
    "rounds": ("goodput_cost", "total_steps", "worst_ratio"),
}
#: Seeds by default: some of fronts of several points, in one of which points are next to one another.
FEW = {"preemption": range(4, 12), "quality": range(6, 14), "rounds": (0, 1, 4, 8, 9)}


def formula_of(instance, objectives, plans, first=()):
    points, why = points_of(instance, objectives, first, [instance.evaluate(plan) for plan in plans])
    assert why == ""
    return uncovered(translation_of(instance).fronts, instance, points)


def solvable(formula) -> bool:
    """Whether the formula has a solution, by CP-SAT, which knows nothing of its maker."""
    model = cp_model.CpModel()
    x = [model.new_bool_var("") for _ in formula.meanings]
    for constraint in formula.constraints:
        model.add(sum(c * x[v - 1] for c, v in constraint.terms) >= constraint.degree)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    status = solver.solve(model)
    assert status in (cp_model.OPTIMAL, cp_model.INFEASIBLE)
    return status == cp_model.OPTIMAL


def check_formula(instance, objectives):
    """It has no solution with all points, and one without any of them; the number of points."""
    plans = list(mlsched.pareto(instance, objectives).plans)
    assert not solvable(formula_of(instance, objectives, plans)), instance.to_json()
    for k in range(len(plans) if len(plans) > 1 else 0):
        assert solvable(formula_of(instance, objectives, plans[:k] + plans[k + 1 :])), (k, instance.to_json())
    return len(plans)


@settings(max_examples=draws(9, 400))
@given(instance=strategies.admission())
def test_the_formula_of_an_admission_has_a_solution_exactly_where_a_point_is_missing(instance):
    check_formula(instance, OBJECTIVES["admission"])


@pytest.mark.parametrize("problem", ["preemption", "quality", "rounds"])
def test_the_formula_of_a_problem_has_a_solution_exactly_where_a_point_is_missing(problem):
    drawn_ones = (mlsched.generate(problem, "small", seed=seed) for seed in draws(FEW[problem], range(150)))
    sizes = Counter(check_formula(one, OBJECTIVES[problem]) for one in drawn_ones)
    assert sum(many for size, many in sizes.items() if size > 1) >= draws(2, 15), sizes


@settings(max_examples=draws(9, 400))
@given(instance=strategies.admission())
def test_what_is_compared_first_is_proved_too(instance):
    """A front with the least of something first; where the plans have more of it, the formula finds one with less."""
    best = api.solve(instance, "cp-sat", objective="lost")
    values = instance.evaluate(best.plan)
    assert not solvable(formula_of(instance, ["lost"], [best.plan]))
    least = api.solve(instance, "cp-sat", objective="victims")
    is_least = least.sort_key == values["victims"]
    assert solvable(formula_of(instance, ["lost"], [best.plan], ["victims"])) <= (not is_least)
    assert solvable(formula_of(instance, ["grace"], [best.plan], ["victims"])) or is_least


@needs_exact
@needs_incidents
def test_fronts_of_incidents_are_certified(tmp_path):
    chosen = {"kueue-5243, the 24 may move", "spur-888", "k8s-128307", "volcano-3948"}
    for number, (name, instance, _) in enumerate(incidents()):
        if name in draws(chosen, {name for name, _, _ in incidents()}):
            found = mlsched_admission.judge(
                api.save(instance, tmp_path / f"{number}.json") or tmp_path / f"{number}.json"
            )
            checked = mlsched_admission.certify_judgement(found, tmp_path / str(number))
            assert checked.evidence == "certified", name
            assert api.check_certificate(tmp_path / str(number)).wrong == ()


# --- folders ---------------------------------------------------------------------------------------------------------


def spread(lost=(10, 20, 25)):
    """Two of 2 GPUs lose 30 together, or one of 4 loses 90: two points of victims and lost."""
    return one_node(unit_lost=[*lost[:2], 90])


@pytest.fixture(scope="session")
def genuine(tmp_path_factory):
    """Certificates of fronts of the same shape, of two states."""
    if not importable():
        pytest.skip("needs exact: pip install 'mlsched[certify]'")
    place = tmp_path_factory.mktemp("fronts")
    for name, instance in (("own", spread()), ("other", spread((11, 20)))):
        plans = mlsched.pareto(instance, ["victims", "lost"]).plans
        assert len(plans) == 2
        checked = api.certify_front(instance, plans, place / name, objectives=["victims", "lost"])
        assert (checked.wrong, checked.evidence, len(checked.plans)) == ((), "certified", 2)
    return place


def importable() -> bool:
    import importlib.util

    return importlib.util.find_spec("exact") is not None


@pytest.fixture
def folder(genuine, tmp_path):
    return shutil.copytree(genuine / "own", tmp_path / "copy")


def changed(folder, plans=None, formula=None, log=None, **manifest) -> str:
    """Change a folder as a forger would, with the hashes that fit; the first thing that is wrong with it then."""
    if plans is not None:
        document = json.loads((folder / "plans.json").read_text())
        (folder / "plans.json").write_text(json.dumps({**document, "plans": [plan.to_json() for plan in plans]}))
    if formula is not None:
        (folder / "1.opb").write_text(formula)
    if log is not None:
        (folder / "1.log").write_text(log)
    path = folder / "manifest.json"
    said = {**json.loads(path.read_text()), **manifest}
    said["sha256"] = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in said["sha256"]}
    path.write_text(json.dumps(said))
    return api.check_certificate(folder).wrong[0]


def read(folder):
    checked = api.check_certificate(folder)
    return checked.instance, list(checked.plans), [list(row) for row in checked.sort_keys]


def test_a_point_that_is_removed_is_missed(folder):
    instance, plans, values = read(folder)
    said = changed(folder, plans=plans[:1], values=values[:1])
    assert said.startswith("1.opb is not the formula of this instance and plan")
    formula = formula_of(instance, ["victims", "lost"], plans[:1])
    assert changed(folder, formula=formula.text()).startswith("1.log does not prove 1.opb")
    with pytest.raises(SolverError, match="a plan exists that none of its 1 points covers"):
        api.certify_front(instance, plans[:1], folder.parent / "less", objectives=["victims", "lost"])
    assert not (folder.parent / "less").exists()


def test_a_solution_that_a_log_shows_proves_nothing(folder):
    """The formula of a front without a point has solutions: a log may show one, and end correctly."""
    from mlsched.certificates import engine
    from mlsched.certificates.elaborate import elaborated

    instance, plans, values = read(folder)
    text = formula_of(instance, ["victims", "lost"], plans[:1]).text()
    shown = elaborated(text, engine.log_of(text, None))
    said = changed(folder, plans=plans[:1], values=values[:1], formula=text, log=shown)
    assert said.startswith("1.log proves the minimum 0: the manifest says")
    (proof,) = json.loads((folder / "manifest.json").read_text())["proofs"]
    claim = "a plan that none of 1 points covers in victims, lost"
    said = changed(folder, proofs=[{**proof, "claim": claim, "minimum": 0}])
    assert said == "the proofs are of another claim: a plan exists that none of its 1 points covers"


def test_a_point_that_is_moved_is_no_front(folder):
    instance, plans, values = read(folder)
    assert "plan 1 has" in changed(folder, values=[[values[0][0], values[0][1] - 1], values[1]])
    assert "plan 1 has" in changed(folder, values=[[float(value) for value in row] for row in values])
    assert "plan 1 has" in changed(folder, values=[[*map(str, row)] for row in values])
    worse = plan_of(instance, evict=[0, 1, 2], start=[0], place=plans[0].place)
    row = instance.evaluate(worse)
    moved = [row["victims"], row["lost"]]
    said = changed(folder, plans=[worse, plans[1]], values=[moved, values[1]])
    assert said == "the plans are not a front: point 1 is no better than point 2 in any objective"
    said = changed(folder, plans=[*plans, plans[0]], values=[*values, values[0]])
    assert "is no better than point" in said
    infeasible = plan_of(instance, evict=[], start=[0], place=plans[0].place)
    assert changed(folder, plans=[infeasible, plans[1]]).startswith("the manifest has 3 points, plans.json 2")
    assert changed(folder, values=values).startswith("plan 1 is infeasible")


def test_a_bound_of_the_formula_that_is_changed_is_seen(folder):
    text = (folder / "1.opb").read_text()
    at = text.index("* lost is below")
    line = next(one for one in text[at:].splitlines() if ">=" in one)
    degree = int(line.split()[-2])
    for other in (degree - 1, degree + 1):
        weaker = line.replace(f">= {degree} ;", f">= {other} ;")
        assert changed(folder, formula=text.replace(line, weaker)).startswith("1.opb is not the formula")


def test_what_belongs_to_another_state_is_refused(folder, genuine):
    other = genuine / "other"
    formula, log = (other / "1.opb").read_text(), (other / "1.log").read_text()
    assert changed(folder, formula=formula, log=log).startswith("1.opb is not the formula of this instance and plan")
    shutil.copyfile(other / "instance.json", folder / "instance.json")
    assert changed(folder) == "instance.json is not the instance that the manifest names"
    instance = api.load(folder / "instance.json")
    assert changed(folder, instance_hash=instance.hash) == "plans.json answers another instance"


def test_other_objectives_than_those_that_were_proved_are_refused(folder):
    _, _, values = read(folder)
    assert "plan 1 has" in changed(folder, objectives=["lost", "victims"])
    swapped = [[lost, victims] for victims, lost in values]
    assert changed(folder, values=swapped).startswith("1.opb is not the formula")
    assert "points 1 and 2 differ in what is compared first" in changed(folder, first=["lost"], objectives=["victims"])
    for wrong, message in (
        ({"objectives": ["victims", "pain"]}, "pain"),
        ({"objectives": ["victims", "victims"], "first": []}, "expected one or more different names"),
        ({"objectives": [], "first": []}, "expected one or more"),
        ({"objectives": [["lost"]]}, "expected names"),
        ({"values": [[1, 2]] * 1001}, "at most 1000"),
        ({"proof": "dual"}, "cannot be certified"),
    ):
        with pytest.raises(InvalidInput, match=message):
            changed(shutil.copytree(folder, folder.parent / str(len(list(folder.parent.iterdir())))), **wrong)


def test_no_change_of_a_byte_is_accepted(folder):
    """Each of many changed files, with the hash that fits: refused, or still a proof of the same front."""
    rng, kept = random.Random(7), {path.name: path.read_bytes() for path in folder.iterdir()}
    outcomes: Counter[str] = Counter()
    for _ in range(draws(36, 3000)):
        name = rng.choice([name for name in kept if name not in ("manifest.json", "checker.py")])
        data = bytearray(kept[name])
        data[rng.randrange(len(data))] = rng.choice(b"0123456789 -+x;")
        (folder / name).write_bytes(data)
        try:
            outcomes["refused" if changed_any(folder) else "same"] += 1
        except InvalidInput:
            outcomes["unreadable"] += 1
        for other, content in kept.items():
            (folder / other).write_bytes(content)
    assert outcomes["refused"] >= draws(9, 900), outcomes


def changed_any(folder) -> bool:
    """Whether the folder is refused; where it is not, what it certifies is the front."""
    path = folder / "manifest.json"
    said = json.loads(path.read_text())
    said["sha256"] = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in said["sha256"]}
    path.write_text(json.dumps(said))
    found = api.check_certificate(folder)
    if not found.wrong:
        again = mlsched.pareto(found.instance, found.objectives)
        assert sorted(map(tuple, np.asarray(again.sort_keys).tolist())) == sorted(found.sort_keys)
    return bool(found.wrong)


def test_what_cannot_be_certified_is_refused_before_any_work(tmp_path, folder):
    instance, plans, _ = read(folder)
    asked = {"objectives": ["victims", "lost"]}
    with pytest.raises(InvalidInput, match="exists already"):
        api.certify_front(instance, plans, folder, **asked)
    with pytest.raises(InvalidInput, match="the front is empty"):
        api.certify_front(instance, [], tmp_path / "new", **asked)
    with pytest.raises(InvalidInput, match="these plans are not a front"):
        api.certify_front(instance, [*plans, *plans], tmp_path / "new", **asked)
    with pytest.raises(InvalidInput, match="plan 1 of the front is infeasible"):
        api.certify_front(instance, [plan_of(instance, start=[0])], tmp_path / "new", **asked)
    graph = next(drawn("taskgraph", 1))
    with pytest.raises(InvalidInput, match=r"traffic of a taskgraph\.instance cannot be certified by prices"):
        api.certify_front(
            graph, [api.solve(graph, "brute-force").plan], tmp_path / "new", objectives=["total_jct", "traffic"]
        )
    with pytest.raises(BackendError, match="give more time"):
        api.certify_front(instance, plans, tmp_path / "new", time_limit=1e-9, **asked)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy"]


@needs_exact
def test_one_objective_need_not_be_in_a_list(tmp_path):
    instance = mlsched.generate("quality", "small")
    plans = [api.solve(instance, "brute-force", objective="worst_loss").plan]
    checked = api.certify_front(instance, plans, tmp_path / "made", objectives="worst_loss")
    assert (checked.evidence, checked.objectives) == ("certified", ("worst_loss",))
    with pytest.raises(InvalidInput, match="unknown objective 'worst_los'"):
        api.certify_front(instance, plans, tmp_path / "new", objectives="worst_loss", first="worst_los")


@needs_exact
@needs_kueue
def test_fronts_of_many_points_are_certified(tmp_path):
    sizes = []
    for number, (instance, _) in enumerate(kueue_questions()[2 : draws(5, 40)]):
        plans = mlsched.pareto(instance, ["victims", "lost"]).plans
        checked = api.certify_front(instance, plans, tmp_path / str(number), objectives=["victims", "lost"])
        assert checked.evidence == "certified"
        sizes.append(len(plans))
    assert max(sizes) >= 5


def test_a_front_whose_rank_is_not_stated_is_refused(tmp_path, monkeypatch):
    """Whoever forgets to state what is compared first would have waiting jobs left out of the proof."""
    import dataclasses

    from mlsched.certificates import by_formulas

    instance = spread()
    translation = translation_of(instance)
    without = dataclasses.replace(translation, fronts=dataclasses.replace(translation.fronts, rank=None))
    monkeypatch.setattr(by_formulas, "translation_of", lambda instance: without)
    objectives = ["victims", "lost"]
    with pytest.raises(InvalidInput, match="their primary criterion is not stated"):
        api.certify_front(instance, [api.solve(instance, "cp-sat").plan], tmp_path / "new", objectives=objectives)
