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
from mlsched.core.contract import Instance
from mlsched.core.errors import InvalidInput, UnknownName
from mlsched.core.files import atomic_write
from mlsched.core.formulation import Formulation, Outcome
from mlsched.core.models import MAX_VARIABLES, Group, Models, NamedModel, Size, sort_key, with_objective
from mlsched.core.params import Positive
from mlsched.core.registry import registry, scan_problems
from mlsched.core.request import Request, resolve_objective
from mlsched.core.solver import Solver

if TYPE_CHECKING:
    from mlsched.core.result import Result

#: Suffixes of files for models of linear rows, and for CP-SAT's.
LINEAR, PROTO = (".mps", ".lp"), (".pb", ".json")


class Model:
    """The model of an instance, for any solver: `mlsched.model` makes it.

    Attributes:
        instance: the instance.
        objective: the objective that the model optimises.
        also: further objectives that it has as expressions.
        pruned: whether it leaves plans out.
        left_out: the plans that it leaves out, in words; "" for none.

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
                known = ", ".join(self._models.objectives)
                raise UnknownName(f"the model of {instance.problem} has no objective '{name}'; there are {known}")
        left_out = [self._models.left_out] if pruned else []
        self.left_out = "; ".join(text for text in (*left_out, self._models.limits) if text)

    def __repr__(self) -> str:
        form = "pruned" if self.pruned else "complete"
        return short_repr(self, f"{form} model of {self.instance.problem}", *self._names)

    @functools.cached_property
    def pyomo(self) -> Any:
        """The Pyomo ConcreteModel, with its objective set.

        `value[NAME]` is the judge's sort key of each objective of the model, `base[NAME]` its value without the primary
        criterion. Both are exact where they are optimised or bounded in the direction of their sense.

        Raises:
            TooLarge: the model has more than `most_variables` variables.
        """
        import pyomo.environ as pyo

        made = with_objective(self._linear, self.instance, self.objective)
        made.value = pyo.Expression(self._names, initialize={n: sort_key(self._linear, n) for n in self._names})
        bases = {n: self._linear.objectives[n][-1].expression for n in self._names}
        made.base = pyo.Expression(
            self._names, initialize={n: e + self._linear.constant.get(n, 0) for n, e in bases.items()}
        )
        return made

    @functools.cached_property
    def cp_sat(self) -> Any:
        """The CP-SAT model, with its objective set. `cp_sat_names` has its variables.

        If the problem has no model of its own for CP-SAT, the Pyomo model is translated as it is at the first use.

        Raises:
            TooLarge: the model has more than `most_variables` variables.
        """
        made = self._native.formulation.model
        goal = self.cp_sat_names[f"value[{self.objective}]"]
        if self.instance.objective(self.objective).sense == "min":
            made.minimize(goal)
        else:
            made.maximize(goal)
        return made

    @functools.cached_property
    def cp_sat_names(self) -> Mapping[str, Any]:
        """Name -> variable, literal or number of the CP-SAT model; "value[NAME]": the sort key of an objective."""
        made = self._native
        return {**made.variables, **{f"value[{n}]": sort_key(made.formulation, n) for n in self._names}}

    @property
    def variables(self) -> Sequence[Group]:
        """The groups of variables that the Pyomo model has."""
        return [group for group in self._models.variables if self.pyomo.component(group.name) is not None]

    @property
    def constraints(self) -> Sequence[Group]:
        """The groups of constraints that the Pyomo model has."""
        return [group for group in self._models.constraints if self.pyomo.component(group.name)]

    @property
    def cp_sat_variables(self) -> Sequence[Group]:
        """The groups of variables that the CP-SAT model has."""
        native = self._models.cp_sat
        if native is None:
            return [group for group in self.variables if not group.doc.startswith("expression")]
        heads = {name.partition("[")[0] for name in self.cp_sat_names}
        return [group for group in native.variables if group.name in heads]

    @property
    def cp_sat_constraints(self) -> Sequence[Group]:
        """The groups of constraints that the CP-SAT model has."""
        native = self._models.cp_sat
        if native is None:
            return self.constraints
        heads = {constraint.name.partition("[")[0] for constraint in self.cp_sat.proto.constraints}
        return [group for group in native.constraints if group.name in heads]

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file: `.mps` and `.lp` with linear rows, `.pb` and `.json` for CP-SAT.

        Args:
            path: the file; its suffix says which form is written.

        Raises:
            InvalidInput: another suffix, or a file that cannot be written.
            TooLarge: the model has more than `most_variables` variables.
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
    """The models of an instance's problem; InvalidInput for a form of it without any."""
    main = registry().problem(instance.problem).instance_type
    if not isinstance(instance, main):
        raise InvalidInput(f"{instance.kind}: has no model; pass a {main.kind}")
    found = scan_problems("formulations", "MODELS", Models, instance.problem)
    if not found:
        raise InvalidInput(f"{instance.problem}: has no model; its package of formulations exports no MODELS")
    return found[0]


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
        instance: an instance of a problem's main form.
        objective: the objective to optimise (default: the first one).
        also: further objectives, as expressions that constraints can bound.
        pruned: leave out plans that no optimum needs. Constraints that are added to such a model may cut off the
            optimum; `left_out` names the plans.
        most_variables: the largest number of variables; a larger model is refused.

    Raises:
        InvalidInput: the instance has no model.
        UnknownName: the problem has no such objective.

    Examples:
        >>> m = mlsched.model(mlsched.generate("quality", "small"), "worst_loss")
        >>> [group.name for group in m.variables]
        ['cores', 'worst']
    """
    return Model(instance, resolve_objective(instance, objective).name, also, pruned, int(most_variables))


@validate_arguments
def plan_from(model: Model, solution: Any = None) -> Result:
    """Return the plan of a solved model, as the judge values it.

    Args:
        model: the model, as `mlsched.model` returned it, with any changes.
        solution: None for the values of `model.pyomo`; a `CpSolver` that solved `model.cp_sat`; or a dictionary of
            values by the names in a file that `model.write` wrote. Variables without a value are 0.

    Returns:
        A result without a bound: a changed model proves nothing about the instance.

    Raises:
        InvalidInput: the model has no solution.
        SolverError: the judge refuses the plan.

    Examples:
        >>> import pyomo.environ as pyo
        >>> m = mlsched.model(mlsched.generate("quality", "small"))
        >>> _ = pyo.SolverFactory("appsi_highs").solve(m.pyomo)
        >>> mlsched.plan_from(m).status
        'feasible'
    """
    from mlsched.api.judging import judged

    plan = _decoded(model, solution)
    solver = Solver("model", model.instance.problem, "heuristic", plan_from)
    return judged(
        Request(solver, model.objective, instance=model.instance), Outcome("feasible", plan, None), seconds=0.0
    )


def _decoded(model: Model, solution: Any) -> Any:
    if solution is None or isinstance(solution, Mapping):
        # Files for CP-SAT have names such as start[0,1], files of linear rows start(0_1).
        if solution is not None and any("[" in name for name in solution):
            return _of_names(model, solution)
        return model._linear.decode(_pyomo_values(model, solution))
    if not hasattr(solution, "value"):
        raise InvalidInput("solution: must be None, a CpSolver, or a dictionary of values by name")
    return model._native.formulation.decode(lambda v: int(solution.value(v)))


def _pyomo_values(model: Model, solution: Mapping[str, Any] | None) -> Callable[[Any], int]:
    """The values of Pyomo variables, or those of a file's names."""
    from pyomo.core.base.label import TextLabeler

    label = TextLabeler()
    import pyomo.environ as pyo

    every = list(model.pyomo.component_data_objects(pyo.Var))
    values = {id(v): v.value if solution is None else solution.get(label(v)) for v in every}
    if every and all(value is None for value in values.values()):
        raise InvalidInput("the model has no solution: solve it, or pass a CpSolver or values by the names of its file")
    return lambda variable: round(values[id(variable)] or 0)


def _of_names(model: Model, solution: Mapping[str, Any]) -> Any:
    """The plan of a CP-SAT model from values by name."""
    proto = model.cp_sat.proto

    def value_of(variable: Any) -> int:
        index = variable.index
        value = round(float(solution.get(proto.variables[index if index >= 0 else -index - 1].name, 0)))
        return value if index >= 0 else 1 - value

    return model._native.formulation.decode(value_of)
