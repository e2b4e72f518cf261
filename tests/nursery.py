"""A process that has everything imported and forks for every command line that it is sent: `Nursery`.

Run as a script, it reads {"call": [...], "cpu": seconds or null} a line and answers {"status": ..., "cpu": ...}. The
fork is ended by the kernel when it has used so much CPU time: SIGPROF without a handler ends a process as SIGKILL does,
at once and anywhere, and no test waits for a clock on the wall. A test that forked itself would hand on the threads of
others.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


class Nursery:
    """The process, as tests use it; a context manager."""

    def __init__(self, *modules: str) -> None:
        """modules: imported before the first fork, too."""
        self._modules = modules

    def __enter__(self) -> Nursery:
        here = Path(__file__).resolve()
        threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
        paths = os.pathsep.join([str(here.parents[1]), str(here.parent), *filter(None, sys.path)])
        self._process = subprocess.Popen(
            [sys.executable, str(here), *self._modules],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **threads, "PYTHONPATH": paths},
        )
        return self

    def __exit__(self, *error: object) -> None:
        assert self._process.stdin is not None
        self._process.communicate()

    def run(self, call: Sequence[str], cpu: float | None = None) -> tuple[int | None, float]:
        """Exit status of `mlsched CALL...` (None: it was ended after `cpu` seconds), and the CPU seconds it took."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"call": list(call), "cpu": cpu}) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        return answer["status"], answer["cpu"]


def _fork(call: list[str], cpu: float | None) -> dict[str, object]:
    from mlsched.cli.main import run

    child = os.fork()
    if child == 0:
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        if cpu is not None:
            signal.setitimer(signal.ITIMER_PROF, cpu)
        os._exit(run(call))
    _, status, used = os.wait4(child, 0)
    return {"status": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None, "cpu": used.ru_utime + used.ru_stime}


def _serve() -> None:
    import benchmark_examples

    from mlsched.benchmark import runner
    from mlsched.core.registry import registry
    from mlsched.simulation import every_simulation

    registry()
    every_simulation()
    for module in sys.argv[1:]:
        importlib.import_module(module)
    tiny = benchmark_examples.suite("fifo", "fitgpp", "brute-force")
    runner.find_suite = lambda name: tiny
    for line in sys.stdin:
        asked = json.loads(line)
        sys.stdout.write(json.dumps(_fork(asked["call"], asked["cpu"])) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
