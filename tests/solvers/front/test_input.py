"""Which models and calls are taken, and in which words the others are refused."""

from __future__ import annotations

import pyomo.environ as pyo
import pytest
from ortools.sat.python import cp_model

from mlsched.core.errors import InvalidInput
from mlsched.solvers import enumerate_front


def cp():
    model = cp_model.CpModel()
    x, y = model.new_int_var(0, 5, "x"), model.new_bool_var("y")
    model.add(x + 3 * y >= 2)
    return model, x, y


def mip():
    model = pyo.ConcreteModel()
    model.x = pyo.Var(domain=pyo.Integers, bounds=(0, 5))
    model.y = pyo.Var(domain=pyo.Binary)
    model.c = pyo.Constraint(expr=model.x + 3 * model.y >= 2)
    return model, model.x, model.y


@pytest.mark.parametrize("make", [cp, mip])
def test_the_model_is_left_as_it_was(make):
    model, x, y = make()
    before = str(model.proto) if make is cp else [str(c.expr) for c in model.component_data_objects(pyo.Constraint)]
    for _ in range(2):
        front = enumerate_front(model, [x, y], ["min", "min"], variables=[y, x], decode=lambda v: (v(x), v(y)))
        assert front.sort_keys.tolist() == [[0, 1], [2, 0]]
        assert front.solutions == ((1, 0), (0, 2))
        assert front.plans == ((0, 1), (2, 0))
        assert len(front) == 2
    after = str(model.proto) if make is cp else [str(c.expr) for c in model.component_data_objects(pyo.Constraint)]
    assert before == after


def test_literals_constants_and_repeated_terms():
    model, x, y = cp()
    front = enumerate_front(model, [x + x - 2 * y + 7, 3 * ~y, 4], ["max", "max", "min"], variables=[~y])
    assert front.sort_keys.tolist() == [[17, 3, 4]]
    assert front.solutions == ((1,),)
    model, x, y = mip()
    front = enumerate_front(model, [x + x - 2 * y + 7, 3 * (1 - y), 4 + 0 * x], ["max", "max", "min"])
    assert front.sort_keys.tolist() == [[17, 3, 4]]


def test_objectives_without_range():
    model, x, _ = cp()
    front = enumerate_front(model, [x - x, x - x + 3, 5], ["min", "max", "min"])
    assert front.sort_keys.tolist() == [[0, 3, 5]]
    assert front.hypervolume([1, 2, 6]) == 1.0


def test_a_domain_with_holes_and_constraints_beyond_linear():
    model = cp_model.CpModel()
    x = model.new_int_var_from_domain(cp_model.Domain.from_values([1, 4, 9]), "x")
    y = model.new_int_var(0, 100, "y")
    model.add_multiplication_equality(y, [x, x])
    front = enumerate_front(model, [x, y], ["max", "min"])
    assert front.sort_keys.tolist() == [[9, 81], [4, 16], [1, 1]]
    assert front.verify("cp-sat") == []
    with pytest.raises(InvalidInput, match="domain has holes"):
        front.verify()


def test_fixed_and_continuous_variables_of_pyomo():
    model, x, y = mip()
    model.z = pyo.Var(bounds=(0, 1.5))
    model.d = pyo.Constraint(expr=x + 2 * model.z >= 4)
    front = enumerate_front(model, [x, y], ["min", "min"])
    assert front.sort_keys.tolist() == [[1, 1], [2, 0]]
    y.fix(1)
    assert enumerate_front(model, [x, y], ["min", "min"]).sort_keys.tolist() == [[1, 1]]


def test_unbounded_above_is_no_obstacle():
    model = pyo.ConcreteModel()
    model.x = pyo.Var([0, 1], domain=pyo.NonNegativeIntegers)
    model.c = pyo.Constraint(expr=model.x[0] + model.x[1] >= 3)
    front = enumerate_front(model, [model.x[0], model.x[1]], ["min", "min"])
    assert front.sort_keys.tolist() == [[0, 3], [1, 2], [2, 1], [3, 0]]
    three = enumerate_front(model, [model.x[0], model.x[1], model.x[0] - 2 * model.x[1] + 7 * model.x[1]], ["min"] * 3)
    assert three.complete
    with pytest.raises(InvalidInput, match="stages = 'one': would need an objective without bounds"):
        enumerate_front(model, [model.x[0], model.x[1]], ["min", "min"], stages="one")
    # Bounded below by a row only: found by a solve of its own.
    model.y = pyo.Var(domain=pyo.Integers)
    model.d = pyo.Constraint(expr=model.y >= model.x[0] - 4)
    front = enumerate_front(model, [model.y, model.x[1]], ["min", "min"])
    assert front.sort_keys.tolist() == [[-4, 3], [-3, 2], [-2, 1], [-1, 0]]


def with_objective():
    model, x, y = cp()
    model.minimize(x)
    return model, [x, y], ["min", "min"]


