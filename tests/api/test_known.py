"""A plan that is known is never lost, and an exact answer that a limit ended has a bound."""

from __future__ import annotations

import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from mlsched import api, solver
from mlsched.api import exact
from mlsched.core.errors import BackendError, SolverError, TooLarge
from mlsched.core.formulation import Outcome
from mlsched.core.registry import registry
from mlsched.core.request import Request
from mlsched.core.solver import Solver
from mlsched.instances.taskgraph import Instance

PROBLEMS = sorted(registry().problems)


@settings(max_examples=draws(10, 400))
@pytest.mark.parametrize("problem", PROBLEMS)
@given(data=st.data())
def test_no_plan_is_better_than_the_trivial_bound(problem, data):
    instance = data.draw(registry().problem(problem).strategy())
    for objective in instance.objectives:
        bound = exact.trivial_bound(instance, objective.name)
        try:
            found = api.solve(instance, "brute-force", objective=objective.name)
        except TooLarge:
            continue
        if found.sort_key is not None:
            assert bound == found.sort_key or objective.better(bound, found.sort_key)


@pytest.mark.parametrize(
    ("duration", "fixed", "least", "bound"),
    [((0, 0), [0, 1], 0, 0), ((0, 0), [0], 0, 1), ((3, 0), [0], 0, 3), ((3, 2), [0], 2, 3), ((3, 2), [0], 3, 6)],
)
def test_what_is_under_way_ends_when_it_ends(duration, fixed, least, bound):
    """One job; its first iteration ended at 1, which is now, and the tasks `fixed` began the second at 0."""
    nothing = [0] * len(fixed)
    instance = Instance(
        resources=["gpu"], node_capacity=[[2]], arrival=[0], deadline=[0], urgency=[0], required=[0],
        min_iterations=[least], max_iterations=[3], accuracy=[[0] * 4], task_job=[0, 0], duration=duration,
        demand=[[1], [1]], eligible=[[1], [1]], parameters=[0, 0], edge_from=[], edge_to=[], edge_lag=[],
        edge_volume=[], edge_delay=[], now=1, finished=[1], on_time=[0], home=[0, 0], last_end=[1, 1],
        fixed_task=fixed, fixed_node=nothing, fixed_start=nothing,
    )  # fmt: skip
    assert exact.trivial_bound(instance, "total_jct") == bound
    assert api.solve(instance, "brute-force").sort_key >= bound


def test_a_start_at_the_trivial_bound_is_proved_without_a_search(monkeypatch):
    instance = next(
        drawn
        for drawn in (api.generate("preemption", "small", seed=seed) for seed in range(100))
        if (rule := api.solve(drawn, "fitgpp")).sort_key == exact.trivial_bound(drawn, rule.objective)
    )
    best = api.solve(instance, "brute-force").sort_key

    def refuse(request):
        raise AssertionError("the solver was called")

    monkeypatch.setattr("mlsched.solvers.run", refuse)
    found = api.solve(instance, "cp-sat")
    assert (found.status, found.sort_key, found.sort_bound, found.stopped_by) == ("optimal", best, best, "proof")


@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_trivial_bound_of_a_preset(problem):
    """Feasible plans of rules are no better, where brute force does not reach."""
    for preset in list(registry().problem(problem).presets)[:3]:
        instance = api.generate(problem, preset, seed=1)
        rules = sorted(registry().available(problem, "heuristic"), key=lambda rule: not rule.warm_start)
        values = api.solve(instance, rules[0].name).sort_keys
        for objective in instance.objectives:
            assert not objective.better(values[objective.name], exact.trivial_bound(instance, objective.name))


@pytest.fixture
def ends(monkeypatch):
    """`ends(outcome)`: the preemption solver "ends" returns that, whatever it is asked."""

    def declare(outcome: Outcome, **details) -> None:
        def answer(instance, *, objective, limits, hint=None):
            return outcome

        answer.__module__ = OWN
        objectives = tuple(o.name for o in INSTANCE.objectives)
        declared = Solver(
            "ends", "preemption", "exact", answer, objectives, algorithm=answer, takes_hint=True, **details
        )
        monkeypatch.setitem(registry().solvers, ("preemption", "ends"), declared)

    return declare


