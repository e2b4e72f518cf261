"""Deferred TE jobs come before every base value: values taken apart, and gaps between them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from preemption_examples import small

import mlsched
from mlsched.instances import strategies
from mlsched.instances.preemption import Plan


@given(instance=strategies.preemption(), data=st.data())
def test_every_value_is_the_deferred_jobs_and_the_base_value(instance, data):
    """Feasible or not: plans are drawn, and the base value is counted from the victims."""
    able = np.flatnonzero(instance.preemptible).tolist()
    victims = sorted(data.draw(st.sets(st.sampled_from(able)))) if able else []
    nodes = st.integers(-1, len(instance.node_capacity) - 1)
    te_node = [data.draw(nodes) for _ in instance.te_demand]
    values = instance.evaluate(Plan(te_node=te_node, victims=victims))
    base = {
        "total_score": sum(int(instance.score[j]) for j in victims),
        "victim_count": len(victims),
        "max_grace_period": max((int(instance.job_grace[j]) for j in victims), default=0),
    }
    for goal in instance.objectives:
        rank = instance.primary(goal.name)
        assert rank.split(values[goal.name]) == (te_node.count(-1), base[goal.name])
        assert 0 <= base[goal.name] < rank.weight
    assert instance.values(values) == {**base, "deferred": te_node.count(-1)}
    assert instance.deferrals(Plan(te_node=te_node, victims=victims)) == [
        f"TE job {t} waits" for t, node in enumerate(te_node) if node < 0
    ]


@given(instance=strategies.preemption(), rule=st.sampled_from(["fitgpp", "fifo", "brute-force", "cp-sat"]))
def test_what_is_read_of_a_result_is_what_its_plan_is_worth(instance, rule):
    """The table and the JSON document agree with sums over the plan, the compared values with the judge."""
    result = mlsched.solve(instance, rule)
    victims = result.plan.victims.tolist()
    values = {
        "total_score": sum(int(instance.score[j]) for j in victims),
        "victim_count": len(victims),
        "max_grace_period": max((int(instance.job_grace[j]) for j in victims), default=0),
    }
    deferred = int((result.plan.te_node < 0).sum())
    table, document = result.table(), result.to_json()
    assert {name: table[name] for name in (*values, "deferred")} == {
        name: [value] for name, value in {**values, "deferred": deferred}.items()
    }
    assert (document["values"], document["value"], document["primary"]["count"]) == (
        values,
        values["total_score"],
        deferred,
    )
    assert (table["value"], table["bound"]) == ([document["value"]], [document["bound"]])
    assert document["sort_keys"]["values"] == instance.evaluate(result.plan)
    assert document["sort_keys"]["value"] == result.sort_key
    if result.status == "optimal":
        assert document["bound"] == document["value"]


def test_gaps_between_plans_that_defer_equally_many_and_others():
    """Two TE jobs of which one fits; FIFO defers both."""
    inst = small(te_demand=[[5, 2], [100, 100]])
    best = mlsched.solve(inst, "brute-force")
    deferred, base = inst.primary("total_score").split(best.sort_key)
    assert deferred == 1
    assert base > 0
    same = best.gap_to(best)
    assert (same.difference, same.share, str(same)) == (0, 0, "0 %")
    fifo = mlsched.solve(inst, "fifo").gap_to(best)
    assert (fifo.difference, fifo.share, str(fifo)) == (1, None, "1 more deferred TE jobs")
    # A worse choice of victims that defers the same job: its gap is that of the base values alone.
    worse = next(
        plan
        for plan in (
            Plan(te_node=[n, -1], victims=v) for n in range(2) for v in ([0], [1], [2], [0, 1], [0, 2], [0, 1, 2])
        )
        if not inst.violations(plan) and inst.evaluate(plan)["total_score"] > best.sort_key
    )
    found = mlsched.solve(inst, lambda instance, *, rng: worse).gap_to(best)
    value = sum(int(inst.score[j]) for j in worse.victims)
    assert found.share == (value - base) / base
    assert found.unit == "millionths"


def test_a_front_shows_who_waits_where_somebody_does():
    goals = ("total_score", "victim_count")
    waiting = mlsched.pareto(small(te_demand=[[5, 2], [100, 100]]), goals)
    table = waiting.table()
    assert list(table) == [*goals, "deferred"]
    for k, plan in enumerate(waiting.plans):
        figures = waiting.instance.values(waiting.instance.evaluate(plan))
        assert {name: int(column[k]) for name, column in table.items()} == {name: figures[name] for name in table}
    assert list(mlsched.pareto(small(), goals).table()) == list(goals)
