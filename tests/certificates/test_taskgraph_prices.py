"""Gaps of task graphs by prices: whatever the prices are, no plan is better than what they prove."""

from __future__ import annotations

import dataclasses
import json
import random
import re
from collections import Counter

import numpy as np
import pytest
from certificate_examples import drawn, needs_exact
from draws import draws
from price_trees import changed
from taskgraph_claims import OBJECTIVES, examples, sense

from mlsched import api
from mlsched.certificates import engine
from mlsched.certificates.by_prices import reasons_unproved
from mlsched.certificates.prices import core, timed
from mlsched.certificates.prices.core import SCALE, Wrong
from mlsched.certificates.prices.timed import Event, Timed
from mlsched.certificates.taskgraph import prices as stated
from mlsched.core.deadline import Deadline
from mlsched.core.errors import BackendError, InvalidInput
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._pools import overall, packed
from mlsched.solvers import prices
from mlsched.solvers.taskgraph.bounds.relaxation import relax


def proves(instance, objective, bound, trees) -> bool:
    return not list(reasons_unproved(instance, objective, bound, trees, Deadline()))


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_no_plan_is_better_than_the_bound_and_changed_prices_prove_nothing_false(objective, report):
    """The optimum is brute force's. What is beyond it is refused for the genuine prices and for changed ones."""
    fate, dice = Counter[str](), random.Random(objective)
    for instance in examples(draws(16, 1000)):
        best = api.solve(instance, "brute-force", objective=objective).sort_key
        trees, bound = prices.trees(instance, objective, best, Deadline())
        sign = sense(instance, objective)
        assert sign * bound <= sign * best
        assert proves(instance, objective, bound, trees)
        assert not proves(instance, objective, best + sign, trees)
        fate["reaches the best" if bound == best else "short of the best"] += 1
        for _ in range(5):
            other, claimed = [changed(tree, dice) for tree in trees], best + sign * dice.choice([1, 1, 2, 9])
            assert not proves(instance, objective, claimed, other)
            fate["changed and accepted, true"] += proves(instance, objective, bound, other)
    report(f"taskgraph {objective} by prices", [f"{n:5}  {how}" for how, n in sorted(fate.items())])
    # Nodes are forgotten, so that some are short of it; most of these tiny instances are not.
    assert fate["reaches the best"] > fate["short of the best"], fate


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_any_prices_bound_every_plan(objective):
    """Random prices of random rows, which no relaxation has seen, prove no more than what the best plan is worth."""
    dice = random.Random(objective)
    for instance in examples(draws(12, 500)):
        best = api.solve(instance, "brute-force", objective=objective).sort_key
        sign = sense(instance, objective)
        # A makespan's claim is that nothing fits, which is false one tick beyond the best.
        (claim,) = stated.CLAIMS[objective](instance.to_json(), best + sign, lambda steps: None)
        for _ in range(20):
            price = {}
            for _ in range(dice.randrange(1, 6)):
                start = dice.randrange(8)
                row = f"{dice.choice(list(claim.capacity.room))} {start} {start + dice.randrange(1, 9)}"
                price[row] = dice.randrange(2 ** dice.choice([10, 24, 28]))
            assert all(map(claim.capacity.__contains__, price))
            assert core.bound(claim, price, {})[1] <= SCALE * (claim.target - 1), (instance, price)