#: Module of one of mlsched's own solvers, whose answers include the warm-start rules' plans.
OWN = "mlsched.solvers.ends"
INSTANCE = api.generate("preemption", "surge", seed=0)
BEST = api.solve(INSTANCE, "cp-sat")
NOTHING = INSTANCE.plan_type(te_node=[-1] * len(INSTANCE.te_demand), victims=[])


def test_a_search_that_finds_nothing_gives_the_start_and_a_bound(ends):
    ends(Outcome("unknown", None, None, "time limit"))
    rule = min(api.solve(INSTANCE, name).sort_key for name in ("fitgpp", "min-max-grace"))
    found = api.solve(INSTANCE, "ends")
    assert (found.status, found.sort_key, found.sort_bound, found.stopped_by) == ("feasible", rule, 0, "time limit")
    assert found.evidence is None
    cold = api.solve(INSTANCE, "ends", hint="none")
    assert (cold.status, cold.plan, cold.sort_bound) == ("unknown", None, 0)


def test_the_best_of_hint_and_rules_stays(ends):
    ends(Outcome("feasible", NOTHING, None, "time limit"))
    assert api.solve(INSTANCE, "ends", hint=BEST.plan).sort_key == BEST.sort_key
    rule = min(api.solve(INSTANCE, name).sort_key for name in ("fitgpp", "min-max-grace"))
    assert api.solve(INSTANCE, "ends", hint=NOTHING).sort_key == rule


def test_a_start_that_reaches_the_bound_is_optimal(ends):
    ends(Outcome("unknown", None, BEST.sort_bound, "work limit"))
    found = api.solve(INSTANCE, "ends", hint=BEST.plan)
    assert (found.status, found.sort_key, found.stopped_by, found.evidence) == (
        "optimal",
        BEST.sort_key,
        "proof",
        "unconfirmed",
    )


def test_a_bound_is_never_weaker_than_the_statements(ends):
    """CP-SAT that is stopped early says what follows from the ranges of its variables."""
    for status, plan in (("unknown", None), ("feasible", NOTHING)):
        ends(Outcome(status, plan, -68_796_960_202_612, "time limit"))
        assert api.solve(INSTANCE, "ends").sort_bound == 0
        assert api.solve(INSTANCE, "ends", hint="none").sort_bound == 0
    ends(Outcome("feasible", NOTHING, 5, "time limit"))
    assert api.solve(INSTANCE, "ends").sort_bound == 5
    quality = api.generate("quality", "small", seed=1)
    beyond, trivial = (
        Outcome("unknown", None, 2**60, "time limit"),
        exact.trivial_bound(quality, "total_loss_reduction"),
    )
    declared = registry().solvers["quality", "highs"]
    request = Request(declared, "total_loss_reduction", instance=quality)
    assert exact.with_incumbent(request, None, beyond, exact.Values(request)).bound == trivial < 2**60


def test_each_plan_is_evaluated_once_and_the_bound_is_computed_once(monkeypatch):
    """One call asks for the values of its starts at up to three places, and for the trivial bound at two."""
    evaluated, bounds = [], []
    evaluate, trivial = type(INSTANCE).evaluate, exact.trivial_bound
    monkeypatch.setattr(type(INSTANCE), "evaluate", lambda self, plan: evaluated.append(plan) or evaluate(self, plan))
    monkeypatch.setattr(exact, "trivial_bound", lambda *asked: bounds.append(asked) or trivial(*asked))
    request = Request(registry().solvers[INSTANCE.problem, "cp-sat"], INSTANCE.objectives[0].name, instance=INSTANCE)
    stopped = exact.solve_exactly(request, lambda started: Outcome("feasible", started.start, None, "time limit"))
    assert stopped.plan is not None
    assert len(evaluated) == len({id(plan) for plan in evaluated}) > 1
    assert len(bounds) == 1


def test_a_restricted_model_knows_plans_and_no_bound(ends):
    ends(Outcome("unknown", None, None, "time limit"), restricted=True)
    found = api.solve(INSTANCE, "ends")
    rule = min(api.solve(INSTANCE, name).sort_key for name in ("fitgpp", "min-max-grace"))
    assert (found.status, found.sort_key, found.sort_bound) == ("feasible", rule, None)
    assert api.solve(INSTANCE, "ends", hint=BEST.plan).sort_key == BEST.sort_key
    assert api.solve(INSTANCE, "ends", hint="none").status == "unknown"


