"""Isolated solvers: a solver in its own process may crash, hang, fill its memory, print, fork, or change anything.

The caller judges its own instance, so the other process cannot influence the judgement. Its answer is data (JSON), read
as strictly as a file. `api/isolated.py` describes the processes. They are not a security boundary: a malicious solver
can still delete files or end processes of the same user.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import math
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from mlsched.core import errors
from mlsched.core.aliases import Data
from mlsched.core.contract import Instance, Plan
from mlsched.core.errors import InvalidInput, RuleFailure, SolverError, with_article
from mlsched.core.formulation import Outcome, Status, StoppedBy
from mlsched.core.request import Request, Setup
from mlsched.core.solver import Solver

if TYPE_CHECKING:
    from mlsched.simulation.clock import Rule

#: Seconds, and share of the limit, by which a solver that observes its time limit may exceed it before it is ended.
GRACE_SECONDS, GRACE_SHARE = 0.5, 0.1
#: Seconds for the solver's own imports.
START_SECONDS = 60.0
#: Seconds until a keeper that does not end is forced to, and number of attempts, a tenth of that time apart.
PATIENCE, ATTEMPTS = 0.5, 100
#: Largest answer, in bytes.
MAX_ANSWER_BYTES = 2**28


class _Server:
    """Process that forks keepers; started at first use, and again after it was ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._line: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def keeper(self) -> tuple[socket.socket, socket.socket]:
        """Return lines to a new worker and to its keeper."""
        data, theirs = socket.socketpair()
        life, keepers = socket.socketpair()
        with theirs, keepers, self._lock:
            for attempt in range(2):
                try:
                    socket.send_fds(self._started(), [b"!"], [theirs.fileno(), keepers.fileno()])
                    break
                except OSError:
                    self._line = None
                    if attempt:
                        raise
        return data, life

    def handshake(self, life: socket.socket) -> int:
        """Return the process id of a new keeper, its first message."""
        from mlsched.api.isolated import receive

        until = time.monotonic() + START_SECONDS
        while not select.select([life], [], [], PATIENCE)[0]:
            if self._process is not None:
                self._process.send_signal(signal.SIGCONT)  # an earlier solver may have stopped it
            if time.monotonic() > until:
                raise errors.BackendError("isolate: the process that starts others does not answer; try again")
        message = receive(life)
        return int((_parse_answer(message or b"") or {}).get("keeper", 0))

    def _started(self) -> socket.socket:
        if self._line is None or self._owner != os.getpid():
            ours, theirs = socket.socketpair()
            with theirs:
                # Ctrl-C belongs to the caller, which then closes the line. Output of solvers goes to the standard
                # error.
                process = subprocess.Popen(
                    [sys.executable, "-P", "-c", _LAUNCH, str(theirs.fileno()), json.dumps(sys.path)],
                    stdin=subprocess.DEVNULL,
                    stdout=2,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
            weakref.finalize(self, _end, ours, process)
            self._line, self._process, self._owner = ours, process, os.getpid()
            if not ours.recv(1):
                raise errors.BackendError("isolate: the process that starts others could not be started; see above")
        return self._line


_LAUNCH = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); "
    "from mlsched.api.isolated import serve; serve(int(sys.argv[1]))"
)


def _end(line: socket.socket, process: subprocess.Popen[bytes]) -> None:
    line.close()
    process.send_signal(signal.SIGCONT)
    process.wait()


_server = _Server()