def test_the_best_plan_keeps_to_every_row():
    """What its events use, from the judge's own times, is within every capacity: of the rows that are written apart."""
    dice, rows = random.Random(3), 0
    for instance in examples(draws(20, 300)):
        plan = api.solve(instance, "brute-force", objective="total_jct").plan
        (claim,) = stated.CLAIMS["total_jct"](instance.to_json(), 10**6, lambda steps: None)
        keys = zip(plan.task.tolist(), plan.iteration.tolist(), strict=True)
        start = dict(zip(keys, plan.start.tolist(), strict=True))
        gains = [{int(n): (0, 0)} for n in instance.min_iterations]
        waits = stated.waiting(instance.to_json(), gains, stated.able(instance.to_json(), bool), bool)
        for name in [name for name in waits if name[0] < 0]:  # a job has done what it must
            start[name] = max([int(instance.arrival[-1 - name[0]]), *(start[u] + n for u, n in waits[name])])
        order = list(stated.TopologicalSorter({v: [u for u, _ in some] for v, some in waits.items()}).static_order())
        for group in claim.capacity.room:
            for _ in range(5):
                a = dice.randrange(12)
                b = a + dice.randrange(1, 9)
                used = 0
                for name, event in zip(order, claim.events, strict=True):
                    terms = [(shift, weight) for g, shift, weight in event.terms if g == group]
                    at = start[name]
                    used += sum(weight * min(max(at + shift - a, 0), b - a) for shift, weight in terms)
                assert used <= claim.capacity[f"{group} {a} {b}"], (group, a, b)
                rows += 1
    assert rows > 1000


@pytest.mark.parametrize("preset", ["six-loose", "six-replicas"])
def test_the_relaxation_is_no_weaker_than_the_one_that_is_written_apart(preset):
    """`formulations/taskgraph/_relaxation.py` knows windows of the same kind, and fewer shares."""
    instance = api.generate("taskgraph", preset=preset, seed=1, jobs=draws(4, 6))
    value = api.solve(instance, "mlf-h").sort_key
    layout = Layout.of(instance)
    other, _ = relax(layout, [*overall(layout), *packed(layout)], value, None)
    trees, bound = prices.trees(instance, "total_jct", value, Deadline())
    assert proves(instance, "total_jct", bound, trees)
    assert other is not None
    assert bound >= other.bound


def test_what_fits_into_a_node_has_shares_of_no_more_than_the_node(report):
    """All multisets of amounts that fit, and that some of them are worth more as shares than as amounts."""
    more = 0
    for room in range(1, 9):
        for s in (1, 2, 3):
            most = [0] * (room + 1)
            for total in range(1, room + 1):
                most[total] = max(most[total - q] + stated.share(q, room, s) for q in range(1, total + 1))
            assert max(most) <= s * (s + 1)
            more += sum(stated.share(q, room, s) * room > q * s * (s + 1) for q in range(1, room + 1))
    assert more > 10


def test_a_makespan_that_is_too_long_has_a_bound_of_capacity():
    """Twelve runs of two ticks on two nodes take twelve ticks, and no path is longer than two."""
    base = next(drawn("taskgraph", 1)).to_json()
    jobs, one = 12, [1] * 12
    data = base | {
        "node_capacity": [[1], [1]], "arrival": [3] * jobs, "deadline": [9] * jobs, "urgency": one, "required": one,
        "min_iterations": one, "max_iterations": one, "accuracy": [[0, 9]] * jobs, "task_job": list(range(jobs)),
        "duration": [2] * jobs, "demand": [[1]] * jobs, "eligible": [[1, 1]] * jobs, "parameters": [0] * jobs,
        "finished": [0] * jobs, "on_time": [0] * jobs, "home": [-1] * jobs, "last_end": [0] * jobs,
        **{f"edge_{x}": [] for x in ("from", "to", "lag", "volume", "delay")},
    }  # fmt: skip
    instance = type(next(drawn("taskgraph", 1))).from_json(data)
    for value in (12, 15, 40):
        trees, bound = prices.trees(instance, "makespan", value, Deadline())
        assert bound == 12
        assert proves(instance, "makespan", 12, trees)
        assert not proves(instance, "makespan", 13, trees)


def test_a_long_horizon_is_cut_into_a_grid():
    """Ticks are not listed: with 10^5 times as many, certificate and check are about as large, and as good."""
    instance = api.generate("taskgraph", preset="six-loose", seed=0, jobs=draws(4, 6))
    value = api.solve(instance, "mlf-h").sort_key
    made = prices.trees(instance, "total_jct", value, Deadline())[1]
    long = dataclasses.replace(
        instance,
        **{x: 10**5 * getattr(instance, x) for x in ("arrival", "duration", "edge_delay")},
        deadline=np.minimum(instance.deadline * 10**5, 2**31 - 1),
    )
    search = prices.timed.Search(
        lambda bound: stated.CLAIMS["total_jct"](long.to_json(), bound, bool)[0], 10**5 * value, 1, Deadline()
    )
    assert not search.attempt(10**5 * value, 64)
    assert proves(long, "total_jct", search.bound, [[[search.price]]])
    assert len(search.price) < 2000
    assert 0.95 * made < search.bound / 10**5 < 1.02 * made


