"""Files of results, fronts and runs: what is saved is loaded, and what says more than its plans do is refused."""

from __future__ import annotations

import contextlib
import copy
import json
import random

import pytest
from draws import draws
from preemption_examples import small

import mlsched
from mlsched import api
from mlsched.core.errors import InvalidFile, InvalidInput
from mlsched.core.formulation import Outcome
from mlsched.core.registry import solver
from mlsched.solvers.front import enumerate_front


@solver("nothing", problem="preemption", kind="exact", backend="direct", objectives=("total_score",))
def nothing(instance, *, objective, limits):
    return Outcome("unknown", None, 5)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A file of each kind, and what was saved."""
    folder = tmp_path_factory.mktemp("saved")
    load = mlsched.workload("synthetic:z:jobs=30,nodes=2", seed=1)
    things = {
        "heuristic": mlsched.solve(small(), "fitgpp:s=8"),
        "exact": mlsched.solve(small(), "brute-force"),
        "no plan": mlsched.solve(small(), nothing, hint="none"),
        "front": mlsched.pareto(mlsched.generate("preemption", "small", seed=3), ("total_score", "victim_count")),
        "partial": mlsched.pareto(small(), ("total_score", "victim_count"), solve_limit=1),
        "run": mlsched.simulate(load, "fitgpp", record=1.0),
    }
    for name, thing in things.items():
        mlsched.save(thing, folder / name)
    return folder, things


@pytest.mark.parametrize("name", ["heuristic", "exact", "no plan"])
def test_a_result_comes_back_with_its_instance(files, name):
    folder, things = files
    back = mlsched.load(folder / name)
    assert back == things[name]
    assert back.instance == small()
    if back.plan is not None:
        assert back.gap_to(things["exact"]) == things[name].gap_to(things["exact"])


@pytest.mark.parametrize("name", ["front", "partial"])
def test_a_front_comes_back_with_plans_and_certificate(files, name):
    folder, things = files
    back, front = mlsched.load(folder / name), things[name]
    assert back.sort_keys.tolist() == front.sort_keys.tolist()
    assert (back.plans, back.open, back.status) == (front.plans, front.open, front.status)
    assert back.certificate == front.certificate
    assert back.verify("highs") == [], "its sub-problems are asked again, of the instance in the file"


def test_a_front_of_ones_own_model_comes_back_without_the_model(tmp_path):
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    x = model.new_int_var(0, 5, "x")
    front = enumerate_front(model, [x, 5 - x], ["min", "min"], variables=[x])
    mlsched.save(front, tmp_path / "f")
    back = mlsched.load(tmp_path / "f")
    assert back.sort_keys.tolist() == front.sort_keys.tolist()
    assert back.solutions == front.solutions
    assert list(back.table()) == ["f1", "f2"]
    with pytest.raises(InvalidInput, match="the model is not in the file of a front"):
        back.verify()


def test_a_run_comes_back_and_passes_its_replay(files):
    folder, things = files
    back, run = mlsched.load(folder / "run"), things["run"]
    assert back.summary() == run.summary()
    assert [d.plan for d in back.recorded] == [d.plan for d in run.recorded]
    with pytest.raises(InvalidInput, match="neither the rule nor its memory"):
        back.replay(back.recorded[0])


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        ("synthetic:mlfs:jobs=4,runs=10", "fifo"),
        ("synthetic:mlfs-cluster:jobs=4", "mlfs-h"),
        ("synthetic:chic:jobs=5", "optimus"),
        ("synthetic:table1:jobs=4", "slaq"),
        ("synthetic:uniform:jobs=5", "tetris"),
    ],
)
def test_runs_of_every_world_come_back(source, rule, tmp_path):
    run = mlsched.simulate(mlsched.workload(source), rule)
    mlsched.save(run, tmp_path / "run")
    back = mlsched.load(tmp_path / "run")
    assert back.summary() == run.summary()
    assert back.log.to_json() == run.log.to_json()


def edited(path, change):
    data = json.loads(path.read_text())
    change(data)
    target = path.with_name("edited")
    target.write_text(json.dumps(data))
    return target


def at(*path):
    """`at("a", 0)(value)` sets data["a"][0]."""

    def set_to(value):
        def change(data):
            for key in path[:-1]:
                data = data[key]
            data[path[-1]] = value

        return change

    return set_to


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("heuristic", at("version")(2), "version: 2, expected 1 for result; upgrade mlsched"),
        ("heuristic", at("values", "total_score")(1), "values: .*, the judge computes"),
        ("heuristic", at("value")(1), "value: 1, the judge computes"),
        ("heuristic", at("plan", "victims")([]), "plan: is infeasible"),
        ("heuristic", at("plan", "te_node")([-2]), r"plan: te_node\[0\]: -2"),
        ("heuristic", at("plan")(None), "status: 'feasible', does not fit no plan"),
        ("heuristic", at("instance", "job_grace")([1, 1, 1]), "the judge computes"),
        ("heuristic", at("instance")(7), "instance: 7, expected a JSON object"),
        ("heuristic", at("objective")("speed"), "unknown objective 'speed' of preemption"),
        ("heuristic", at("sort_keys", "bound")(10**12), "gap: None, the judge computes"),
        ("heuristic", at("seconds")(-1), "seconds: -1, expected a number >= 0"),
        ("heuristic", at("params")({"s": [1]}), "params: .*, expected an object of"),
        ("heuristic", at("more")(1), "more: unknown field"),
        ("exact", at("value")(123), "value: 123, the judge computes"),
        ("exact", at("primary", "count")(1), "primary: .*, the judge computes"),
        ("exact", at("sort_keys", "bound")(0), "gap: 0.0, the judge computes 1.0|contradicts"),
        ("no plan", at("status")("optimal"), "status: 'optimal', does not fit no plan"),
        ("front", lambda data: [data[k].pop() for k in ("sort_keys", "plans")], "status: 'complete', the certificate"),
        ("front", at("sort_keys", 0, 0)(0), "contradicts the judge|the certificate leaves|follow"),
        ("front", at("plans", 0, "victims")([]), "infeasible plan"),
        ("front", at("certificate", "subproblems")([]), "status: 'complete', the certificate leaves . boxes open"),
        ("front", at("certificate", "low")([0]), "expected 2 entries"),
        ("front", at("objectives")(["total_score", "max"]), "unknown objective 'max'"),
        ("front", at("objectives", 0)(None), "objectives: .*, expected 2 names"),
        ("front", at("solver")("fitgpq"), "unknown solver 'fitgpq'"),
        ("front", at("evidence")("confirmed"), "evidence: 'confirmed', does not follow from confirmed_by"),
        ("partial", at("status")("complete"), "the certificate leaves"),
        ("run", at("log", "end", 0)(1), "log: does not pass the replay"),
        ("run", at("log", "job", 0)(10**6), "log: "),
        ("run", at("log", "node")([0]), "the columns .* have different lengths"),
        ("run", at("problem")("chess"), "chess is not simulated"),
        ("run", at("options")({"speed": 1}), "speed"),
        ("run", at("workload", "submit")("x"), "workload: submit: 'x'"),
    ],
)
def test_a_file_that_was_tampered_with_is_refused_in_one_line(files, name, change, message):
    target = edited(files[0] / name, change)
    with pytest.raises(InvalidFile, match=message) as caught:
        mlsched.load(target)
    assert str(caught.value).startswith(str(target))
    assert str(caught.value).isprintable()


#: What anything in a file is replaced by.
VALUES = (None, -1, 0, 10**30, 1e308, True, "", "a", [], {}, [[]], [None], {"a": 1}, "\ud800")


def test_no_changed_file_breaks_the_reader(files):
    """Any value anywhere replaced by another: the file is read, or refused as a file."""
    folder, things = files
    for number in range(draws(60, 3000)):
        rng = random.Random(number)
        whole = json.loads((folder / rng.choice(list(things))).read_text())
        data, key, inner = whole, rng.choice(list(whole)), whole
        while isinstance(inner[key], (dict, list)) and inner[key] and rng.random() < 0.7:
            inner = inner[key]
            key = rng.choice(list(inner) if isinstance(inner, dict) else range(len(inner)))
        inner[key] = copy.deepcopy(rng.choice(VALUES))
        target = folder / "changed"
        target.write_text(json.dumps(data))
        with contextlib.suppress(InvalidFile):  # anything else that it raises fails the test
            mlsched.load(target)


def test_what_cannot_be_saved_is_refused(tmp_path):
    result = api.solve(small(), "fitgpp")
    lost = type(result)(**{k: v for k, v in vars(result).items() if k != "instance"})
    with pytest.raises(InvalidInput, match="the result lacks its instance; give instance= as well"):
        mlsched.save(lost, tmp_path / "x")
    with pytest.raises(InvalidInput, match="a dict cannot be saved; give an instance, plan, workload, result, front"):
        mlsched.save({}, tmp_path / "x")
    assert list(tmp_path.iterdir()) == []
    mlsched.save(lost, tmp_path / "x", instance=small())
    assert mlsched.load(tmp_path / "x") == result
