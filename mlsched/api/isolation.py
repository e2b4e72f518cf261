"""A solver in a process of its own: it may crash, hang, fill its memory, print, fork, or change what it likes.

The caller judges its own instance, so nothing that happens over there changes what an answer is worth; what comes back
is data (JSON), read as strictly as a file. What the processes are is said in `api/isolated.py`, the other side. They
are no prison: a solver that means harm can still delete files or end processes of the same user.
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
from mlsched.core.contract import Instance, Plan
from mlsched.core.errors import InvalidInput, RuleFailure, SolverError, with_article
from mlsched.core.formulation import Outcome, Status, StoppedBy
from mlsched.core.request import Request, Setup
from mlsched.core.solver import Solver

if TYPE_CHECKING:
    from mlsched.simulation.clock import Rule

#: What a solver that knows its time limit may take beyond it before it is ended: seconds, and share of the limit.
GRACE_SECONDS, GRACE_SHARE = 0.5, 0.1
#: Seconds that a solver's own imports may take.
START_SECONDS = 60.0
#: Seconds until a keeper that does not end is seen to, and how often that is tried, a tenth of it apart.
PATIENCE, ATTEMPTS = 0.5, 100
#: Largest answer, in bytes.
MOST_ANSWER = 2**28


class _Server:
    """The process that forks keepers; started when it is first needed, and again when it has been ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._line: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def keeper(self) -> tuple[socket.socket, socket.socket]:
        """Lines to a new worker and to its keeper."""
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

    def hello(self, life: socket.socket) -> int:
        """The process id of a new keeper, which is the first that it says."""
        from mlsched.api.isolated import receive

        until = time.monotonic() + START_SECONDS
        while not select.select([life], [], [], PATIENCE)[0]:
            if self._process is not None:
                self._process.send_signal(signal.SIGCONT)  # a solver before may have stopped it
            if time.monotonic() > until:
                raise errors.BackendError("isolate: the process that starts others does not answer; try again")
        message = receive(life)
        return int((_parsed(message or b"") or {}).get("keeper", 0))

    def _started(self) -> socket.socket:
        if self._line is None or self._owner != os.getpid():
            ours, theirs = socket.socketpair()
            with theirs:
                # Ctrl-C is the caller's, which then closes the line. What solvers print goes to the standard error.
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
    """A solver with its settings in a process of its own; a context manager, at the end of which the process ends.

    form: how the process calls it (`isolated.py`: `_solver`, `_rule`). memory_limit: bytes beyond the library's own.
    cpu_seconds: CPU time of its processes, known at the end.
    """

    def __init__(self, setup: Setup, form: Literal["solve", "rule"], *, memory_limit: int | None = None) -> None:
        if not hasattr(os, "fork"):
            raise InvalidInput("isolate: needs a system whose processes can fork; leave it out")
        self.name, self.cpu_seconds = setup.solver.name, 0.0
        self._lines: tuple[socket.socket, socket.socket] | None = None
        self._keeper = 0
        packed = _packed(setup)
        self._task = {
            "form": form,
            "setup": packed,
            "path": sys.path,
            "main": _main() if b"__main__" in packed else None,
            "memory_limit": memory_limit,
        }

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def runs(self) -> bool:
        """Whether the process is there to be asked."""
        return self._lines is not None

    def start(self) -> None:
        """Start the process; what goes wrong with the solver's own imports is said here."""
        self._lines = _server.keeper()
        self._keeper = _server.hello(self._lines[1])
        self.ask({**self._task, "folder": str(Path.cwd())}, START_SECONDS)

    def ask(self, message: Any, seconds: float | None) -> dict[str, Any]:
        """The answer to a message within so many seconds (None: however long it takes), or what it failed of."""
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
            raise RuleFailure(f"{self.name} {_ending(self.close())}", "crash")
        parsed = _parsed(answer)
        if parsed is None:
            self.close()
            raise RuleFailure(f"{self.name} sent what is no answer", "crash")
        if "message" in parsed:
            self.close()
            raise _failure(self.name, parsed)
        return parsed

    def answer(self, request: Request) -> Outcome:
        """Return the outcome of the solver for an instance, the plan read as strictly as a file."""
        message = (request.instance.shown(request.solver.information), request.limits, request.start)
        parsed: Any = self.ask(message, allowed(request.solver, request.limits.seconds))
        plan = None if parsed.get("plan") is None else _plan(self.name, request.instance, parsed["plan"])
        status, bound, stopped = parsed.get("status"), parsed.get("bound"), parsed.get("stopped_by")
        work, doubt = parsed.get("work"), parsed.get("doubt")
        if (
            status not in get_args(Status)
            or stopped not in get_args(StoppedBy)
            or not (bound is None or _is_number(bound))
            or not (doubt is None or isinstance(doubt, str))
            or not (isinstance(work, dict) and all(_is_number(v) for v in work.values()))
        ):
            raise RuleFailure(f"{self.name} sent what is no answer", "crash")
        return Outcome(status, plan, bound, stopped, work, doubt)

    def close(self) -> int | None:
        """End the process and all that it started; how it had ended by itself, if it had."""
        if self._lines is None:
            return None
        data, life = self._lines
        self._lines = None
        with data, life:
            with contextlib.suppress(OSError):
                life.shutdown(socket.SHUT_WR)
            last = b""
            with contextlib.suppress(OSError):
                while chunk := _last_words(life, self._keeper):
                    last += chunk
        ended = _parsed(last[8:]) or {}
        self.cpu_seconds += float(ended.get("cpu_seconds", 0.0))
        status = ended.get("status")
        return status if isinstance(status, int) else None