class Isolated:
    """Solver with its settings in its own process; a context manager that ends the process.

    Attributes:
        name: Name of the solver.
        cpu_seconds: CPU time of its processes, known at the end.
    """

    def __init__(self, setup: Setup, form: Literal["solve", "rule"], *, memory_limit: int | None = None) -> None:
        if not hasattr(os, "fork"):
            raise InvalidInput("isolate: needs a system whose processes can fork; leave it out")
        self.name, self.cpu_seconds = setup.solver.name, 0.0
        self._lines: tuple[socket.socket, socket.socket] | None = None
        self._keeper = 0
        packed = _pickle_setup(setup)
        self._task = {
            "form": form,
            "setup": packed,
            "path": sys.path,
            "main": _main_program() if b"__main__" in packed else None,
            "memory_limit": memory_limit,
        }

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def runs(self) -> bool:
        """Whether the process can answer."""
        return self._lines is not None

    def start(self) -> None:
        """Start the process; raise errors of the solver's own imports."""
        self._lines = _server.keeper()
        self._keeper = _server.handshake(self._lines[1])
        self.ask({**self._task, "folder": str(Path.cwd())}, START_SECONDS)

    def ask(self, message: object, seconds: float | None) -> Data:
        """Send a message and return the answer.

        Args:
            message: The message.
            seconds: Time limit; None for unlimited time.

        Raises:
            RuleFailure: The process ended, or exceeded the limit.
            MlschedError: The error that the process reported.
        """
        assert self._lines is not None
        data, life = self._lines
        until = None if seconds is None else time.monotonic() + seconds
        try:
            answer = _exchange(data, life, pickle.dumps(message), until)
        except TimeoutError:
            self.close()
            raise RuleFailure(f"{self.name} took longer than {seconds:g} s", "timeout") from None
        except BaseException:
            self.close()
            raise
        if answer is None:
            raise RuleFailure(f"{self.name} {_describe_end(self.close())}", "crash")
        reply = _parse_answer(answer)
        if reply is None:
            self.close()
            raise RuleFailure(f"{self.name} sent an invalid answer", "crash")
        if "message" in reply:
            self.close()
            raise _reported_error(self.name, reply)
        return reply

    def answer(self, request: Request) -> Outcome:
        """Return the outcome of the solver for an instance; the plan is read as strictly as a file."""
        message = (request.instance.shown(request.solver.information), request.limits, request.start)
        reply: Any = self.ask(message, seconds_until_kill(request.solver, request.limits.seconds))
        plan = None if reply.get("plan") is None else _plan(self.name, request.instance, reply["plan"])
        status, bound, stopped_by = reply.get("status"), reply.get("bound"), reply.get("stopped_by")
        work, doubt = reply.get("work"), reply.get("doubt")
        if (
            status not in get_args(Status)
            or stopped_by not in get_args(StoppedBy)
            or not (bound is None or _is_number(bound))
            or not (doubt is None or isinstance(doubt, str))
            or not (isinstance(work, dict) and all(_is_number(v) for v in work.values()))
        ):
            raise RuleFailure(f"{self.name} sent an invalid answer", "crash")
        return Outcome(status, plan, bound, stopped_by, work, doubt)

    def close(self) -> int | None:
        """End the process and its descendants; return its status if it had ended by itself."""
        if self._lines is None:
            return None
        data, life = self._lines
        self._lines = None
        with data, life:
            with contextlib.suppress(OSError):
                life.shutdown(socket.SHUT_WR)
            data_received = b""
            with contextlib.suppress(OSError):
                while chunk := _final_report(life, self._keeper):
                    data_received += chunk
        report = _parse_answer(data_received[8:]) or {}
        self.cpu_seconds += float(report.get("cpu_seconds", 0.0))
        status = report.get("status")
        return status if isinstance(status, int) else None


def _final_report(life: socket.socket, keeper: int) -> bytes:
    """Return the keeper's final report, which it sends as it ends, by force if necessary.

    A solver may have stopped the keeper (SIGSTOP), and may have started processes that stop it repeatedly. A stopped
    keeper keeps all its descendants:
    they are ended here, and then the keeper resumes.
    """
    from mlsched.api.isolated import descendants

    for patience in (PATIENCE, *[PATIENCE / 10] * ATTEMPTS):
        _signal(keeper, signal.SIGCONT)
        if select.select([life], [], [], patience)[0]:
            return life.recv(4096)
        for pid in descendants(keeper):
            _signal(pid, signal.SIGKILL)
    _signal(keeper, signal.SIGKILL)
    return b""


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(OSError):  # it has ended
        os.kill(pid, number)


def isolated_rule(setup: Setup, memory_limit: int | None, *, tell_memory: bool) -> tuple[Rule, Isolated]:
    """Return a solver as a rule for the clock, with its process for the complete run, which keeps the rule's memory.

    Args:
        setup: The solver with its settings.
        memory_limit: Bytes that the process may use.
        tell_memory: Return the memory after each decision, so that decisions can be recorded and repeated.
    """
    from mlsched.simulation.clock import Rule

    process = Isolated(setup, "rule", memory_limit=memory_limit)
    solver, seconds = setup.solver, seconds_until_kill(setup.solver, setup.limits.seconds)

    def call(instance: Instance, memory: object, rng: object) -> tuple[Any, Any]:
        previous = (memory,) if tell_memory else None
        # restarted after the run, to repeat one decision
        with process if not process.runs else contextlib.nullcontext():
            reply = process.ask((instance.shown(solver.information), rng, previous, tell_memory), seconds)
        return _plan(process.name, instance, reply.get("plan")), reply.get("memory")

    return Rule(solver.name, call), process


