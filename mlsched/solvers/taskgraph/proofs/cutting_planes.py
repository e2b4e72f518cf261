"""Pseudo-Boolean conflict learning: searches that learn cutting planes from conflicts, on linear 0-1 models.

They run in separate processes, because CP-SAT may abort while it learns cutting planes.
"""

from __future__ import annotations

import dataclasses
import threading
from typing import Protocol

from mlsched.core.aliases import BackendModel, BackendParameters, BackendResult
from mlsched.core.deadline import Deadline
from mlsched.core.errors import BackendError
from mlsched.core.formulation import Limits
from mlsched.instances.taskgraph import Timetable
from mlsched.solvers.backends.limits import until, within
from mlsched.solvers.backends.process import Apart, Helpers
from mlsched.solvers.taskgraph.state import State

#: Attempts per search that CP-SAT aborts, each with another seed.
ATTEMPTS = 3

#: A plan; False: infeasible; None: unknown.
Result = Timetable | bool | None


class Model(Protocol):
    """A CP-SAT model, the reason if it is obviously infeasible, and the plan of a solution."""

    cp: BackendModel
    reason: str | None

    def plan(self, solution: BackendResult) -> Timetable:
        """Return the plan of a solution, a value per variable."""


class Cut:
    """A search for the best plan of a model, on one thread; after an abort of CP-SAT it restarts with another seed."""

    def __init__(self, made: Model, limits: Limits, helpers: Helpers | None = None) -> None:
        self._made, self._limits, self._helpers = made, limits, helpers
        self._deadline = Deadline(limits.seconds)
        #: Deterministic time used, number of aborts, and the bound in units of the model's objective.
        self.work, self.aborts = 0.0, 0
        self.bound: float | None = None
        #: The best plan if it may not be optimal.
        self.incumbent: Timetable | None = None
        self._stopped, self._lock = threading.Event(), threading.Lock()
        self._search: Apart | None = None

    def stop(self) -> None:
        """End the search, from any thread, even before its start."""
        self._stopped.set()
        with self._lock:
            if self._search is not None:
                self._search.stop()

    def run(self) -> Result:
        """Search until proof, limit or `stop`."""
        if self._made.reason is not None:
            return False
        for number in range(ATTEMPTS):
            limits = until(self._deadline, dataclasses.replace(self._limits, seed=self._limits.seed + number))
            with self._lock:
                self._search = Apart(self._made.cp, parameters(limits), helpers=self._helpers)
            if self._stopped.is_set():
                return None
            ending = self._search.run()
            self.work += ending.work
            if ending.status != "ABORTED":
                break
            self.aborts += 1
        if ending.status == "MODEL_INVALID":
            raise BackendError("cp-sat calls a model for cutting planes invalid")
        if ending.status == "INFEASIBLE":
            return False
        plan = self._made.plan(ending.solution) if ending.solution else None
        if ending.status == "OPTIMAL":
            self.bound = ending.bound
            return plan
        self.incumbent, self.bound = plan, ending.bound if plan is not None else None
        return None


def run_for(state: State, cut: Cut) -> Result:
    """Run a search, offer its plans to a state, and count its aborts."""
    result = cut.run()
    for _ in range(cut.aborts):
        state.aborted()
    for plan in (result, cut.incumbent):
        if isinstance(plan, Timetable):
            state.offer(plan)
    return result


def parameters(limits: Limits) -> BackendParameters:
    """Return CP-SAT's parameters for cutting planes."""
    settings = within(dataclasses.replace(limits, threads=1)).parameters
    settings.use_pb_resolution = True
    # Presolve and the linear relaxation make constraints that cutting planes cannot use.
    settings.cp_model_presolve, settings.linearization_level = False, 0
    return settings
