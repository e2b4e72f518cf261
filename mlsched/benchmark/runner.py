"""Running a suite: every task once, in one process or several, kept in a store as it finishes."""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool

from mlsched.benchmark.answer import answer, failed
from mlsched.benchmark.cases import Suite
from mlsched.benchmark.fronts import front_tasks
from mlsched.benchmark.pool import processes
from mlsched.benchmark.reference import with_gaps
from mlsched.benchmark.request import keys_of, request_of
from mlsched.benchmark.row import Key, Row
from mlsched.benchmark.shards import Shard, check_shard, shard_tasks
from mlsched.benchmark.store import Store
from mlsched.benchmark.tasks import Asked, tasks_of
from mlsched.benchmark.user_suites import find_suite
from mlsched.core.arguments import validate_arguments
from mlsched.core.brief import count_of
from mlsched.core.errors import InvalidInput, describe_exception
from mlsched.core.params import Number

#: Seconds between two writes to the store: a run that is killed loses only the rows of tasks since the last one.
SAVE_SECONDS = 0.2
#: Called with (rows there are, rows there will be), once at the start and after every task.
Progress = Callable[[int, int], None]
#: Called with the rows of each task when it is done.
Report = Callable[[list[Row]], None]


class Interrupted(KeyboardInterrupt):
    """The run was interrupted; `rows` are those that were done (and stored, if there is a store)."""

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
    """Answer every instance of a suite; the rows come in the suite's order, whoever finished first.

    A failing solver makes failed rows and the suite goes on. Solvers registered at run time are known to this
    process only: they need `workers=1`.

    Args:
        suite: one of `SUITES` by name, a folder of instance files, a TOML file (`user_suites`), or a Suite.
        solvers: names with parameters, or MODULE:FUNCTION, instead of those the suite names.
        store: an SQLite file that gets the rows as tasks finish, at most `SAVE_SECONDS` apart while tasks are short.
        resume: take what the store has (failed rows too) and compute the rest; without it a store that holds rows of
            the suite is refused.
        workers: processes; each solve has one thread, so the rows are the same for any number (apart from seconds, and
            from solves that hit a wall limit).
        isolate: ask solvers that are not mlsched's own in processes of their own, so that one that crashes, hangs or
            fills the memory makes a row that says so; they must stand in a module.
        confirm: where the suite asks one engine alone, ask another whether anything is better than its optimum, apart
            from the time of its answer.
        reference: where none of the solvers is exact, ask the problem's default too, or there would be nothing to take
            gaps to.
        dask: the address of a Dask scheduler, whose workers do the work instead.
        shard: (I, N): only the I-th of N parts of the suite, which together are the suite (`shards`); `mlsched.merge`
            makes their stores one.
        progress: called with (rows there are, rows there will be), at the start and after every task.
        report: called with the rows of each task when it is done.

    Raises:
        InvalidInput: the call is wrong.
        Interrupted: Ctrl-C was pressed; it holds the rows so far.

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
        os.fspath(store)  # what is no path is refused before anything is drawn
    if resume and store is None:
        raise InvalidInput("resume: needs a store to take the rows from; give its file")
    if shard is not None:
        check_shard(shard, f"shard: {shard!r}")
    whole: list[Asked] = [*tasks_of(suite, solvers, confirm, reference), *front_tasks(suite, solvers)]
    tasks = whole if shard is None else shard_tasks(whole, shard)
    with contextlib.ExitStack() as stack:
        kept = stack.enter_context(Store(store)) if store is not None else None
        run = _Run(tasks, kept, _stored(kept, suite, resume), progress, report)
        if kept is not None:
            settings = {"solvers": solvers and list(solvers), "confirm": confirm, "reference": reference}
            kept.note(request_of(suite.name, whole, tasks, shard, settings))
        try:
            if dask is not None:
                from mlsched.benchmark.dask import on_dask

                on_dask(run.open, dask, isolate, run.keep)
            elif workers == 1 or len(run.open) < 2:
                for task in run.open:
                    run.keep(task, answer(task, isolate))
            else:
                _parallel(run.open, min(workers, len(run.open)), isolate, run.keep)
        except KeyboardInterrupt:
            raise Interrupted(with_gaps(run.rows())) from None
        finally:
            run.save()
        return with_gaps(run.rows())


def _stored(store: Store | None, suite: Suite, resume: bool) -> dict[Key, Row]:
    """The rows that need not be computed."""
    if store is None:
        return {}
    if resume:
        return {row.key: row for row in store.rows(suite.name)}
    if count := store.count(suite.name):
        raise InvalidInput(
            f"{store.path}: holds {count_of(count, 'row')} of suite {suite.name}; use --resume to complete them, or "
            "another file"
        )
    return {}


class _Run:
    """The tasks of a run, the rows there are, and where they go."""

    def __init__(
        self,
        tasks: list[Asked],
        store: Store | None,
        stored: dict[Key, Row],
        progress: Progress | None,
        report: Report | None,
    ) -> None:
        self._tasks, self._store, self._progress, self._told = tasks, store, progress, report
        wanted = {key for task in tasks for key in task.keys}
        self._done = {key: row for key, row in stored.items() if key in wanted}
        self._total = len(wanted)
        self._unsaved: list[Row] = []
        self._saved_at = -math.inf
        self.open = [task for task in tasks if not self._done.keys() >= set(task.keys)]
        self._report()

    def keep(self, task: Asked, rows: list[Row]) -> None:
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
        """The rows so far, in the order of the tasks."""
        return [self._done[key] for key in keys_of(self._tasks) if key in self._done]

    def _report(self) -> None:
        if self._progress is not None:
            self._progress(len(self._done), self._total)


def _parallel(tasks: Sequence[Asked], workers: int, isolate: bool, keep: Callable[[Asked, list[Row]], None]) -> None:
    """The tasks in `workers` processes. A process that dies fails its own task only.

    When one dies, the executor cannot tell which task killed it: those that were running are asked again one by one.
    """
    waiting = deque(tasks)
    while waiting:
        suspects: list[Asked] = []
        with processes(workers) as pool:
            running: dict[Future[list[Row]], Asked] = {}
            while (waiting or running) and not suspects:
                while waiting and len(running) < workers:
                    task = waiting.popleft()
                    running[pool.submit(answer, task, isolate)] = task
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    task = running.pop(future)
                    if isinstance(future.exception(), BrokenProcessPool):
                        suspects.append(task)
                    else:
                        keep(task, _result(task, future))
            suspects += running.values()
        for task in suspects:
            keep(task, _alone(task, isolate))


def _alone(task: Asked, isolate: bool) -> list[Row]:
    """A task in a process of its own."""
    with processes(1) as pool:
        return _result(task, pool.submit(answer, task, isolate))


def _result(task: Asked, future: Future[list[Row]]) -> list[Row]:
    try:
        return future.result()
    except BrokenProcessPool:
        return failed(task, f"{task.solver}: its process died: a crash, or out of memory")
    except Exception as error:
        return failed(task, f"{task.solver}: {describe_exception(error)}")
