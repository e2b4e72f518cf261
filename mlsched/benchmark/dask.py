"""Execution of a suite's tasks on a Dask cluster, with the same rows as in this process."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from mlsched.benchmark.answer import answer, failed_rows
from mlsched.benchmark.row import Row
from mlsched.benchmark.tasks import RowTask
from mlsched.core.errors import InvalidInput

#: Tasks per worker that are submitted at a time, so that a long suite does not fill the scheduler's memory.
IN_FLIGHT = 8
#: Seconds to wait for the scheduler.
PATIENCE = 10.0


def on_dask(tasks: Sequence[RowTask], address: str, isolate: bool, keep: Callable[[RowTask, list[Row]], None]) -> None:
    """Run the tasks on the workers of the cluster at `address` ("tcp://host:8786"), keeping rows as they arrive.

    Workers need mlsched and one thread each, because solves would slow each other down. A task whose worker dies is
    retried on other workers as often as the cluster allows (`distributed.scheduler.allowed-failures`); then it becomes
    a failed row.

    Args:
        tasks: The tasks.
        address: Address of the Dask scheduler.
        isolate: Run foreign solvers in their own processes.
        keep: Called with each task and its rows.
    """
    distributed = _import_distributed()
    with _client(distributed, address) as client:
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        threads = {worker["nthreads"] for worker in workers}
        if not threads:
            raise InvalidInput(f"--dask {address}: the cluster has 0 workers; start some (`dask worker {address}`)")
        if threads != {1}:
            raise InvalidInput(
                f"--dask {address}: its workers have {max(threads)} threads; start them with --nthreads 1"
            )
        waiting, running = iter(tasks), dict[Any, RowTask]()
        finished_futures = distributed.as_completed(loop=client.loop)

        def submit(count: int) -> None:
            for task in itertools.islice(waiting, count):
                future = client.submit(answer, task, isolate, pure=False)
                running[future] = task
                finished_futures.add(future)

        submit(IN_FLIGHT * len(workers))
        for future in finished_futures:
            submit(1)
            task = running.pop(future)
            keep(task, _rows_of_future(task, future))


def _client(distributed: Any, address: str) -> Any:
    try:
        return distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InvalidInput(f"--dask {address}: a Dask scheduler was not found: {reason}") from None


def _rows_of_future(task: RowTask, future: Any) -> list[Row]:
    error = future.exception()
    if error is None:
        rows: list[Row] = future.result()
        return rows
    return failed_rows(task, f"{task.solver}: {type(error).__name__}: {' '.join(str(error).split())}")


def _import_distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise InvalidInput("--dask needs Dask; pip install 'mlsched[dask]'") from None
    return distributed