@pytest.mark.parametrize("hint", [None, NOTHING, BEST.plan])
def test_no_backend_error_loses_a_known_plan(monkeypatch, hint):
    from mlsched import solvers

    def fails(*given, **more):
        raise BackendError("highs: the backend broke down")

    rule = min(api.solve(INSTANCE, name).sort_key for name in ("fitgpp", "min-max-grace"))
    monkeypatch.setattr(solvers, "run", fails)
    found = api.solve(INSTANCE, "highs", hint=hint)
    assert found.sort_key == (BEST.sort_key if hint is BEST.plan else rule)
    assert (found.status, found.sort_bound, found.stopped_by, found.evidence) == ("feasible", 0, "backend", None)
    assert found.doubt == "the plan is where it started: highs: the backend broke down"
    with pytest.raises(BackendError, match="broke down"):
        api.solve(INSTANCE, "highs", hint="none")


def test_what_cannot_start_from_a_plan_knows_the_rules_all_the_same(monkeypatch):
    def gives_up(instance, *, objective, limits, hint):
        return Outcome("unknown", None, None, "time limit")

    gives_up.__module__ = OWN
    objectives = tuple(o.name for o in INSTANCE.objectives)
    declared = Solver("ends", "preemption", "exact", gives_up, objectives, algorithm=gives_up)
    monkeypatch.setitem(registry().solvers, ("preemption", "ends"), declared)
    rule = min(api.solve(INSTANCE, name).sort_key for name in ("fitgpp", "min-max-grace"))
    assert api.solve(INSTANCE, "ends").sort_key == rule
    assert api.solve(INSTANCE, "ends", hint=NOTHING).sort_key == rule
    assert api.solve(INSTANCE, "ends", hint=BEST.plan).sort_key == BEST.sort_key
    assert api.solve(INSTANCE, "ends", hint="none").plan is None


@pytest.mark.parametrize("answer", ["optimal", "feasible", "fails"])
def test_what_starts_cold_is_asked_before_the_rules(monkeypatch, answer):
    """They are asked only where it proves nothing."""
    from mlsched import solvers

    started, asked = [], []

    def run(request):
        started.append(request.start)
        if answer == "fails":
            raise BackendError("the backend broke down")
        plan, bound = (BEST.plan, BEST.sort_key) if answer == "optimal" else (NOTHING, None)
        return Outcome(answer, plan, bound, "proof" if answer == "optimal" else "time limit")

    run.__module__ = OWN
    objectives = tuple(o.name for o in INSTANCE.objectives)
    declared = Solver(
        *("cold", "preemption", "exact", run, objectives), algorithm=run, takes_hint=True, cold=lambda *_: True
    )
    rule = min(api.solve(INSTANCE, name).sort_key for name in ("fitgpp", "min-max-grace"))
    monkeypatch.setitem(registry().solvers, ("preemption", "cold"), declared)
    monkeypatch.setattr(solvers, "run", run)
    honest = exact.call_solver
    monkeypatch.setattr(exact, "call_solver", lambda call: asked.append(call.solver.name) or honest(call))
    found = api.solve(INSTANCE, "cold")
    assert found.sort_key == (BEST.sort_key if answer == "optimal" else rule)
    assert started == [None]
    assert bool(asked) == (answer != "optimal")
    assert api.solve(INSTANCE, "cold", hint=BEST.plan).sort_key == BEST.sort_key
    assert started[1] is BEST.plan


def test_every_warm_start_rule_is_asked_beside_a_hint(monkeypatch):
    """Also those that search, which a hint of a weak plan once put out of work."""
    instance = api.generate("placement", "6x3", seed=3)
    asked = []
    honest = exact.call_solver
    monkeypatch.setattr(exact, "call_solver", lambda call: asked.append(call.solver.name) or honest(call))
    hint = api.solve(instance, "load-balancing").plan
    for plan in (None, hint):
        asked.clear()
        api.solve(instance, "cp-sat", hint=plan)
        rules = [a.name for a in registry().available("placement") if a.warm_start]
        assert sorted(asked) == sorted(rules)
        assert "local-search" in asked


