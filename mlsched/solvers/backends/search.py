"""One CP-SAT search that can be stopped at any time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mlsched.core.aliases import BackendModel, BackendParameters
from mlsched.core.errors import BackendError
from mlsched.solvers.backends.interruptible import interruptible
from mlsched.solvers.backends.limits import WORK


class Search:
    """A search of a model with its objective; the parameters contain the limits.

    `stop` ends it from any thread, even before it begins: CP-SAT's solve wrapper remembers the stop, its Python class
    `CpSolver` does not. `bound` is called with every better bound.
    """

    def __init__(
        self, model: BackendModel, parameters: BackendParameters, bound: Callable[[float], None] | None = None
    ) -> None:
        from ortools.sat.python import cp_model_helper

        self._model, self._solver = model, cp_model_helper.SolveWrapper()
        self._solver.set_parameters(parameters)
        if bound is not None:
            self._solver.add_best_bound_callback(bound)
        self.status = "UNKNOWN"
        self.solution: Sequence[int] = ()
        self.bound: float | None = None
        self.work: dict[str, float] = {WORK: 0.0}

    def stop(self) -> None:
        """End the search, or prevent its start."""
        self._solver.stop_search()

    def run(self) -> str:
        """Search until proof, limit or `stop`; return the status. Sets `solution` (one value per variable), `bound`."""
        run: Any = self._solver.solve
        search = interruptible(lambda: run(self._model.proto), self.stop)
        self.status = search.status.name
        self.work = {WORK: float(search.deterministic_time)}
        if self.status == "MODEL_INVALID":
            raise BackendError(f"cp-sat calls the model invalid: {self._model.validate()}")
        if self.status in ("OPTIMAL", "FEASIBLE"):
            self.solution, self.bound = list(search.solution), float(search.best_objective_bound)
        return self.status