@pytest.mark.parametrize(
    ("row", "good"),
    [
        ("0 1 2", True), ("0 3 1", False), ("0 1 1", False), ("0 -1 2", False), ("0 1", False), ("0 1 2 3", False),
        ("9 1 2", False), ("0 1.0 2", False), ("0 1 " + "9" * 18, True), ("0 1 " + "9" * 19, False), ("", False),
        ("0 ١ ٢", False), ("0  1 2", False), ("0 1 2\n", False), (7, False),
    ],
)  # fmt: skip
def test_rows_are_of_a_group_and_two_ticks(row, good):
    assert (row in timed.Rows({"0": 3}, {"0 2 1": 7})) is good
    if good:
        start, end = map(int, row.split()[1:])
        assert timed.Rows({"0": 3}, {"0 2 1": 7})[row] == 3 * (end - start)


def test_an_event_is_cheapest_where_looking_at_every_tick_says():
    dice = random.Random(5)
    for _ in range(200):
        low = dice.randrange(6)
        terms = [(dice.choice("ab"), dice.randrange(-3, 5), dice.choice([-2, -1, 1, 3])) for _ in range(4)]
        event = Event(low, low + dice.randrange(9), dice.choice([0, 1]), dice.choice([0, 5]), dice.randrange(12), terms)
        claim = Timed(0, timed.Rows({"a": 2, "b": 0}, {}), [event], lambda steps: None)
        price = {
            f"{dice.choice('ab')} {(a := dice.randrange(9))} {a + dice.randrange(1, 6)}": dice.randrange(99)
            for _ in range(4)
        }
        every = []
        for t in range(event.low, event.high + 1):
            cost = SCALE * (event.rate * t - event.gain * (t <= event.due))
            for row, p in price.items():
                group, start, end = row[0], *map(int, row.split()[1:])
                cost += p * sum(w * min(max(t + s - start, 0), end - start) for g, s, w in terms if g == group)
            every.append(cost)
        assert claim.least(0, price, ()) == min(every)


def test_objectives_and_instances_that_cannot_be_are_refused_in_a_line(tmp_path):
    instance = next(drawn("taskgraph", 1))
    with pytest.raises(InvalidInput, match=r"traffic of a taskgraph\.instance cannot be certified by prices"):
        api.certify(instance, tmp_path / "no", objective="traffic", proof="dual")
    plan = api.solve(instance, "mlf-h").plan
    later = dataclasses.replace(instance, now=1)
    if later.violations(plan):
        plan = api.solve(later, "cp-sat").plan
    with pytest.raises(InvalidInput, match="only task graphs from their start are certified: now = 0"):
        api.certify(later, tmp_path / "no", plan=plan, proof="dual")
    assert not (tmp_path / "no").exists()


def test_where_formulas_do_not_end_the_gap_is_certified(tmp_path, monkeypatch):
    """Nor begin, where the solver that they need is not there."""
    instance = api.generate("taskgraph", preset="fractional", seed=0, jobs=draws(3, 6))
    plan, said = api.solve(instance, "mlf-h").plan, list[str]()

    def missing():
        raise InvalidInput("certify: needs exact, a solver that logs proofs")

    monkeypatch.setattr(engine, "version", missing)
    made = api.certify(instance, tmp_path / "gap", plan=plan, time_limit=20, progress=said.append)
    assert made.proof == "dual"
    assert made.evidence is None
    assert made.sort_bound < made.sort_key
    assert re.search(r"^certify: needs exact.*; the gap is certified$", said[-1])
    assert any("times, at most" in line for line in said)
    monkeypatch.undo()
    again = api.check_certificate(tmp_path / "gap")
    assert not again.wrong
    assert (again.sort_bound, again.sort_key) == (made.sort_bound, made.sort_key)
    assert f"at most {again.gap.rounded_up} from the best" in repr(again)
    manifest = json.loads((tmp_path / "gap" / "manifest.json").read_text())
    assert manifest["proofs"][0]["bound"] == made.sort_bound


