"""Execution of a suite: every task once, in one process or several, stored as it finishes."""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool

from mlsched.benchmark.answer import answer, failed_rows
from mlsched.benchmark.cases import Suite
from mlsched.benchmark.fronts import front_tasks
from mlsched.benchmark.pool import processes
from mlsched.benchmark.reference import with_gaps
from mlsched.benchmark.request import keys_of, request_of
from mlsched.benchmark.row import Key, Row
from mlsched.benchmark.shards import Shard, check_shard, shard_tasks
from mlsched.benchmark.store import Store
from mlsched.benchmark.tasks import RowTask, tasks_of
from mlsched.benchmark.user_suites import find_suite
from mlsched.core.arguments import validate_arguments
from mlsched.core.brief import count_of
from mlsched.core.errors import InvalidInput, describe_exception
from mlsched.core.params import Number

#: Seconds between two writes to the store: a killed run loses only the rows since the last write.
SAVE_SECONDS = 0.2
#: Callback with (finished rows, total rows), at the start and after every task.
Progress = Callable[[int, int], None]
#: Callback with the rows of each finished task.
Report = Callable[[list[Row]], None]


class Interrupted(KeyboardInterrupt):
    """Raised if the run was interrupted; `rows` are the finished (and stored) rows."""

    def __init__(self, rows: list[Row]) -> None:
        super().__init__("interrupted")
        self.rows = rows


@validate_arguments
def run_suite(
    suite: Suite | str,
    *,
    solvers: Sequence[str] | None = None,
    store: str | os.PathLike[str] | None = None,
    resume: bool = False,
    workers: Number = 1,
    isolate: bool = True,
    confirm: bool = True,
    reference: bool = True,
    dask: str | None = None,
    shard: Shard | None = None,
    progress: Progress | None = None,
    report: Report | None = None,
) -> list[Row]:
    """Answer every instance of a suite; the rows are in the suite's order, whichever finished first.

    A failing solver makes failed rows, and the suite continues. Solvers registered at run time exist only in this
    process: they need `workers=1`.

    Args:
        suite: Name in `SUITES`, a folder of instance files, a TOML file (`user_suites`), or a Suite.
        solvers: Names with parameters, or MODULE:FUNCTION, instead of the suite's solvers.
        store: SQLite file that gets the rows as tasks finish, at most `SAVE_SECONDS` apart while tasks are short.
        resume: Keep the rows in the store (failed rows too) and compute the rest; without it, a store with rows of the
            suite is rejected.
        workers: Number of processes. Each solve has one thread, so the rows do not depend on this number (apart from
            times and solves that hit a wall limit).
        isolate: Run foreign solvers in their own processes, so that a crash, a hang or exhausted memory becomes a row;
            they must be defined in a module.
        confirm: If the suite uses one engine only, let another search for anything better than its optimum, separate
            from the time of its answer.
        reference: If none of the solvers is exact, add the problem's default, to which gaps are measured.
        dask: Address of a Dask scheduler whose workers do the work instead.
        shard: (I, N): only the I-th of N parts of the suite (`shards`); `mlsched.merge` joins their stores.
        progress: Called with (finished rows, total rows), at the start and after every task.
        report: Called with the rows of each finished task.

    Returns:
        The rows with their gaps.

    Raises:
        InvalidInput: An argument is invalid.
        Interrupted: Ctrl-C was pressed; it has the rows so far.

    Examples:
        >>> import pathlib
        >>> pathlib.Path("instances").mkdir()
        >>> mlsched.save(mlsched.generate("quality", "small"), "instances/0.json")
        >>> rows = mlsched.run_suite("instances", solvers=["slaq", "dp"])
        >>> [(row.solver, row.status) for row in rows if row.objective == "total_loss_reduction"]
        [('slaq', 'feasible'), ('dp', 'optimal')]
    """
    if isinstance(suite, str):
        suite = find_suite(suite)
    if isinstance(solvers, str):
        solvers = [solvers]
    if store is not None:
        os.fspath(store)  # rejects an invalid path before any instance is drawn
    if resume and store is None:
        raise InvalidInput("resume: needs a store to take the rows from; give its file")
    if shard is not None:
        check_shard(shard, f"shard: {shard!r}")
    all_tasks: list[RowTask] = [*tasks_of(suite, solvers, confirm, reference), *front_tasks(suite, solvers)]
    tasks = all_tasks if shard is None else shard_tasks(all_tasks, shard)
    with contextlib.ExitStack() as stack:
        open_store = stack.enter_context(Store(store)) if store is not None else None
        run = _Run(tasks, open_store, _stored_rows(open_store, suite, resume), progress, report)
        if open_store is not None:
            settings = {"solvers": solvers and list(solvers), "confirm": confirm, "reference": reference}
            open_store.note(request_of(suite.name, all_tasks, tasks, shard, settings))
        try:
            if dask is not None:
                from mlsched.benchmark.dask import on_dask

                on_dask(run.open, dask, isolate, run.keep)
            elif workers == 1 or len(run.open) < 2:
                for task in run.open:
                    run.keep(task, answer(task, isolate))
            else:
                _run_in_parallel(run.open, min(workers, len(run.open)), isolate, run.keep)
        except KeyboardInterrupt:
            raise Interrupted(with_gaps(run.rows())) from None
        finally:
            run.save()
        return with_gaps(run.rows())


