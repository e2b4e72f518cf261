"""CP-SAT in a separate process, for parameters with which it may abort its process.

Learning cutting planes (`use_pb_resolution`) is such a parameter: occasionally one of CP-SAT's internal checks fails
(google/or-tools issue 3711), which ends the process. Here only a helper process ends, and the caller continues without
its proof.

This file is also the helper's program, so it cannot import from the library. Both sides exchange lines of JSON: models
and parameters as text in one direction, answers in the other. A helper stops its search and exits when its input is
closed, so it never outlives the caller.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import queue
import subprocess
import sys
import threading
import weakref
from typing import Any

from mlsched.core.aliases import BackendModel, BackendParameters, Variable


@dataclasses.dataclass(frozen=True)
class Ended:
    """Result of a search: status, bound, values of the variables, and deterministic time.

    The status is CP-SAT's, or "ABORTED" if an internal check failed. The bound is in units of the objective, or None.
    Values are empty without a solution.
    """

    status: str
    bound: float | None = None
    solution: tuple[int, ...] = ()
    work: float = 0.0


class Helpers:
    """A pool of helper processes: an idle helper waits for the next search, which saves starting a process.

    The CPU time of helpers counts as the caller's after they have ended, for which `close` waits.
    """

    def __init__(self) -> None:
        self._idle: list[subprocess.Popen[str]] = []
        self._lock = threading.Lock()
        self.close = weakref.finalize(self, _end, self._idle)

    def take(self) -> subprocess.Popen[str]:
        """Return an idle helper."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
        pipe = subprocess.PIPE
        return subprocess.Popen([sys.executable, "-P", __file__], stdin=pipe, stdout=pipe, stderr=pipe, text=True)

    def give_back(self, helper: subprocess.Popen[str]) -> None:
        """Add a helper that has answered to the idle ones."""
        with self._lock:
            if self.close.alive:
                self._idle.append(helper)
                return
        _end([helper])


def _end(helpers: list[subprocess.Popen[str]]) -> None:
    while helpers:
        # Closing the input would fail on text that the helper had not read when it ended.
        with contextlib.suppress(BrokenPipeError), helpers.pop() as helper:
            helper.kill()


class Apart:
    """One search of a model with its objective, in a helper of `helpers` or else in one of its own."""

    def __init__(self, model: BackendModel, parameters: BackendParameters, helpers: Helpers | None = None) -> None:
        self._task = json.dumps({"model": str(model.proto), "parameters": str(parameters)})
        self._stopped, self._helpers = threading.Event(), helpers
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None

    def stop(self) -> None:
        """End the search, from any thread; `run` then returns the results so far."""
        self._stopped.set()
        with self._lock:
            if self._process is not None and self._process.stdin is not None:
                # The pipe may be closed, or its reader may have exited.
                with contextlib.suppress(OSError, ValueError):
                    self._process.stdin.close()

    def run(self) -> Ended:
        """Search until proof, limit or `stop`."""
        if self._stopped.is_set():
            return Ended("UNKNOWN")
        helpers = self._helpers or Helpers()
        helper, again = helpers.take(), False
        try:
            ending = self._exchange_lines(helper)
            with self._lock:
                self._process = None
                again = self._helpers is not None and ending.status != "ABORTED" and not self._stopped.is_set()
        finally:
            if again:
                helpers.give_back(helper)
            else:
                # Do not wait for the helper's cleanup.
                _end([helper])
        return ending

    def _exchange_lines(self, helper: subprocess.Popen[str]) -> Ended:
        assert helper.stdin is not None
        assert helper.stdout is not None
        assert helper.stderr is not None
        with contextlib.suppress(BrokenPipeError):
            helper.stdin.write(self._task + "\n")
            helper.stdin.flush()
        with self._lock:
            self._process = helper
        if self._stopped.is_set():
            self.stop()
        if line := helper.stdout.readline():
            heard = json.loads(line)
            return Ended(heard["status"], heard["bound"], tuple(heard["solution"]), heard["work"])
        message = helper.stderr.read()
        if helper.wait() > 0:
            raise RuntimeError(f"the process for CP-SAT failed: {message.strip().splitlines()[-1:]}")
        return Ended("UNKNOWN" if self._stopped.is_set() else "ABORTED")


def _run_helper_program() -> None:
    """Run as the helper program: read tasks from the standard input, write answers to the standard output."""
    from ortools.sat.python import cp_model_helper as cp_sat

    tasks: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    searching: list[Variable] = []
    closed = threading.Event()

    def listen() -> None:
        for line in sys.stdin:
            tasks.put(line)
        tasks.put(None)
        closed.set()
        for solver in tuple(searching):
            solver.stop_search()

    threading.Thread(target=listen, daemon=True).start()
    while (line := tasks.get()) is not None:
        task = json.loads(line)
        model, parameters = cp_sat.CpModelProto(), cp_sat.SatParameters()
        if not (model.parse_text_format(task["model"]) and parameters.parse_text_format(task["parameters"])):
            raise ValueError("expected a model and parameters of CP-SAT")
        solver = cp_sat.SolveWrapper()
        solver.set_parameters(parameters)
        searching.append(solver)
        if closed.is_set():
            # CP-SAT's wrapper does not start if it was stopped before.
            solver.stop_search()
        run: Any = solver.solve
        search = run(model)
        searching.remove(solver)
        answer = {
            "status": search.status.name,
            "bound": search.best_objective_bound,
            "solution": list(search.solution),
            "work": search.deterministic_time,
        }
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    # Skip the cleanup, which would wait for the reading thread.
    os._exit(0)


if __name__ == "__main__":
    _run_helper_program()
