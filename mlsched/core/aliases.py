"""Names of types: arrays, plain data, and objects of libraries that lack types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:  # `--help` starts without NumPy
    import numpy.typing as npt

#: Array of numbers or truth values whose entry type NumPy derives.
Array: TypeAlias = "npt.NDArray[Any]"
#: Columns of a table by name, each an array or a list with one entry per row.
Columns: TypeAlias = dict[str, Any]
#: JSON object, or parameters and options by name.
Data: TypeAlias = dict[str, Any]
#: Model of a backend: of CP-SAT, MathOpt, Pyomo or highspy. The last three lack types.
BackendModel: TypeAlias = Any
#: Variable, linear expression and constraint of a backend's model.
Variable: TypeAlias = Any
Expression: TypeAlias = Any
Constraint: TypeAlias = Any
#: Result and parameters of a backend.
BackendResult: TypeAlias = Any
BackendParameters: TypeAlias = Any
