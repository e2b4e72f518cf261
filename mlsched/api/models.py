"""Models out of the library, and plans back into it."""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlsched.core.arguments import validate_arguments
from mlsched.core.brief import short_repr
from mlsched.core.contract import Instance, Plan
from mlsched.core.errors import InvalidInput, UnknownName
from mlsched.core.files import atomic_write
from mlsched.core.formulation import Formulation, Outcome
from mlsched.core.models import MAX_VARIABLES, Group, Models, NamedModel, Size, sort_key, with_objective
from mlsched.core.params import Positive
from mlsched.core.registry import registry, scan_problems
from mlsched.core.request import Request, resolve_objective
from mlsched.core.solver import Solver

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

    from mlsched.core.result import Result

#: Suffixes of files for models with linear rows, and for CP-SAT models.
LINEAR, PROTO = (".mps", ".lp"), (".pb", ".json")


class Model:
    """Model of an instance, for any solver; created by `mlsched.model`.

    Attributes:
        instance: The instance.
        objective: Objective that the model optimises.
        also: Further objectives that it has as expressions.
        pruned: Whether it omits plans.
        left_out: Description of the omitted plans; "" if it is complete.

    Examples:
        >>> import pyomo.environ as pyo
        >>> m = mlsched.model(mlsched.generate("preemption", "small"), "victim_count")
        >>> m.pyomo.keep = pyo.Constraint(expr=m.pyomo.victim[3] == 0)
        >>> _ = pyo.SolverFactory("appsi_highs").solve(m.pyomo)
        >>> mlsched.plan_from(m).values["victim_count"]
        2
    """

    def __init__(
        self, instance: Instance, objective: str, also: Sequence[str], pruned: bool, most_variables: int
    ) -> None:
        self.instance, self.objective, self.also, self.pruned = instance, objective, tuple(also), pruned
        self._models = _models_of(instance)
        self._size = Size(not pruned, most_variables)
        self._names = tuple(dict.fromkeys((objective, *also)))
        for name in self._names:
            instance.objective(name)
            if name not in self._models.objectives:
                names = ", ".join(self._models.objectives)
                raise UnknownName(f"unknown objective '{name}' of the model of {instance.problem}; there are {names}")
        left_out = [self._models.left_out] if pruned else []
        self.left_out = "; ".join(text for text in (*left_out, self._models.limits) if text)

    def __repr__(self) -> str:
        form = "pruned" if self.pruned else "complete"
        return short_repr(self, f"{form} model of {self.instance.problem}", *self._names)

    @functools.cached_property
    def pyomo(self) -> Any:
        """The Pyomo ConcreteModel, with its objective set.

        `value[NAME]` is the judge's sort key of each objective of the model, `base[NAME]` its value without the primary
        criterion. Both are exact if they are optimised or bounded in the direction of their sense.

        Raises:
            TooLarge: The model has more than `most_variables` variables.
        """
        import pyomo.environ as pyo

        model = with_objective(self._linear, self.instance, self.objective)
        model.value = pyo.Expression(self._names, initialize={n: sort_key(self._linear, n) for n in self._names})
        bases = {n: self._linear.objectives[n][-1].expression for n in self._names}
        model.base = pyo.Expression(
            self._names, initialize={n: e + self._linear.constant.get(n, 0) for n, e in bases.items()}
        )
        return model

    @functools.cached_property
    def cp_sat(self) -> cp_model.CpModel:
        """The CP-SAT model, with its objective set; `cp_sat_names` has its variables.

        If the problem lacks its own CP-SAT model, the Pyomo model is translated as it is at the first use.

        Raises:
            TooLarge: The model has more than `most_variables` variables.
        """
        native_model: cp_model.CpModel = self._native.formulation.model
        goal = self.cp_sat_names[f"value[{self.objective}]"]
        if self.instance.objective(self.objective).sense == "min":
            native_model.minimize(goal)
        else:
            native_model.maximize(goal)
        return native_model

    @functools.cached_property
    def cp_sat_names(self) -> Mapping[str, cp_model.LinearExprT]:
        """Variable, literal or number of the CP-SAT model by name; "value[NAME]" is the sort key of an objective."""
        native = self._native
        return {**native.variables, **{f"value[{n}]": sort_key(native.formulation, n) for n in self._names}}

    @property
    def variables(self) -> Sequence[Group]:
        """Groups of variables in the Pyomo model."""
        return [group for group in self._models.variables if self.pyomo.component(group.name) is not None]

    @property
    def constraints(self) -> Sequence[Group]:
        """Groups of constraints in the Pyomo model."""
        return [group for group in self._models.constraints if self.pyomo.component(group.name)]

    @property
    def cp_sat_variables(self) -> Sequence[Group]:
        """Groups of variables in the CP-SAT model."""
        native = self._models.cp_sat
        if native is None:
            return [group for group in self.variables if not group.doc.startswith("expression")]
        heads = {name.partition("[")[0] for name in self.cp_sat_names}
        return [group for group in native.variables if group.name in heads]

    @property
    def cp_sat_constraints(self) -> Sequence[Group]:
        """Groups of constraints in the CP-SAT model."""
        native = self._models.cp_sat
        if native is None:
            return self.constraints
        heads = {constraint.name.partition("[")[0] for constraint in self.cp_sat.proto.constraints}
        return [group for group in native.constraints if group.name in heads]

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file: `.mps` and `.lp` with linear rows, `.pb` and `.json` for CP-SAT.

        Args:
            path: The file; its suffix selects the format.

        Raises:
            InvalidInput: The suffix is unknown, or the file cannot be written.
            TooLarge: The model has more than `most_variables` variables.
        """
        suffix = Path(path).suffix
        if suffix in LINEAR:
            with tempfile.TemporaryDirectory() as folder:
                self.pyomo.write(str(Path(folder, f"model{suffix}")), io_options={"symbolic_solver_labels": True})
                content = Path(folder, f"model{suffix}").read_bytes()
        elif suffix in PROTO:
            content = self._proto(suffix)
        else:
            raise InvalidInput(f"{path}: suffix '{suffix}', expected one of {', '.join((*LINEAR, *PROTO))}")
        with atomic_write(path, "wb") as stream:
            stream.write(content)

    def _proto(self, suffix: str) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder, "model.pb")
            if not self.cp_sat.export_to_file(str(place)):
                raise InvalidInput("the CP-SAT model could not be written; check the space in the temporary folder")
            content = place.read_bytes()
        if suffix == ".pb":
            return content
        from google.protobuf import json_format
        from ortools.sat import cp_model_pb2

        text: str = json_format.MessageToJson(cp_model_pb2.CpModelProto.FromString(content))
        return text.encode()

    @functools.cached_property
    def _linear(self) -> Formulation:
        return self._models.build(self.instance, self._names, self._size)

    @functools.cached_property
    def _native(self) -> NamedModel:
        if self._models.cp_sat is not None:
            return self._models.cp_sat.build(self.instance, self._names, self._size)
        from mlsched.solvers.front.program import translated

        expressions = {name: self.pyomo.value[name] for name in self._names}
        model, variables, goals = translated(self.pyomo, expressions)
        by_id = {id(self.pyomo.find_component(name)): variable for name, variable in variables.items()}

        def decode(value_of: Callable[[Any], int]) -> Any:
            return self._linear.decode(lambda variable: value_of(by_id[id(variable)]))

        return NamedModel(Formulation(model, goals, decode, lambda plan: []), variables)


def _models_of(instance: Instance) -> Models:
    """Return the models of an instance's problem; raise InvalidInput for a form without models."""
    main = registry().problem(instance.problem).instance_type
    if not isinstance(instance, main):
        raise InvalidInput(f"{instance.kind}: has no model; pass a {main.kind}")
    models = scan_problems("formulations", "MODELS", Models, instance.problem)
    if not models:
        raise InvalidInput(f"{instance.problem}: has no model; export MODELS in its package of formulations")
    return models[0]