def _stored_rows(store: Store | None, suite: Suite, resume: bool) -> dict[Key, Row]:
    """Return the rows that need not be computed: all rows of the suite in `store` with `resume`, otherwise none.

    Raises:
        InvalidInput: The store has rows of the suite, but `resume` is False.
    """
    if store is None:
        return {}
    if resume:
        return {row.key: row for row in store.rows(suite.name)}
    if count := store.count(suite.name):
        raise InvalidInput(
            f"{store.path}: has {count_of(count, 'row')} of suite {suite.name}; use --resume to complete them, or "
            "another file"
        )
    return {}


class _Run:
    """Tasks of a run, the finished rows, and their destination."""

    def __init__(
        self,
        tasks: list[RowTask],
        store: Store | None,
        stored: dict[Key, Row],
        progress: Progress | None,
        report: Report | None,
    ) -> None:
        self._tasks, self._store, self._progress, self._told = tasks, store, progress, report
        all_keys = {key for task in tasks for key in task.keys}
        self._done = {key: row for key, row in stored.items() if key in all_keys}
        self._total = len(all_keys)
        self._unsaved: list[Row] = []
        self._saved_at = -math.inf
        self.open = [task for task in tasks if not self._done.keys() >= set(task.keys)]
        self._report()

    def keep(self, task: RowTask, rows: list[Row]) -> None:
        """Add the rows of a task, and write them to the store unless it was written a moment ago."""
        new = [row for row in rows if row.key not in self._done]
        self._unsaved += new
        if time.monotonic() - self._saved_at >= SAVE_SECONDS:
            self.save()
        self._done.update({row.key: row for row in new})
        if self._told is not None:
            self._told(rows)
        self._report()

    def save(self) -> None:
        """Write the rows that the store lacks."""
        if self._store is not None and self._unsaved:
            self._store.add(self._unsaved)
        self._unsaved, self._saved_at = [], time.monotonic()

    def rows(self) -> list[Row]:
        """Return the rows so far, in the order of the tasks."""
        return [self._done[key] for key in keys_of(self._tasks) if key in self._done]

    def _report(self) -> None:
        if self._progress is not None:
            self._progress(len(self._done), self._total)


def _run_in_parallel(
    tasks: Sequence[RowTask], workers: int, isolate: bool, keep: Callable[[RowTask, list[Row]], None]
) -> None:
    """Run the tasks in `workers` processes; a process that dies fails only its own task.

    The executor cannot identify the task that killed a process, so the running ones are repeated one by one.

    Args:
        tasks: The tasks.
        workers: Number of processes.
        isolate: Run foreign solvers in their own processes.
        keep: Called with each task and its rows.
    """
    waiting = deque(tasks)
    while waiting:
        suspects: list[RowTask] = []
        with processes(workers) as pool:
            running: dict[Future[list[Row]], RowTask] = {}
            while (waiting or running) and not suspects:
                while waiting and len(running) < workers:
                    task = waiting.popleft()
                    running[pool.submit(answer, task, isolate)] = task
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    task = running.pop(future)
                    if isinstance(future.exception(), BrokenProcessPool):
                        suspects.append(task)
                    else:
                        keep(task, _rows_of_future(task, future))
            suspects += running.values()
        for task in suspects:
            keep(task, _run_separately(task, isolate))


def _run_separately(task: RowTask, isolate: bool) -> list[Row]:
    """Run a task in its own process."""
    with processes(1) as pool:
        return _rows_of_future(task, pool.submit(answer, task, isolate))


def _rows_of_future(task: RowTask, future: Future[list[Row]]) -> list[Row]:
    try:
        return future.result()
    except BrokenProcessPool:
        return failed_rows(task, f"{task.solver}: its process died: a crash, or out of memory")
    except Exception as error:
        return failed_rows(task, f"{task.solver}: {describe_exception(error)}")