def test_a_bound_of_another_sign_or_beyond_all_sizes_says_nothing_false(tmp_path):
    """A share of -10^6 is none of the best, which may be 1; and no float holds 10^400."""
    instance = api.generate("taskgraph", preset="six-tight", seed=1, jobs=draws(3, 6))
    folder = tmp_path / "gap"
    plan = api.solve(instance, "mlf-h").plan
    value = api.certify(instance, folder, plan=plan, objective="total_jct", proof="dual").sort_key
    manifest = json.loads((folder / "manifest.json").read_text())
    for bound, said in ((-(10**6), f"{10**6 + value} ticks"), (0, f"{value} ticks")):
        manifest["proofs"][0]["bound"] = bound
        (folder / "manifest.json").write_text(json.dumps(manifest))
        assert api.check_certificate(folder).shown_gap == said
    manifest["proofs"][0]["bound"] = -(10**400)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert api.check_certificate(folder).wrong[0] == "claim 1 has no bound that is an integer of at most 256 bits"


def test_what_no_check_would_list_is_refused_before_prices_are_looked_for(tmp_path, monkeypatch):
    instance = api.generate("taskgraph", preset="six-tight", seed=1)
    plan = api.solve(instance, "mlf-h").plan
    monkeypatch.setattr(prices, "MOST_LISTED", 1000)
    with pytest.raises(InvalidInput, match="cannot be certified by prices: it takes more than 1000 steps to list"):
        api.certify(instance, tmp_path / "no", plan=plan, objective="total_jct", proof="dual")
    assert not (tmp_path / "no").exists()


def test_where_the_time_is_over_what_is_proved_by_then_is_the_bound(monkeypatch):
    """After any number of looks at the clock; a relaxation that is too large is none."""
    instance = api.generate("taskgraph", preset="six-tight", seed=1)
    value, bounds = api.solve(instance, "mlf-h").sort_key, []

    class Ending(Deadline):
        def __init__(self, looks: int) -> None:
            super().__init__()
            self.looks = looks

        def passed(self) -> bool:
            self.looks -= 1
            return self.looks < 0

    with pytest.raises(BackendError, match="a bound was not proved in time; give more"):
        prices.trees(instance, "total_jct", value, Ending(0))
    for looks in (20, 300, 10**9):
        trees, bound = prices.trees(instance, "total_jct", value, Ending(looks))
        assert proves(instance, "total_jct", bound, trees)
        bounds.append(bound)
    assert bounds == sorted(bounds)
    assert bounds[0] < bounds[-1]
    monkeypatch.setattr(prices.timed, "MOST_NONZEROS", 100)
    assert prices.trees(instance, "total_jct", value, Deadline())[1] == bounds[0]


@needs_exact
def test_formulas_go_on_where_prices_leave_a_gap(tmp_path):
    """The first of the tiny instances whose optimum the prices do not reach is proved by a formula."""
    for instance in examples(40):
        best = api.solve(instance, "brute-force", objective="total_jct").sort_key
        if instance.gpu_unit == 0 and prices.trees(instance, "total_jct", best, Deadline())[1] < best:
            break
    made = api.certify(instance, tmp_path / "proof", objective="total_jct")
    assert (made.proof, made.evidence) == ("logic", "certified")
    gap = api.certify(instance, tmp_path / "gap", objective="total_jct", proof="dual")
    assert (gap.proof, gap.evidence) == ("dual", None)


def test_what_cannot_start_before_the_end_of_time_is_refused():
    """Its window is empty, which would prove anything; mlsched reads no such instance, `checker.py` alone might."""
    event = Event(timed.LATEST, timed.END, 1, 0, timed.END, [])
    with pytest.raises(Wrong, match="cannot start before 2"):
        Timed(1, timed.Rows({}, {}), [event], lambda steps: None)