def seconds_until_kill(solver: Solver, time_limit: float | None) -> float | None:
    """Return the seconds after which a solver is ended: its limit, plus a grace period if it keeps to the limit."""
    keeps = solver.rule is None or solver.searches
    return None if time_limit is None else time_limit * (1 + GRACE_SHARE * keeps) + GRACE_SECONDS * keeps


#: Error message for a memory limit without isolation.
NO_MEMORY_LIMIT = "memory_limit: needs isolate=True; only a process of its own has a limit of its own"


def _pickle_setup(setup: Setup) -> bytes:
    """Return the pickled setup, with functions sent by name."""
    solver, params = setup.solver, dict(setup.params)
    try:
        portable = dataclasses.replace(solver, world=functools.partial(_constant_options, solver.world_options(params)))
        return pickle.dumps(Setup(portable, setup.objective, params, setup.limits))
    except Exception as error:  # pickle raises arbitrary exceptions
        raise InvalidInput(
            f"isolate: {solver.name} cannot be sent to a process of its own ({error}); "
            "define it at the top level of a module"
        ) from None


def _constant_options(options: dict[str, Any], params: dict[str, Any]) -> dict[str, object]:
    """Return the options: `Solver.world` for one set of parameters."""
    return options


def _main_program() -> tuple[str, bool]:
    """Return where the main program is defined: (name of the module, True) or (path of the file, False)."""
    main = sys.modules["__main__"]
    if getattr(main, "__spec__", None) is not None:
        return str(main.__spec__.name), True  # type: ignore[union-attr]
    if getattr(main, "__file__", None) is None:
        raise InvalidInput("isolate: definitions of an interactive session cannot be sent; write them to a module")
    return str(Path(str(main.__file__)).resolve()), False


def _exchange(data: socket.socket, life: socket.socket, message: bytes, until: float | None) -> bytes | None:
    """Send a message and return its answer; None if the other side has ended, TimeoutError when time is up."""
    rest = memoryview(len(message).to_bytes(8, "little") + message)
    answer = bytearray()
    data.setblocking(False)
    while True:
        wait = None if until is None else until - time.monotonic()
        if wait is not None and wait <= 0:
            raise TimeoutError
        readable, writable, _ = select.select([data, life], [data] if rest else [], [], wait)
        try:
            if data in readable:
                chunk = data.recv(2**20)
                answer += chunk
                if not chunk:
                    return None
            elif life in readable:
                return None
            if writable:
                rest = rest[data.send(rest) :]
        except BlockingIOError:
            continue
        except OSError:
            return None
        if len(answer) >= 8:
            size = int.from_bytes(answer[:8], "little")
            if size > MAX_ANSWER_BYTES or len(answer) >= 8 + size:
                return bytes(answer[8:])


def _parse_answer(answer: bytes) -> Data | None:
    """Return the JSON object of an answer, or None for anything else."""
    try:
        document = json.loads(answer) if len(answer) <= MAX_ANSWER_BYTES else None
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _plan(name: str, instance: Instance, data: object) -> Plan:
    kind = instance.plan_type
    if not isinstance(data, dict) or data.get("kind") != kind.kind:
        raise SolverError(f"{name} did not return a plan; a rule must return {with_article(kind.kind)}")
    try:
        return kind.from_json(data)
    except (InvalidInput, TypeError) as error:
        raise SolverError(f"{name} returned an invalid {kind.kind}: {error}") from None


def _reported_error(name: str, reply: Data) -> errors.MlschedError:
    """Return the error that an answer reports."""
    message = str(reply["message"])
    message = message if message.startswith(name) else f"{name} {message}"
    if reply.get("how") in ("crash", "timeout", "memory", "cheated"):
        return RuleFailure(message, reply["how"])
    kind = getattr(errors, str(reply.get("error")), None)
    is_own = isinstance(kind, type) and issubclass(kind, errors.MlschedError) and kind is not RuleFailure
    return kind(message) if is_own and kind is not None else SolverError(message)


def _describe_end(status: int | None) -> str:
    """Describe how a process ended that did not answer."""
    if status is not None and status < 0:
        try:
            return f"was ended by {signal.Signals(-status).name}"
        except ValueError:
            return f"was ended by signal {-status}"
    return f"ended its process{'' if status is None else f' (status {status})'} instead of answering"


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
