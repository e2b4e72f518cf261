"""A suite's tasks on a Dask cluster: the same rows as in this process."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from mlsched.benchmark.answer import answer, failed
from mlsched.benchmark.row import Row
from mlsched.benchmark.tasks import Asked
from mlsched.core.errors import InvalidInput

#: Tasks per worker that are with the scheduler at a time: a long suite does not fill its memory.
IN_FLIGHT = 8
#: Seconds to wait for the scheduler.
PATIENCE = 10.0


def on_dask(tasks: Sequence[Asked], address: str, isolate: bool, keep: Callable[[Asked, list[Row]], None]) -> None:
    """Have the workers of the cluster at `address` ("tcp://host:8786") do the tasks; rows are kept as they come.

    Workers must have mlsched, and one thread each: solves would take each other's time. A task whose worker dies is
    tried on others as often as the cluster is set to (`distributed.scheduler.allowed-failures`), then it is a failed
    row.
    """
    distributed = _distributed()
    with _client(distributed, address) as client:
        there = client.scheduler_info(n_workers=-1)["workers"].values()
        threads = {worker["nthreads"] for worker in there}
        if not threads:
            raise InvalidInput(f"--dask {address}: the cluster has no worker; start some (`dask worker {address}`)")
        if threads != {1}:
            raise InvalidInput(
                f"--dask {address}: its workers have {max(threads)} threads; start them with --nthreads 1"
            )
        waiting, running = iter(tasks), dict[Any, Asked]()
        completed = distributed.as_completed(loop=client.loop)

        def submit(count: int) -> None:
            for task in itertools.islice(waiting, count):
                future = client.submit(answer, task, isolate, pure=False)
                running[future] = task
                completed.add(future)

        submit(IN_FLIGHT * len(there))
        for future in completed:
            submit(1)
            task = running.pop(future)
            keep(task, _result(task, future))


def _client(distributed: Any, address: str) -> Any:
    try:
        return distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InvalidInput(f"--dask {address}: there is no Dask scheduler: {reason}") from None


def _result(task: Asked, future: Any) -> list[Row]:
    error = future.exception()
    if error is None:
        rows: list[Row] = future.result()
        return rows
    return failed(task, f"{task.solver}: {type(error).__name__}: {' '.join(str(error).split())}")


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise InvalidInput("--dask needs Dask; pip install 'mlsched[dask]'") from None
    return distributed