@validate_arguments
def model(
    instance: Instance,
    objective: str | None = None,
    *,
    also: Sequence[str] = (),
    pruned: bool = False,
    most_variables: Positive = MAX_VARIABLES,
) -> Model:
    """Return the model of an instance, for Pyomo, for CP-SAT and for files.

    Args:
        instance: An instance of a problem's main form.
        objective: The objective to optimise (default: the first).
        also: Further objectives, as expressions that constraints can bound.
        pruned: Omit plans that no optimum needs. Constraints added to such a model may exclude the optimum; `left_out`
            names the plans.
        most_variables: Largest number of variables; a larger model is rejected.

    Returns:
        The model.

    Raises:
        InvalidInput: The instance lacks a model.
        UnknownName: The problem lacks that objective.

    Examples:
        >>> m = mlsched.model(mlsched.generate("quality", "small"), "worst_loss")
        >>> [group.name for group in m.variables]
        ['cores', 'worst']
    """
    return Model(instance, resolve_objective(instance, objective).name, also, pruned, int(most_variables))


@validate_arguments
def plan_from(model: Model, solution: cp_model.CpSolver | Mapping[str, int | float | None] | None = None) -> Result:
    """Return the plan of a solved model, as the judge values it.

    Args:
        model: A model from `mlsched.model`, with any changes.
        solution: None for the values of `model.pyomo`; a `CpSolver` that solved `model.cp_sat`; or a dictionary of
            values by the names in a file from `model.write`. Variables without a value are 0.

    Returns:
        A result without a bound: a changed model cannot prove facts about the instance.

    Raises:
        InvalidInput: The model has not been solved.
        SolverError: The judge rejects the plan.

    Examples:
        >>> import pyomo.environ as pyo
        >>> m = mlsched.model(mlsched.generate("quality", "small"))
        >>> _ = pyo.SolverFactory("appsi_highs").solve(m.pyomo)
        >>> mlsched.plan_from(m).status
        'feasible'
    """
    from mlsched.api.judging import judged

    plan = _decode_plan(model, solution)
    solver = Solver("model", model.instance.problem, "heuristic", plan_from)
    return judged(
        Request(solver, model.objective, instance=model.instance), Outcome("feasible", plan, None), seconds=0.0
    )