@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_hint_that_is_no_better_than_the_rules_changes_nothing(problem):
    instance = api.generate(problem, "small", seed=5)
    for rule in (a for a in registry().available(problem, "heuristic") if a.warm_start):
        hint = api.solve(instance, rule.name).plan
        for name in ("cp-sat", "highs"):
            if (problem, name) in registry().solvers:
                cold, warm = (api.solve(instance, name, work_limit=0.001, hint=h) for h in (None, hint))
                assert (warm.plan, warm.sort_bound) == (cold.plan, cold.sort_bound)


@pytest.mark.parametrize("backend", ["cp-sat", "highs"])
@pytest.mark.parametrize(("problem", "preset"), [("preemption", "paper-surge"), ("workers", "x40")])
def test_models_under_a_short_limit(monkeypatch, problem, preset, backend):
    """Where a backend stops at once, a rule's plan is the answer."""
    from mlsched import solvers

    monkeypatch.setattr(solvers, "run", lambda *given, **more: Outcome("unknown", None, None, "time limit"))
    found = api.solve(api.generate(problem, preset, seed=0), backend, time_limit=0.1)
    assert found.status == "feasible"
    assert found.sort_bound is not None


def another_packages(outcome: Outcome, takes_hint: bool):
    """An exact solver of a user, which returns `outcome` whatever it receives."""
    details = {"kind": "exact", "backend": "direct", "objectives": (INSTANCE.objectives[0].name,)}
    if takes_hint:

        @solver("theirs", problem="preemption", **details)
        def answer(instance, *, objective, limits, hint):
            received.append(hint)
            return outcome
    else:

        @solver("theirs", problem="preemption", **details)
        def answer(instance, *, objective, limits):
            return outcome

    received = answer.received = []
    return answer


@pytest.mark.parametrize("takes_hint", [False, True])
def test_the_plan_of_another_packages_solver_is_its_own(takes_hint):
    """The rules' plans are better; they are offered as a start, and do not replace its plan."""
    poor = INSTANCE.evaluate(NOTHING)[INSTANCE.objectives[0].name]
    assert api.solve(INSTANCE, "fitgpp").sort_key < poor
    theirs = another_packages(Outcome("feasible", NOTHING, None, "time limit"), takes_hint)
    for hint in (None, BEST.plan, "none"):
        found = api.solve(INSTANCE, theirs, hint=hint)
        assert (found.plan, found.sort_key, found.sort_bound) == (NOTHING, poor, 0)
    if takes_hint:
        assert [hint is not None for hint in theirs.received] == [True, True, False]
    nothing = another_packages(Outcome("unknown", None, None, "time limit"), takes_hint)
    found = api.solve(INSTANCE, nothing)
    assert (found.status, found.plan) == ("unknown", None)


def test_another_packages_solver_is_called_although_a_rule_is_optimal():
    instance = next(
        drawn
        for drawn in (api.generate("preemption", "small", seed=seed) for seed in range(100))
        if (rule := api.solve(drawn, "fitgpp")).sort_key == exact.trivial_bound(drawn, rule.objective)
    )
    theirs = another_packages(Outcome("unknown", None, None, "time limit"), takes_hint=True)
    assert api.solve(instance, theirs).plan is None


@pytest.mark.parametrize("takes_hint", [False, True])
def test_a_bound_that_a_rules_plan_contradicts_names_the_plan(takes_hint):
    rule = min((api.solve(INSTANCE, name) for name in ("fitgpp", "min-max-grace")), key=lambda found: found.sort_key)
    value = f"{rule.objective} = {rule.sort_key}"
    liar = another_packages(Outcome("feasible", NOTHING, rule.sort_key + 1, "time limit"), takes_hint)
    with pytest.raises(SolverError, match=f"contradicts the judge's {value} of the plan of (fitgpp|min-max-grace)$"):
        api.solve(INSTANCE, liar)
    assert api.solve(INSTANCE, liar, hint="none").plan == NOTHING
    value = f"{rule.objective} = {BEST.sort_key}"
    with pytest.raises(SolverError, match=f"contradicts the judge's {value} of the hint$"):
        api.solve(INSTANCE, liar, hint=BEST.plan)
    beyond = another_packages(Outcome("feasible", NOTHING, 2**60, "time limit"), takes_hint)
    with pytest.raises(SolverError, match=r"of its own plan$"):
        api.solve(INSTANCE, beyond, hint="none")
