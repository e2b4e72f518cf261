"""What a proof, a formula or an instance from a stranger can ask for ends: each bomb is refused in a line."""

from __future__ import annotations

import hashlib
import io
import json

import numpy as np
import pytest
from certificate_examples import DRAWN, drawn, needs_exact, with_cuts
from preemption_examples import small

from mlsched import api
from mlsched.certificates import by_prices, limits
from mlsched.certificates.checker import HEADER, Proof, Wrong
from mlsched.certificates.formula import TooLong, within
from mlsched.certificates.placement import _contents_of_server
from mlsched.certificates.placement.prices import Placing
from mlsched.certificates.prices import core
from mlsched.certificates.prices.fixing import fixed
from mlsched.certificates.prices.statement import statement_of
from mlsched.certificates.taskgraph._schedule import earliest_starts, remaining_paths
from mlsched.certificates.translation import translation_of
from mlsched.core.deadline import Deadline, OutOfTime
from mlsched.core.errors import InvalidFile, InvalidInput

#: Sixty-four variables, one of which must be 1.
WIDE = " ".join(f"+1 x{x}" for x in range(1, 65)) + " >= 1 ;\n"


def check(formula: str, *steps: str, deadline: Deadline | None = None):
    return limits.check(formula, [HEADER + "\n", *steps], deadline or Deadline())


def tower(height: int):
    """Each constraint is the one before and itself."""
    return ["l 1", *(f"pol {k} {k} +" for k in range(1, height))]


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        (tower(10**4), r"line 258: derives a number of more than 256 bits"),
        (["l 1", "pol 1 " + f"{9**70} * " * 1000], "line 3: derives a number of more than 256 bits"),
        (["l 1", "pol 1 " + "9" * 78 + " *"], "is no integer"),
        (["l 1", "pol " + "1 " * 101 + "+ " * 100], "line 3: more than 100 constraints wait"),
        (["l 1", "pol " + "x1 " * 10**5], "line 3: more than 100 constraints wait"),
        (["l 1", *["pol 1"] * 16_000], "derives more than 1000000 terms and one per 4 words"),
        (["l 1", "pol 1 " + "+ " * 10], "words do not fit together"),
        (["rup +1 x1 >= 1 ; " + "9" * 5000], "is no integer"),
        (["rup +1 x" + "9" * 5000 + " >= 1 ;"], "is no literal"),
    ],
)
def test_a_bomb_is_refused(steps, said):
    with pytest.raises(Wrong, match=said):
        check(WIDE, *steps)


def test_what_is_below_the_limits_is_derived():
    """The widest sums that proofs have, and numbers up to the limit."""
    assert check("+1 x1 >= 2 ;\n", *tower(257)[:200], "c 200") is None
    assert check("+1 x1 >= 2 ;\n", "l 1", "pol " + "1 " * 100 + "+ " * 99, "c 2") is None


@pytest.mark.parametrize("step", ["rup +1 x1 >= 2 ;", "pol 1 " + "s " * 10**5, "pol 1 " + "1 + " * 10**5])
def test_within_a_step_the_clock_is_looked_at(step, monkeypatch):
    """Time is over at the third look: one before each step, and then one within the second."""

    class Counting(Deadline):
        looks = 0

        def passed(self) -> bool:
            self.looks += 1
            return self.looks > 2

    monkeypatch.setattr(limits, "TERMS_BETWEEN", 64)
    with pytest.raises(OutOfTime):
        check(WIDE, "l 1", step, deadline=Counting())


