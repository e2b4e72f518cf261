"""The other side of `api/isolation.py`: what runs in the processes of isolated solvers.

Three kinds of process. The server has imported everything and does nothing but fork (a fork of the caller would copy
the threads of solvers). For each isolated solver it forks a keeper, which forks the worker that calls the solver,
waits for it, and then ends everything that the worker has started: a keeper is the one that orphans of its offspring
fall to. It also ends the worker when its caller closes the line, so nothing outlives the caller either.

Messages are a length of eight bytes and that many bytes. What comes from the caller is a pickle; what goes to it is
JSON, which is data wherever it comes from.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pickle
import resource
import select
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from mlsched.api.guard import Guarded
from mlsched.api.isolated_output import Output
from mlsched.core.contract import Plan
from mlsched.core.errors import InvalidInput, MlschedError, RuleFailure, SolverError, describe_exception, with_article
from mlsched.core.request import Setup

#: Linux: orphans of this process' offspring become its children.
PR_SET_CHILD_SUBREAPER = 36
#: Memory above the limit in which a worker may still say that the limit was reached, in bytes.
LAST_WORDS = 2**26


def serve(descriptor: int) -> NoReturn:
    """Fork a keeper for each pair of sockets that comes, until the line is closed."""
    from mlsched.core.registry import registry

    registry().available()  # the imports that every fork then has
    control = socket.socket(fileno=descriptor)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        control.sendall(b"!")
    except OSError:
        os._exit(0)  # the caller has gone meanwhile
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1, 2)
        if not message:
            os._exit(0)
        with contextlib.suppress(OSError):  # the caller sees that its line is closed
            if os.fork() == 0:
                control.close()
                _keep(*(socket.socket(fileno=f) for f in descriptors))
        for one in descriptors:
            os.close(one)


def _keep(data: socket.socket, life: socket.socket) -> NoReturn:
    """Have a worker talk over `data`, wait for its end or for that of `life`, and tell `life` how it ended."""
    _adopt_orphans()
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    # Whom the caller has to wake where the solver has stopped this process.
    send(life, json.dumps({"keeper": os.getpid()}).encode())
    output = Output()
    worker = os.fork()
    if worker == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for one in (wake, woken):
            os.close(one)
        life.close()
        os.setsid()
        output.adopt()
        _work(data)
    data.close()
    output.watch()
    status: int | None = None
    lines: list[Any] = [life, wake]
    while status is None:
        readable, writable, _ = select.select([*lines, *output.listens], output.waits, [])
        if writable:
            output.give()
        if output.reader in readable:
            output.take()
        if life in readable:
            break
        if wake in readable:
            os.read(wake, 1)
            status = _reaped(worker)
    while True:  # what a dying process has started in the meantime is found in the next round
        with contextlib.suppress(OSError):
            os.killpg(worker, signal.SIGKILL)
        for child in children(os.getpid()):
            with contextlib.suppress(OSError):
                os.kill(child, signal.SIGKILL)
        try:
            pid, status_bits = os.waitpid(-1, 0)
        except ChildProcessError:
            break
        if pid == worker:
            status = os.waitstatus_to_exitcode(status_bits)
    output.finish()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    with contextlib.suppress(OSError):
        send(life, json.dumps({"status": status, "cpu_seconds": used.ru_utime + used.ru_stime}).encode())
    os._exit(0)


def _reaped(worker: int) -> int | None:
    """How the worker ended (a signal's number below 0), None while it has not; others that ended are forgotten."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return None
        if pid in (0, worker):
            return None if pid == 0 else os.waitstatus_to_exitcode(status)


def _adopt_orphans() -> None:
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children(parent: int) -> list[int]:
    """The children of a process, where the system lists them; elsewhere the worker's group has to do."""
    listed = list(Path(f"/proc/{parent}/task").glob("*/children"))
    with contextlib.suppress(OSError):
        if listed:
            return [int(pid) for task in listed for pid in task.read_text().split()]
    pids = []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended since
            # After the name, which is in brackets and may hold anything: state, parent.
            if int((place / "stat").read_text().rpartition(")")[2].split()[1]) == parent:
                pids.append(int(place.name))
    return pids


def descendants(parent: int) -> list[int]:
    """The children of a process, theirs, and so on."""
    found = children(parent)
    for pid in found:  # which grows meanwhile
        found += (child for child in children(pid) if child not in found)
    return found


# -- the worker -------------------------------------------------------------------------------------------------------


def _work(data: socket.socket) -> NoReturn:
    """Call the solver for each message that comes, until the line is closed."""
    me = os.getpid()
    answer: Callable[[Any], dict[str, Any]] | None = None
    while (message := receive(data)) is not None:
        try:
            if answer is None:
                answer, reply = _prepared(pickle.loads(message)), {}
            else:
                reply = answer(pickle.loads(message))
            text = json.dumps(reply, default=_plain)
        except BaseException as error:
            text = json.dumps(_failure(error))
        if os.getpid() != me:
            os._exit(0)  # a fork that the solver made and that came back here
        send(data, text.encode())
        if answer is None:
            break
    os._exit(0)


def _failure(error: BaseException) -> dict[str, Any]:
    """What to say of an error: `how` of a RuleFailure, or the name of one of mlsched's errors."""
    if isinstance(error, MemoryError) or isinstance(error.__cause__, MemoryError):
        # To say so takes a little memory.
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
        return {"how": "memory", "message": "took more memory than its limit"}
    if isinstance(error, RuleFailure):
        return {"how": error.how, "message": str(error)}
    if isinstance(error, MlschedError):
        return {"error": type(error).__name__, "message": str(error)}
    return {"error": "SolverError", "message": f"raised {describe_exception(error)}"}


def _plain(value: Any) -> Any:
    """A number of NumPy's as JSON knows it."""
    if isinstance(value, (np.integer, np.floating)):
        return value.item()
    raise TypeError(f"{with_article(type(value).__name__)} is no JSON data")


def _prepared(task: dict[str, Any]) -> Callable[[Any], dict[str, Any]]:
    """What answers the messages that follow the first, which says how."""
    sys.path[:] = task["path"]
    os.chdir(task["folder"])
    if task["main"] is not None:
        _import_main(*task["main"])
    if task["memory_limit"] is not None:
        _limit_memory(task["memory_limit"])
    Guarded.thorough = True
    return (_solver if task["form"] == "solve" else _rule)(pickle.loads(task["setup"]))


def _solver(setup: Setup) -> Callable[[Any], dict[str, Any]]:
    """Answer (instance, limits, start) by an outcome."""
    from mlsched.api.calls import call_solver

    def answer(message: Any) -> dict[str, Any]:
        instance, limits, start = message
        outcome = call_solver(dataclasses.replace(setup.on(instance), limits=limits, start=start))
        return {
            "status": outcome.status,
            "plan": None if outcome.plan is None else _written(setup.solver, instance, outcome.plan),
            "bound": outcome.bound,
            "stopped_by": outcome.stopped_by,
            "work": outcome.work,
            "doubt": outcome.doubt,
        }

    return answer


def _rule(setup: Setup) -> Callable[[Any], dict[str, Any]]:
    """Answer (instance, rng, memory or None to continue with its own, whether to return it) by a plan."""
    from mlsched.api.adapters import as_rule

    rule = as_rule(setup, starts=True)
    kept: list[Any] = [None]

    def answer(message: Any) -> dict[str, Any]:
        instance, rng, given, tell = message
        plan, kept[0] = rule.call(instance, kept[0] if given is None else given[0], rng)
        return {"plan": _written(setup.solver, instance, plan), "memory": kept[0] if tell else None}

    return answer


def _written(solver: Any, instance: Any, plan: Any) -> dict[str, Any]:
    if not isinstance(plan, Plan):
        raise SolverError(
            f"{solver.name} returned {with_article(type(plan).__name__)}: "
            f"must be {with_article(instance.plan_type.kind)}"
        )
    return plan.to_json()


def _import_main(name: str, is_module: bool) -> None:
    """The caller's program under another name, so that what it does only as the main one is not done again."""
    import runpy

    names = (runpy.run_module if is_module else runpy.run_path)(name, run_name="__mp_main__")
    sys.modules["__main__"].__dict__.update(names)


def _limit_memory(most: int) -> None:
    """Let this process take so many bytes more than it has."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        has = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData:"))
    except (OSError, StopIteration):
        raise InvalidInput("memory_limit: this system does not say how much memory a process has") from None
    resource.setrlimit(resource.RLIMIT_DATA, (has + most, has + most + LAST_WORDS))


# -- messages ---------------------------------------------------------------------------------------------------------


def send(line: socket.socket, message: bytes) -> None:
    """Send a message."""
    line.sendall(len(message).to_bytes(8, "little") + message)


def receive(line: socket.socket) -> bytes | None:
    """The next message, None when the line is closed."""
    size = _exactly(line, 8)
    return None if size is None else _exactly(line, int.from_bytes(size, "little"))


def _exactly(line: socket.socket, size: int) -> bytes | None:
    received = bytearray()
    while len(received) < size:
        chunk = line.recv(min(size - len(received), 2**20))
        if not chunk:
            return None
        received += chunk
    return bytes(received)