def with_pyomo_objective():
    model, x, y = mip()
    model.o = pyo.Objective(expr=x)
    return model, [x, y], ["min", "min"]


def foreign():
    other = mip()
    model, x, _ = mip()
    return model, [x, other[1]], ["min", "min"]


def one_of_two():
    model, x, y = mip()
    model.two = pyo.Var(range(2), domain=pyo.Integers, bounds=(0, 5))
    model.one = pyo.SOSConstraint(var=model.two, sos=1)
    return model, [x, y], ["min", "min"]


def with_product():
    model, x, y = mip()
    model.product = pyo.Constraint(expr=x * y >= 1)
    return model, [x, y], ["min", "min"]


def continuous():
    model, x, _ = mip()
    model.z = pyo.Var(bounds=(0, 1))
    return model, [x, model.z], ["min", "min"]


def of_cp(*objectives, senses=("min", "min")):
    def make():
        model, x, y = cp()
        return model, [o(x, y) for o in objectives], senses

    return make


def of_mip(*objectives, senses=("min", "min")):
    def make():
        model, x, y = mip()
        return model, [o(x, y) for o in objectives], senses

    return make


BAD = [
    (with_objective, "already has an objective; give it as one of"),
    (with_pyomo_objective, "already has an objective; give it as one of"),
    (foreign, "objective 1: names x, a variable of another model"),
    (one_of_two, "active components other than linear rows: SOSConstraint"),
    (with_product, "constraint product is not linear"),
    (continuous, "objective 1: z is continuous; only integer variables may appear"),
    (of_cp(lambda x, y: x, lambda x, y: 0.5 * y), "objective 1: .*expected linear with integer coefficients; scale"),
    (of_cp(lambda x, y: x, lambda x, y: "y"), "objective 1: y, expected linear"),
    (of_mip(lambda x, y: x, lambda x, y: 0.5 * y), "objective 1: has the coefficient 0.5, expected integers; scale"),
    (of_mip(lambda x, y: x, lambda x, y: x * y), "objective 1: is not linear; replace products"),
    (of_cp(lambda x, y: x), "1 given: a front needs two or more; for one, solve"),
    (of_cp(lambda x, y: x, lambda x, y: y, senses=("min",)), "must name 'min' or 'max' for each of the 2 objectives"),
    (of_cp(lambda x, y: x, lambda x, y: y, senses=("min", "up")), "senses: 'up', expected 'min' or 'max'"),
    (of_cp(lambda x, y: x, lambda x, y: 2**60 * y), "expected below 2.53|beyond 2.53; scale it down"),
    (of_cp(lambda x, y: x, lambda x, y: 2**52 * x), "objective 1 can reach .*, expected below 2.53"),
    (lambda: ([], [1, 2], ["min", "min"]), "model: a list, expected an ortools CpModel or a Pyomo model"),
]


@pytest.mark.parametrize(("make", "words"), BAD, ids=[words[:40] for _, words in BAD])
def test_what_is_refused(make, words):
    with pytest.raises(InvalidInput, match=words) as caught:
        enumerate_front(*make())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"method": "simplex"}, "method: 'simplex', expected one of epsilon-constraint, laumanns, tamby"),
        ({"stages": "three"}, "stages: 'three', expected one of one, two"),
        ({"time_limit": 0}, "time_limit: 0, expected above 0"),
        ({"solve_limit": -1}, "solve_limit: -1, expected at least 1"),
        ({"threads": 0}, "threads: 0, expected between 1 and 10000"),
    ],
)
def test_calls_that_are_refused(settings, words):
    model, x, y = cp()
    with pytest.raises(InvalidInput, match=words):
        enumerate_front(model, [x, y], ["min", "min"], **settings)


def test_epsilon_constraint_is_for_two_objectives():
    model, x, y = cp()
    with pytest.raises(InvalidInput, match="method = 'epsilon-constraint': is for 2 objectives, not 3"):
        enumerate_front(model, [x, y, x + y], ["min"] * 3, method="epsilon-constraint")


def test_weights_that_do_not_fit_one_stage():
    model, x, y = cp()
    big = 2**49
    with pytest.raises(InvalidInput, match="stages = 'one': would need a weighted sum beyond"):
        enumerate_front(model, [big * x, -big * x, y], ["min"] * 3, stages="one")
    assert enumerate_front(model, [big * x, -big * x, y], ["min"] * 3).complete


def test_a_front_of_an_infeasible_model_is_empty_and_complete():
    model, x, y = cp()
    model.add(x >= 6)
    front = enumerate_front(model, [x, y], ["min", "min"])
    assert (front.status, front.complete, len(front), front.sort_keys.shape) == ("infeasible", True, 0, (0, 2))
    assert front.hypervolume([1, 1]) == 0.0
    assert front.verify() == []


def test_a_reference_point_of_the_wrong_length():
    model, x, y = cp()
    with pytest.raises(InvalidInput, match=r"ref: \[1\], expected 2 numbers"):
        enumerate_front(model, [x, y], ["min", "min"]).hypervolume([1])