def _last_words(life: socket.socket, keeper: int) -> bytes:
    """What the keeper says as it ends, at once or when it is made to.

    A solver may have stopped it (SIGSTOP), and have started processes that do so again and again. While it stands
    still, none of its offspring is lost: all of it is ended here, and then the keeper goes on.
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
    with contextlib.suppress(OSError):  # it has ended since
        os.kill(pid, number)


def isolated_rule(setup: Setup, memory_limit: int | None, *, tell_memory: bool) -> tuple[Rule, Isolated]:
    """Return a solver as the clock calls it, and its one process for the whole run, which keeps the rule's memory.

    tell_memory: return the memory after each decision, so that decisions can be recorded and repeated.
    """
    from mlsched.simulation.clock import Rule

    process = Isolated(setup, "rule", memory_limit=memory_limit)
    solver, seconds = setup.solver, allowed(setup.solver, setup.limits.seconds)

    def call(instance: Instance, memory: Any, rng: Any) -> tuple[Any, Any]:
        given = (memory,) if tell_memory else None
        with process if not process.runs else contextlib.nullcontext():  # after the run, for one decision again
            parsed = process.ask((instance.shown(solver.information), rng, given, tell_memory), seconds)
        return _plan(process.name, instance, parsed.get("plan")), parsed.get("memory")

    return Rule(solver.name, call), process


def allowed(solver: Solver, time_limit: float | None) -> float | None:
    """Seconds after which a solver is ended: its limit, and a little more where it keeps to the limit by itself."""
    keeps = solver.rule is None or solver.searches
    return None if time_limit is None else time_limit * (1 + GRACE_SHARE * keeps) + GRACE_SECONDS * keeps


#: Why a memory limit is refused that nothing would hold to.
NO_MEMORY_LIMIT = "memory_limit: needs isolate=True; only a process of its own has a limit of its own"


def _packed(setup: Setup) -> bytes:
    """Return the pickled setup, in which functions are sent by name."""
    solver, params = setup.solver, dict(setup.params)
    try:
        sent = dataclasses.replace(solver, world=functools.partial(_these, solver.world_options(params)))
        return pickle.dumps(Setup(sent, setup.objective, params, setup.limits))
    except Exception as error:  # pickle raises what it likes
        raise InvalidInput(
            f"isolate: {solver.name} cannot be sent to a process of its own ({error}); "
            "define it at the top level of a module"
        ) from None


def _these(options: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    """`Solver.world` for one set of parameters."""
    return options


def _main() -> tuple[str, bool]:
    """The program that runs, as a module's name or a file's: what it defines is found there."""
    main = sys.modules["__main__"]
    if getattr(main, "__spec__", None) is not None:
        return str(main.__spec__.name), True  # type: ignore[union-attr]
    if getattr(main, "__file__", None) is None:
        raise InvalidInput("isolate: what is defined in an interactive session cannot be sent; write it to a module")
    return str(Path(str(main.__file__)).resolve()), False


def _exchange(data: socket.socket, life: socket.socket, message: bytes, until: float | None) -> bytes | None:
    """Send a message and receive its answer; None when the other side has ended, TimeoutError when time is up."""
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
            if size > MOST_ANSWER or len(answer) >= 8 + size:
                return bytes(answer[8:])


def _parsed(answer: bytes) -> dict[str, Any] | None:
    """The object that an answer is, None where it is none."""
    try:
        parsed = json.loads(answer) if len(answer) <= MOST_ANSWER else None
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) else None


def _plan(name: str, instance: Instance, data: Any) -> Plan:
    kind = instance.plan_type
    if not isinstance(data, dict) or data.get("kind") != kind.kind:
        raise SolverError(f"{name} returned no plan; a rule must return {with_article(kind.kind)}")
    try:
        return kind.from_json(data)
    except (InvalidInput, TypeError) as error:
        raise SolverError(f"{name} returned what is no {kind.kind}: {error}") from None


def _failure(name: str, parsed: dict[str, Any]) -> errors.MlschedError:
    """The error that an answer tells of."""
    message = str(parsed["message"])
    message = message if message.startswith(name) else f"{name} {message}"
    if parsed.get("how") in ("crash", "timeout", "memory", "cheated"):
        return RuleFailure(message, parsed["how"])
    kind = getattr(errors, str(parsed.get("error")), None)
    known = isinstance(kind, type) and issubclass(kind, errors.MlschedError) and kind is not RuleFailure
    return kind(message) if known and kind is not None else SolverError(message)


def _ending(status: int | None) -> str:
    """How a process ended that did not answer."""
    if status is not None and status < 0:
        try:
            return f"was ended by {signal.Signals(-status).name}"
        except ValueError:
            return f"was ended by signal {-status}"
    return f"ended its process{'' if status is None else f' (status {status})'} instead of answering"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
