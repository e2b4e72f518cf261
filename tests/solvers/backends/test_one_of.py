"""A disjunction whose k-th sub-solve fails: the answer is never called optimal or infeasible, the bound stays valid."""

from __future__ import annotations

import dataclasses

import pytest
from preemption_examples import row

from mlsched import api
from mlsched.core import deadline
from mlsched.core.errors import BackendError
from mlsched.core.formulation import Limits, OneOf, Outcome, Part
from mlsched.core.registry import registry
from mlsched.instances.preemption import Instance, Plan
from mlsched.solvers.backends import cp_sat, highs
from mlsched.solvers.backends.one_of import Budget, check_hint, solve_one_of

#: What `limits.work` limits in these tests.
UNIT = "deterministic_time"
BACKENDS = {"cp-sat": cp_sat.minimise, "highs": highs.minimise}


def nodes_of_falling_cost(count: int = 4) -> Instance:
    """`count` nodes; on node n the TE job (3 gpu) needs both jobs of 2 gpu, of which the bound counts one and a half.

    Scores are about 4 + 4 / (4 + n), so that no branch's bound excludes it: total_score solves every branch.
    """
    base = row([2, 2], [3])
    k = range(count)
    return Instance(
        resources=base.resources,
        node_capacity=[[4 + n] for n in k],
        node_free=[[0]] * count,
        node_draining=[[0]] * count,
        job_node=[n for n in k for _ in range(2)],
        job_demand=[[2]] * (2 * count),
        job_grace=[1000 + count - n for n in k for _ in range(2)],
        job_preemptions=[0] * (2 * count),
        job_remaining=[1] * (2 * count),
        te_demand=[[3]],
    )


def question(solver: str, instance: Instance, objective: str) -> OneOf:
    found, values = registry().solver("preemption", solver)
    made = found.function(instance, objectives=(objective,), **values)
    assert isinstance(made, OneOf)
    return made


class Flaky:
    """A real backend, except that its k-th call says `outcome` instead (an exception is raised)."""

    def __init__(self, backend, k: int, outcome) -> None:
        self.backend, self.k, self.outcome, self.calls = backend, k, outcome, 0

    def __call__(self, formulation, objective, sense, limits, hint, better_than=None):
        self.calls += 1
        if self.calls - 1 != self.k:
            return self.backend(formulation, objective, sense, limits, hint, better_than)
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


def run(solver, instance, objective, backend, limits=Limits(), asked=None):  # noqa: B008
    asked = asked or question(solver, instance, objective)
    return solve_one_of(
        asked, objective, "min", Budget(limits, UNIT), None, backend, lambda p: instance.evaluate(p)[objective]
    )


@pytest.mark.parametrize("objective", ["total_score", "max_grace_period"])
@pytest.mark.parametrize("reason", ["time limit", "work limit", "backend"])
def test_every_sub_solve_that_is_cut_short_leaves_a_valid_answer(solver, objective, reason):
    inst = nodes_of_falling_cost()
    best = api.solve(inst, "brute-force", objective=objective).sort_key
    clean = Flaky(BACKENDS[solver], -1, None)
    assert run(solver, inst, objective, clean).status == "optimal"
    assert clean.calls == (4 if objective == "total_score" else 1), "its bound of max_grace_period is exact"
    for k in range(clean.calls):
        for bound in (None, 0):
            flaky = Flaky(BACKENDS[solver], k, Outcome("unknown", None, bound, reason))
            found = run(solver, inst, objective, flaky)
            assert flaky.calls > k, "the failure was met"
            assert found.plan is not None, "the fallback or another branch answers"
            assert inst.violations(found.plan) == []
            assert found.bound <= best
            assert found.status == "feasible"
            assert found.stopped_by == reason


def test_a_plan_of_a_branch_that_was_cut_short_is_kept(solver):
    inst = nodes_of_falling_cost()
    best = api.solve(inst, "brute-force", objective="max_grace_period")
    first = Flaky(BACKENDS[solver], 0, Outcome("feasible", best.plan, best.sort_key - 1, "time limit"))
    found = run(solver, inst, "max_grace_period", first)
    assert (found.status, found.bound, found.stopped_by) == ("feasible", best.sort_key - 1, "time limit")
    assert inst.evaluate(found.plan)["max_grace_period"] == best.sort_key


def test_a_cut_short_branch_whose_bound_meets_the_incumbent_is_a_proof(solver):
    inst = nodes_of_falling_cost()
    best = api.solve(inst, "brute-force", objective="max_grace_period")
    first = Flaky(BACKENDS[solver], 0, Outcome("feasible", best.plan, best.sort_key, "time limit"))
    found = run(solver, inst, "max_grace_period", first)
    assert (found.status, found.bound, found.stopped_by) == ("optimal", best.sort_key, "proof")


def test_an_error_of_the_backend_is_never_swallowed(solver):
    inst = nodes_of_falling_cost()
    for k in range(4):
        flaky = Flaky(BACKENDS[solver], k, BackendError("licence server is down"))
        with pytest.raises(BackendError, match="licence server is down"):
            run(solver, inst, "total_score", flaky)


