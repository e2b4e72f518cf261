"""SCIP in a separate process, which Ctrl-C can end at any time.

OR-Tools 9.15 interrupts SCIP only between nodes, and prints two SCIP errors for each search that can be
interrupted. The root may take minutes. Here SCIP itself catches SIGINT and returns its best solution. A
process that has not ended after `PATIENCE` seconds is killed.

This file is also the program of that process, so it cannot import from the library. It reads one pickled task from its
standard input and writes one answer. It exits when its input is closed, so it never outlives the caller.
"""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any

from mlsched.core.aliases import BackendModel, BackendParameters, BackendResult

#: Seconds for SCIP to end by itself, and between two signals: the fifth signal would end its process without an
#: answer.
PATIENCE, AGAIN = 3.0, 1.0


class Apart:
    """One search by SCIP in a separate process.

    model, parameters: as in MathOpt. hints: values of variables, one mapping per hint.
    """

    def __init__(self, model: BackendModel, parameters: BackendParameters, hints: list[Mapping[Any, float]]) -> None:
        self._model = model
        by_number = [{variable.id: value for variable, value in hint.items()} for hint in hints]
        self._task = pickle.dumps((model.export_model().SerializeToString(), parameters, by_number))
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = self._last = 0.0

    def stop(self) -> None:
        """End the search, from any thread; to be called until `run` has returned."""
        process, now = self._process, time.monotonic()
        if process is None:
            return
        self._stopped = self._stopped or now
        if now > self._stopped + PATIENCE:
            process.kill()
        elif now > self._last + AGAIN:
            self._last = now
            process.send_signal(signal.SIGINT)

    def run(self) -> BackendResult:
        """Search until proof, limit or `stop`; return MathOpt's result, without a solution if the process was killed.

        Raises RuntimeError if SCIP refuses the model or its process ends without an answer.
        """
        from ortools.math_opt import result_pb2
        from ortools.math_opt.python import mathopt, result

        pipe, none, answer = subprocess.PIPE, subprocess.DEVNULL, b""
        command = [sys.executable, "-P", __file__]
        # Closing the input would fail on text that the process had not read when it ended.
        with (
            contextlib.suppress(BrokenPipeError),
            subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=none, start_new_session=True) as process,
        ):
            self._process = process
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(self._task)
            process.stdin.flush()
            answer = process.stdout.read()
        if answer:
            wrong, proto = pickle.loads(answer)
            if wrong:
                raise RuntimeError(wrong)
            return result.parse_solve_result(result_pb2.SolveResultProto.FromString(proto), self._model)
        if not self._stopped:
            raise RuntimeError(f"the process of SCIP ended without an answer (status {process.wait()})")
        why = mathopt.Termination(
            reason=mathopt.TerminationReason.NO_SOLUTION_FOUND,
            limit=mathopt.Limit.INTERRUPTED,
            objective_bounds=mathopt.ObjectiveBounds(math.inf, -math.inf),
        )
        return mathopt.SolveResult(termination=why, solve_stats=mathopt.SolveStats())


def _run_scip_program() -> None:
    """Read a task from the standard input, and write the answer to the standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # until SCIP installs its own handler
    answer = os.dup(1)
    os.dup2(2, 1)  # SCIP prints the number of interrupts
    model_proto, parameters, hints = pickle.load(sys.stdin.buffer)
    threading.Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(1)), daemon=True).start()
    from ortools.math_opt import model_pb2
    from ortools.math_opt.python import mathopt

    model = mathopt.Model.from_model_proto(model_pb2.ModelProto.FromString(model_proto))
    task = [mathopt.SolutionHint(variable_values={model.get_variable(i): v for i, v in h.items()}) for h in hints]
    parameters.gscip.bool_params["misc/catchctrlc"] = True
    try:
        found = mathopt.solve(
            model,
            mathopt.SolverType.GSCIP,
            params=parameters,
            model_params=mathopt.ModelSolveParameters(solution_hints=task),
        )
    except Exception as error:
        model_copy = (str(error.__context__ or error) or type(error).__name__, b"")
    else:
        model_copy = ("", found.to_proto().SerializeToString())
    with os.fdopen(answer, "wb") as stream:
        pickle.dump(model_copy, stream)
    # Skip the cleanup, which would wait for the reading thread.
    os._exit(0)


if __name__ == "__main__":
    _run_scip_program()
