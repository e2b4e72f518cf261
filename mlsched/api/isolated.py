"""Processes of isolated solvers, the counterpart of `api/isolation.py`.

There are three kinds of process. The server has imported everything and only forks (a fork of the caller would copy the
threads of solvers). For each isolated solver it forks a keeper. The keeper forks the worker that calls the solver,
waits for it, and then ends everything that the worker has started; orphans among its descendants become its children.
It also ends the worker when the caller closes the line, so all processes end with the caller.

A message is a length of eight bytes and as many bytes. Messages from the caller are pickles. Messages to the caller are
JSON, which is safe data from any source.
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
from mlsched.core.aliases import Data
from mlsched.core.contract import Plan
from mlsched.core.errors import InvalidInput, MlschedError, RuleFailure, SolverError, describe_exception, with_article
from mlsched.core.request import Setup

#: Linux: orphaned descendants of this process become its children.
PR_SET_CHILD_SUBREAPER = 36
#: Bytes above the memory limit, in which a worker can still report that the limit was reached.
REPORT_MEMORY = 2**26


def serve(descriptor: int) -> NoReturn:
    """Fork a keeper for each received pair of sockets, until the line is closed."""
    from mlsched.core.registry import registry

    registry().available()  # imports that every fork shares
    control = socket.socket(fileno=descriptor)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        control.sendall(b"!")
    except OSError:
        os._exit(0)  # the caller has ended
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1, 2)
        if not message:
            os._exit(0)
        with contextlib.suppress(OSError):  # the caller notices that its line is closed
            if os.fork() == 0:
                control.close()
                _run_keeper(*(socket.socket(fileno=f) for f in descriptors))
        for received in descriptors:
            os.close(received)


def _run_keeper(data: socket.socket, life: socket.socket) -> NoReturn:
    """Fork a worker that uses `data`, wait until it ends or `life` closes, and report its end to `life`."""
    _adopt_orphans()
    wake, wake_reader = os.pipe()
    os.set_blocking(wake_reader, False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(wake_reader, warn_on_full_buffer=False)
    # The caller wakes this process if the solver has stopped it.
    send(life, json.dumps({"keeper": os.getpid()}).encode())
    output = Output()
    worker = os.fork()
    if worker == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for descriptor in (wake, wake_reader):
            os.close(descriptor)
        life.close()
        os.setsid()
        output.adopt()
        _run_worker(data)
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
            status = _worker_status(worker)
    while True:  # the next round finds processes that a dying process started meanwhile
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
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    with contextlib.suppress(OSError):
        send(life, json.dumps({"status": status, "cpu_seconds": usage.ru_utime + usage.ru_stime}).encode())
    os._exit(0)


def _worker_status(worker: int) -> int | None:
    """Return how the worker ended (a signal's number below 0), or None while it runs; reap other processes."""
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
    """Return the children of a process if the system lists them; otherwise the worker's group has to suffice."""
    child_lists = list(Path(f"/proc/{parent}/task").glob("*/children"))
    with contextlib.suppress(OSError):
        if child_lists:
            return [int(pid) for task in child_lists for pid in task.read_text().split()]
    pids = []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended
            # state and parent follow the name, which is in brackets and may contain any character
            if int((place / "stat").read_text().rpartition(")")[2].split()[1]) == parent:
                pids.append(int(place.name))
    return pids


def descendants(parent: int) -> list[int]:
    """Return the children of a process, their children, and further descendants."""
    pids = children(parent)
    for pid in pids:  # grows meanwhile
        pids += (child for child in children(pid) if child not in pids)
    return pids


# -- the worker -------------------------------------------------------------------------------------------------------


def _run_worker(data: socket.socket) -> NoReturn:
    """Call the solver for each received message, until the line is closed."""
    me = os.getpid()
    answer: Callable[[Any], dict[str, Any]] | None = None
    while (message := receive(data)) is not None:
        try:
            if answer is None:
                answer, reply = _answer_function(pickle.loads(message)), {}
            else:
                reply = answer(pickle.loads(message))
            text = json.dumps(reply, default=_json_number)
        except BaseException as error:
            text = json.dumps(_failure(error))
        if os.getpid() != me:
            os._exit(0)  # a fork by the solver that returned here
        send(data, text.encode())
        if answer is None:
            break
    os._exit(0)


def _failure(error: BaseException) -> dict[str, object]:
    """Return the report of an error: `how` of a RuleFailure, or the name of one of mlsched's errors."""
    if isinstance(error, MemoryError) or isinstance(error.__cause__, MemoryError):
        # The report itself needs a little memory.
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
        return {"how": "memory", "message": "took more memory than its limit"}
    if isinstance(error, RuleFailure):
        return {"how": error.how, "message": str(error)}
    if isinstance(error, MlschedError):
        return {"error": type(error).__name__, "message": str(error)}
    return {"error": "SolverError", "message": f"raised {describe_exception(error)}"}


def _json_number(value: object) -> object:
    """Convert a NumPy number for JSON."""
    if isinstance(value, (np.integer, np.floating)):
        return value.item()
    raise TypeError(f"{with_article(type(value).__name__)} is not JSON data")


def _answer_function(task: Data) -> Callable[[Any], Data]:
    """Return the function that answers all messages after the first, which configures it."""
    sys.path[:] = task["path"]
    os.chdir(task["folder"])
    if task["main"] is not None:
        _import_main(*task["main"])
    if task["memory_limit"] is not None:
        _limit_memory(task["memory_limit"])
    Guarded.thorough = True
    return (_answer_with_outcome if task["form"] == "solve" else _answer_with_plan)(pickle.loads(task["setup"]))


def _answer_with_outcome(setup: Setup) -> Callable[[Any], Data]:
    """Return a function that answers (instance, limits, start) with an outcome."""
    from mlsched.api.calls import call_solver

    def answer(message: Any) -> Data:
        instance, limits, start = message
        outcome = call_solver(dataclasses.replace(setup.on(instance), limits=limits, start=start))
        return {
            "status": outcome.status,
            "plan": None if outcome.plan is None else _plan_document(setup.solver, instance, outcome.plan),
            "bound": outcome.bound,
            "stopped_by": outcome.stopped_by,
            "work": outcome.work,
            "doubt": outcome.doubt,
        }

    return answer


def _answer_with_plan(setup: Setup) -> Callable[[Any], Data]:
    """Return a function from (instance, rng, memory, return the memory) to the answer with a plan.

    Memory None: the function continues with its own memory.
    """
    from mlsched.api.adapters import as_rule

    rule = as_rule(setup, starts=True)
    memory: list[Any] = [None]

    def answer(message: Any) -> Data:
        instance, rng, given_memory, return_memory = message
        plan, memory[0] = rule.call(instance, memory[0] if given_memory is None else given_memory[0], rng)
        return {"plan": _plan_document(setup.solver, instance, plan), "memory": memory[0] if return_memory else None}

    return answer


def _plan_document(solver: Any, instance: Any, plan: Any) -> dict[str, object]:
    if not isinstance(plan, Plan):
        raise SolverError(
            f"{solver.name} returned {with_article(type(plan).__name__)}, expected "
            f"{with_article(instance.plan_type.kind)}"
        )
    return plan.to_json()


def _import_main(name: str, is_module: bool) -> None:
    """Import the caller's program under another name, so that code for the main program does not run."""
    import runpy

    names = (runpy.run_module if is_module else runpy.run_path)(name, run_name="__mp_main__")
    sys.modules["__main__"].__dict__.update(names)


def _limit_memory(most: int) -> None:
    """Limit this process to `most` bytes beyond its current memory."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        has = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData:"))
    except (OSError, StopIteration):
        raise InvalidInput("memory_limit: this system does not report the memory of a process; leave it out") from None
    resource.setrlimit(resource.RLIMIT_DATA, (has + most, has + most + REPORT_MEMORY))


# -- messages ---------------------------------------------------------------------------------------------------------


def send(line: socket.socket, message: bytes) -> None:
    """Send a message."""
    line.sendall(len(message).to_bytes(8, "little") + message)


def receive(line: socket.socket) -> bytes | None:
    """Return the next message, or None if the line is closed."""
    size = _receive_bytes(line, 8)
    return None if size is None else _receive_bytes(line, int.from_bytes(size, "little"))


def _receive_bytes(line: socket.socket, size: int) -> bytes | None:
    message = bytearray()
    while len(message) < size:
        chunk = line.recv(min(size - len(message), 2**20))
        if not chunk:
            return None
        message += chunk
    return bytes(message)