def _decode_plan(model: Model, solution: cp_model.CpSolver | Mapping[str, int | float | None] | None) -> Plan:
    if solution is None or isinstance(solution, Mapping):
        # Files for CP-SAT have names such as start[0,1], files of linear rows start(0_1).
        if solution is not None and any("[" in name for name in solution):
            return _plan_from_names(model, solution)
        return model._linear.decode(_pyomo_values(model, solution))
    if not hasattr(solution, "value"):
        raise InvalidInput("solution: expected None, a CpSolver, or a dictionary of values by name")
    return model._native.formulation.decode(lambda v: int(solution.value(v)))


def _pyomo_values(model: Model, solution: Mapping[str, int | float | None] | None) -> Callable[[Any], int]:
    """Return a function from a Pyomo variable to its value, from the model or by the names of a file."""
    from pyomo.core.base.label import TextLabeler

    label = TextLabeler()
    import pyomo.environ as pyo

    variables = list(model.pyomo.component_data_objects(pyo.Var))
    values = {id(v): v.value if solution is None else solution.get(label(v)) for v in variables}
    if variables and all(value is None for value in values.values()):
        raise InvalidInput("the model is not solved; solve it, or pass a CpSolver or values by the names of its file")
    return lambda variable: round(values[id(variable)] or 0)


def _plan_from_names(model: Model, solution: Mapping[str, int | float | None]) -> Plan:
    """Return the plan of a CP-SAT model from values by name."""
    proto = model.cp_sat.proto

    def value_of(variable: Any) -> int:
        index = variable.index
        value = round(float(solution.get(proto.variables[index if index >= 0 else -index - 1].name) or 0))
        return value if index >= 0 else 1 - value

    return model._native.formulation.decode(value_of)