PLANS = {value: Plan(te_node=[value], victims=[]) for value in range(100)}


def scripted(parts: dict[int, Outcome], fallback=None) -> tuple[OneOf, object]:
    """Parts by bound, each with the outcome its solve has; the value of a plan is the node it names."""
    order = []

    def backend(formulation, objective, sense, limits, hint, better_than=None):
        order.append(formulation)
        return parts[formulation]

    asked = OneOf([Part(b, lambda b=b: b) for b in reversed(parts)], fallback=fallback)
    return asked, backend, order


def ask(asked, backend, sense="min", limits=Limits()):  # noqa: B008
    return solve_one_of(asked, "o", sense, Budget(limits, UNIT), None, backend, lambda p: int(p.te_node[0]))


INFEASIBLE = Outcome("infeasible", None, None)


def optimal(value: int) -> Outcome:
    return Outcome("optimal", PLANS[value], value)


def test_parts_are_taken_by_bound_and_those_that_cannot_win_are_never_solved():
    asked, backend, order = scripted({1: optimal(9), 4: optimal(6), 6: optimal(6), 8: optimal(8)})
    assert ask(asked, backend).bound == 6
    assert order == [1, 4]


def test_maximising_takes_the_highest_bound_first():
    asked, backend, order = scripted({9: optimal(3), 8: optimal(7), 7: optimal(1)})
    found = ask(asked, backend, "max")
    assert (found.status, found.bound, int(found.plan.te_node[0])) == ("optimal", 7, 7)
    assert order == [9, 8]


def test_without_fallback_only_proofs_make_it_infeasible():
    asked, backend, _ = scripted({1: INFEASIBLE, 2: INFEASIBLE})
    assert ask(asked, backend) == Outcome("infeasible", None, None, "proof", {})
    for k in (1, 2):
        parts = {1: INFEASIBLE, 2: INFEASIBLE, k: Outcome("unknown", None, None, "time limit")}
        found = ask(*scripted(parts)[:2])
        assert (found.status, found.plan, found.bound, found.stopped_by) == ("unknown", None, k, "time limit")


def test_no_parts_at_all():
    assert ask(*scripted({})[:2]).status == "infeasible"
    assert ask(*scripted({}, PLANS[5])[:2]) == Outcome("optimal", PLANS[5], 5, "proof", {})


def test_the_bound_of_the_whole_is_the_worst_open_one():
    cut = Outcome("unknown", None, 3, "work limit")
    found = ask(*scripted({1: cut, 2: optimal(20), 4: Outcome("feasible", PLANS[15], 12, "time limit")}, PLANS[50])[:2])
    assert (found.status, found.bound) == ("feasible", 3)
    found = ask(*scripted({18: Outcome("unknown", None, 12, "time limit"), 15: optimal(11)}, PLANS[50])[:2], "max")
    assert (found.status, found.bound, int(found.plan.te_node[0])) == ("optimal", 50, 50), "the fallback wins a maximum"


def test_when_time_is_up_the_rest_is_open_not_done():
    asked, backend, order = scripted({1: optimal(9), 2: optimal(8)}, PLANS[50])
    found = ask(asked, backend, limits=Limits(seconds=0.0))
    assert order == []
    assert (found.status, found.bound, found.stopped_by) == ("feasible", 1, "time limit")


def test_when_work_is_spent_the_rest_is_open_not_done():
    done = dataclasses.replace(optimal(9), work={"deterministic_time": 2.0})
    asked, backend, order = scripted({1: done, 2: optimal(8)}, PLANS[50])
    found = ask(asked, backend, limits=Limits(work=2.0))
    assert order == [1]
    assert (found.status, found.bound, found.stopped_by) == ("feasible", 2, "work limit")
    assert found.work == {"deterministic_time": 2.0}


def test_limits_shrink_as_parts_are_solved(ticking):
    ticking(deadline, seconds=1.0)
    seen = []

    def backend(formulation, objective, sense, limits, hint, better_than=None):
        seen.append(limits)
        return Outcome("unknown", None, None, "work limit", {"deterministic_time": 1.0})

    asked = OneOf([Part(b, lambda b=b: b) for b in (1, 2, 3)], fallback=PLANS[50])
    ask(asked, backend, limits=Limits(seconds=100, work=2.5, threads=3, seed=4))
    assert [x.work for x in seen] == [2.5, 1.5, 0.5]
    assert [x.seconds for x in seen] == [98, 96, 94], "two looks at the clock a part"
    assert all((x.threads, x.seed) == (3, 4) for x in seen)


def test_a_variable_hinted_twice_is_refused():
    a, b = object(), object()
    check_hint([(a, 1), (b, 0)])
    with pytest.raises(ValueError, match="hints a variable twice"):
        check_hint([(a, 1), (b, 0), (a, 0)])
