"""CP-SAT in a process of its own, for parameters with which it may abort the whole process.

Learning cutting planes (`use_pb_resolution`) is such a parameter: now and then one of CP-SAT's internal checks fails
(google/or-tools issue 3711), which ends the process. Here that ends a helper, and the caller goes on without its proof.

This file is also the helper's program, which is why it imports nothing of the library. The two talk in lines of JSON:
the model and the parameters as text one way, bounds and at last the answer the other way. The helper stops its search
when its input is closed, so it never outlives the caller.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any


@dataclasses.dataclass(frozen=True)
class Ended:
    """How a search ended: CP-SAT's status ("ABORTED": a check of its own failed), its bound in units of the objective
    (None: none), a value a variable (empty: no solution), and the deterministic time that it took."""

    status: str
    bound: float | None = None
    solution: tuple[int, ...] = ()
    work: float = 0.0


class Apart:
    """One search of a model with its objective. `bound` hears of every better bound, in the thread of `run`.

    A bound of `enough` ends the search there and then, after the same work every time, which `stop` cannot promise.
    """

    def __init__(
        self, model: Any, parameters: Any, bound: Callable[[float], None], enough: float | None = None
    ) -> None:
        self._task = json.dumps({"model": str(model.proto), "parameters": str(parameters), "enough": enough})
        self._bound, self._stopped = bound, threading.Event()
        self._process: subprocess.Popen[str] | None = None

    def stop(self) -> None:
        """End the search, from any thread; `run` then returns what is known."""
        self._stopped.set()
        if self._process is not None and self._process.stdin is not None:
            # It may be closed, or its reader gone.
            with contextlib.suppress(OSError, ValueError):
                self._process.stdin.close()

    def run(self) -> Ended:
        """Search until proof, limit or `stop`."""
        if self._stopped.is_set():
            return Ended("UNKNOWN")
        pipe = subprocess.PIPE
        program = [sys.executable, "-P", __file__]
        with subprocess.Popen(program, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
            try:
                return self._talk(process)
            finally:
                process.kill()

    def _talk(self, process: subprocess.Popen[str]) -> Ended:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(self._task + "\n")
            process.stdin.flush()
        self._process = process
        if self._stopped.is_set():
            self.stop()
        for line in process.stdout:
            heard = json.loads(line)
            if "status" in heard:
                # The process would take a while to tidy up; `run` ends it.
                return Ended(heard["status"], heard["bound"], tuple(heard["solution"]), heard["work"])
            self._bound(heard["bound"])
        said = process.stderr.read()
        if process.wait() > 0:
            raise RuntimeError(f"the process for CP-SAT failed: {said.strip().splitlines()[-1:]}")
        return Ended("ABORTED")


def _say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def _helper() -> None:
    """The program: a task from the standard input, answers to the standard output."""
    from ortools.sat.python import cp_model_helper as cp_sat

    task = json.loads(sys.stdin.readline())
    model, parameters = cp_sat.CpModelProto(), cp_sat.SatParameters()
    if not (model.parse_text_format(task["model"]) and parameters.parse_text_format(task["parameters"])):
        raise ValueError("no model and parameters of CP-SAT")
    solver, over = cp_sat.SolveWrapper(), threading.Event()
    solver.set_parameters(parameters)

    def rise(bound: float) -> None:
        _say({"bound": bound})
        if task["enough"] is not None and bound >= task["enough"]:
            solver.stop_search()

    solver.add_best_bound_callback(rise)

    def listen() -> None:
        sys.stdin.read()
        # Again and again: a search that has not begun cannot be stopped.
        while not over.wait(0.01):
            solver.stop_search()

    threading.Thread(target=listen, daemon=True).start()
    found: Any = solver.solve(model)  # type: ignore[no-untyped-call]
    over.set()
    answer = {"status": found.status.name, "bound": found.best_objective_bound, "solution": list(found.solution),
              "work": found.deterministic_time}  # fmt: skip
    _say(answer)


if __name__ == "__main__":
    _helper()