def test_lines_of_a_file_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MOST_LINE", 20)
    path = tmp_path / "1.log"
    path.write_bytes(b"* " + b"x" * 17 + b"\r\nl 1\r\n")
    assert list(limits.lines_of(path, 100, Deadline())) == ["* " + "x" * 17 + "\n", "l 1\n"]
    path.write_bytes(b"l 1\n" + b"x" * 21)
    with pytest.raises(InvalidFile, match=r"1\.log, line 2: has more than 20 characters"):
        list(limits.lines_of(path, 100, Deadline()))
    path.write_bytes(b"l 1\n\xff\n")
    with pytest.raises(InvalidFile, match=r"1\.log: is not text"):
        list(limits.lines_of(path, 100, Deadline()))
    path.write_bytes(b"\n" * 10**6)
    with pytest.raises(OutOfTime):
        list(limits.lines_of(path, 10**6, Deadline(0.0)))
    with pytest.raises(InvalidFile, match="expected at most 100"):
        list(limits.lines_of(path, 100, Deadline()))


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ("a\nb\n", ""),
        ("a\nb", "it ends with line 2"),
        ("a\n", "it ends with line 1"),
        ("", "it ends with line 0"),
        ("a\nc\n", "line 2 says 'c'"),
        ("a\nb\nc\n", "line 3 says 'c'"),
        ("a\nb\n\n", "line 3 says ''"),
    ],
)
def test_texts_are_compared_letter_by_letter(found, said):
    assert limits.first_difference(io.StringIO(found), "a\nb\n") == said


# -- translations -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("problem", DRAWN)
def test_names_in_an_instance_say_nothing_to_the_checker(problem):
    """A name with a line end in it could otherwise add a constraint, and prove a false optimum."""
    instance = next(drawn(problem, 1))
    plan, objective = api.solve(instance, "brute-force").plan, instance.objectives[0].name
    named = {"resources", "types", "pressures", "models"} & set(instance.to_json())
    evil = {
        name: [
            f"{label}\n+1 x1 >= 1 ;\r+1 x1 >= 1 ;\n* x9: \x0b{k}" for k, label in enumerate(instance.to_json()[name])
        ]
        for name in named
    }
    other = type(instance).from_json({**instance.to_json(), **evil})
    for ours, theirs in zip(*(translation_of(i).formulas(i, objective, plan) for i in (instance, other)), strict=True):
        plain, changed = Proof(ours.text()), Proof(theirs.text())
        assert changed.formula == plain.formula
        assert changed.objective == plain.objective
        assert len(theirs.text().splitlines()) == len(ours.text().splitlines())


@pytest.mark.parametrize("problem", DRAWN)
def test_a_translation_ends_with_its_room_and_its_time(problem):
    instance = next(drawn(problem, 1))
    plan, objective = api.solve(instance, "brute-force").plan, instance.objectives[0].name
    translate = translation_of(instance).formulas
    size = sum(len(formula.text()) for formula in translate(instance, objective, plan))
    with within(Deadline(), size):
        translate(instance, objective, plan)
    with within(Deadline(), size // 3), pytest.raises(TooLong):
        translate(instance, objective, plan)
    with within(Deadline(0.0), size), pytest.raises(OutOfTime):
        translate(instance, objective, plan)


def test_a_server_that_may_host_ever_so_much_is_refused():
    """Jobs of a thousand workers and as many PSs that take nothing: the contents are not listed to find that out."""
    instance = next(drawn("placement", 1))
    data = instance.to_json()
    jobs = len(data["job_type"])
    calm = {
        name: np.zeros_like(data[name]).tolist()
        for name in ("apart", "sigma_worker", "sigma_ps", "linear", "quadratic")
    }
    sizes = {"job_workers": [1000] * jobs, "job_ps": [1000] * jobs}
    nothing = {"worker_demand": [[0]] * jobs, "ps_demand": [[0]] * jobs}
    many = type(instance).from_json({**data, **calm, **sizes, **nothing})
    with pytest.raises(InvalidInput, match="may host more than 200000 things"):
        list(_contents_of_server(many, 0))
    full = type(instance).from_json({**data, **calm, **sizes, "worker_demand": [[9]] * jobs, "ps_demand": [[9]] * jobs})
    assert list(_contents_of_server(full, 0)) == [{}]


def test_a_chain_of_many_tasks_is_gone_along_without_depth():
    count = 3000
    instance = next(drawn("taskgraph", 1))
    data = instance.to_json()
    edges = {"edge_from": list(range(count - 1)), "edge_to": list(range(1, count)), "edge_lag": [0] * (count - 1)}
    edges |= {"edge_volume": [1] * (count - 1), "edge_delay": [0] * (count - 1)}
    tasks = {"task_job": [0] * count, "duration": [2] * count, "demand": [[1]] * count, "eligible": [[1, 1]] * count}
    jobs = {"arrival": [5], "deadline": [10**5], "urgency": [1], "required": [200_000], "min_iterations": [1]}
    jobs |= {"max_iterations": [1], "accuracy": [data["accuracy"][0][:2]]}
    kept = {name: data[name] for name in ("kind", "version", "resources", "node_capacity")}
    chain = type(instance).from_json({**kept, **edges, **tasks, **jobs, "parameters": [0] * count})
    assert remaining_paths(chain) == [2 * (count - 1 - k) for k in range(count)]
    first = earliest_starts(chain, [1])
    assert [first[k, 0] for k in range(count)] == [5 + 2 * k for k in range(count)]


# -- prices -----------------------------------------------------------------------------------------------------------


def path_of(nodes: int) -> list:
    """A tree without prices, of so many nodes each of which is the first child of the one before, and their leaves."""
    return [*([{}, 0, "", 0] for _ in range(nodes)), *([{}] for _ in range(nodes + 1))]


def test_a_path_that_would_fill_the_memory_is_refused(monkeypatch):
    """Each node that waits keeps the branches of its path: what 100,000 nodes in a row keep is 40 GB."""
    (instance,) = drawn("quality", 1)
    monkeypatch.setattr(by_prices, "MOST_WAITING", 1000)
    for nodes, said in ((20, "a leaf does not prove"), (100, "keep more than 1000 prices and branches")):
        (wrong,) = by_prices.reasons_unproved(instance, "total_loss_reduction", -1, [path_of(nodes)], Deadline())
        assert said in wrong


def test_prices_that_wait_are_counted_once_a_row(monkeypatch):
    (instance,) = drawn("quality", 1)
    (claim,) = statement_of(instance).claims(instance, "total_loss_reduction", -1)
    row = next(iter(claim.capacity))
    tree = [*([{row: 1}, 0, "", 0] for _ in range(20)), *([{}] for _ in range(21))]
    monkeypatch.setattr(by_prices, "MOST_WAITING", 2 * sum(range(22)) + 50)
    (wrong,) = by_prices.reasons_unproved(instance, "total_loss_reduction", -1, [tree], Deadline())
    assert "a leaf does not prove" in wrong


def test_a_leaf_that_leaves_too_many_options_is_refused(monkeypatch):
    """Of each, a use of every row is kept, until the leaf is proved: the second of two leaves has as much room."""
    for instance in drawn("preemption", 20):
        plan = api.solve(instance, "brute-force", objective="victim_count").plan
        best = instance.evaluate(plan)["victim_count"]
        (claim,) = statement_of(instance).claims(instance, "victim_count", best)
        least, all_pay = core.bound(claim, {}, {})
        if (slack := core.SCALE * (claim.target - 1) - all_pay) >= 0:  # options are gone through
            break
    kept = sum(len(claim.cheap(block, {}, (), cost + slack)) for block, cost in enumerate(least))
    tree = [[{}, 0, "", 0], [{}], [{}]]
    monkeypatch.setattr(by_prices, "MOST_KEPT", kept * (1 + len(claim.capacity)))
    assert not list(by_prices.reasons_unproved(instance, "victim_count", best, [tree], Deadline()))
    monkeypatch.setattr(by_prices, "MOST_KEPT", kept * (1 + len(claim.capacity)) - 1)
    (wrong,) = by_prices.reasons_unproved(instance, "victim_count", best, [tree], Deadline())
    assert "a leaf keeps more than" in wrong


def test_fixings_that_leave_too_many_options_are_refused(monkeypatch):
    """What each leaves is kept until the leaves below it are proved: a path of them may keep so much together."""
    instance = next(with_cuts())
    best = api.solve(instance, "brute-force", objective="total_score").sort_key
    (claim,) = statement_of(instance).claims(instance, "total_score", best)
    left = fixed(claim, {}, {}, [], lambda steps: None).options
    numbers = sum(1 + len(use) for options in left for _, use in options)

    def unproved(fixings: int, *cuts) -> str:
        """After the fixings, a leaf that keeps as much as it may: it is what is refused where fixings keep too much."""
        tree = [*([{}, list(cuts)] for _ in range(fixings)), [{}]]
        return " ".join(by_prices.reasons_unproved(instance, "total_score", best, [tree], Deadline()))

    at_once = sum(map(len, left)) * (1 + len(claim.capacity))
    monkeypatch.setattr(by_prices, "MOST_KEPT", at_once + 2 * numbers)
    assert unproved(2) == ""
    assert "a leaf keeps more than" in unproved(3)
    assert "a leaf keeps more than" in unproved(1, *(1 + 2 * numbers) * [[{}, {}, 1]])


def test_the_clock_is_looked_at_between_fixings(monkeypatch):
    instance = next(with_cuts())
    many = [[{}, [[{}, {}, 1]]] for _ in range(3)]
    with pytest.raises(OutOfTime):
        list(by_prices.reasons_unproved(instance, "total_score", 5, [[*many, [{}]]], Deadline(0.0)))


def test_the_clock_is_looked_at_between_nodes_without_prices():
    (instance,) = drawn("quality", 1)
    with pytest.raises(OutOfTime):
        list(by_prices.reasons_unproved(instance, "total_loss_reduction", -1, [path_of(3)], Deadline(0.0)))


def test_of_placement_what_fits_nowhere_and_every_price_is_counted():
    """Else a large job without room, or many prices of one job, would be gone through without a look at the clock."""
    instance, spent = next(drawn("placement", 1)), []
    data = instance.to_json()
    full = {"server_free": np.zeros_like(instance.server_free).tolist(), "job_ps": [200 for _ in data["job_ps"]]}
    demand = {name: np.ones_like(instance.worker_demand).tolist() for name in ("worker_demand", "ps_demand")}
    Placing({**data, **full, **demand}, 0, spent.append)
    assert sum(spent) > 200 * len(data["job_ps"])
    claim = Placing(data, 0, spent.append)
    spent.clear()
    core.bound(claim, {}, {})
    free = sum(spent)
    spent.clear()
    core.bound(claim, dict.fromkeys(claim.capacity, 1), {})
    assert sum(spent) >= free + len(claim.capacity) - 1, "all but `new`"


# -- whole folders ----------------------------------------------------------------------------------------------------


def test_an_instance_must_say_in_its_file_what_it_means(tmp_path):
    """A size of 0 stands for the largest of the jobs: `checker.py` would take it for 0, and prove something else."""
    made = api.certify(next(with_cuts()), tmp_path / "proof", objective="total_score")
    path, manifest = tmp_path / "proof" / "instance.json", tmp_path / "proof" / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"max_size": 0}), encoding="utf-8")
    assert api.load(path).hash == made.instance.hash
    said = json.loads(manifest.read_text())
    said["sha256"]["instance.json"] = hashlib.sha256(path.read_bytes()).hexdigest()
    manifest.write_text(json.dumps(said), encoding="utf-8")
    (wrong,) = api.check_certificate(tmp_path / "proof").wrong
    assert wrong.startswith("instance.json: field 'max_size': is not as mlsched writes it")


@needs_exact
def test_a_check_has_a_time_limit(tmp_path):
    api.certify(small(), tmp_path / "proof", proof="logic")
    assert api.check_certificate(tmp_path / "proof", time_limit=None).wrong == ()
    late = api.check_certificate(tmp_path / "proof", time_limit=1e-9)
    assert late.wrong == ("the check did not end in 1e-09 s; give it more time (--time-limit)",)
    assert late.evidence is None
    with pytest.raises(InvalidInput, match="time_limit: 0, expected above 0"):
        api.check_certificate(tmp_path / "proof", time_limit=0)
