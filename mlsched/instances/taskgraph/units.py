"""What the numbers of a task-graph cluster mean outside it: GPUs and seconds, for rules that count in them.

The name of the resource says the unit in which GPUs are counted, as the names of the public traces do, or `gpu_unit`
does; `tick_ms` says how long a tick is. This is the only place that knows either.
"""

from __future__ import annotations

from mlsched.core.errors import InvalidInput
from mlsched.instances.taskgraph.gpus import GPU_UNITS, gpu_column
from mlsched.instances.taskgraph.instance import Instance
from mlsched.instances.taskgraph.snapshot import Snapshot


def gpu_seconds(question: Instance | Snapshot, rule: str) -> tuple[int, float]:
    """(the column of the resource that counts GPUs, the GPU-seconds of one of its units held for one tick).

    Raises InvalidInput, naming `rule`, what it lacks and the remedy, where the question does not say it.
    """
    column = gpu_column(question.resources)
    if column < 0:
        has = ", ".join(question.resources) or "none"
        raise InvalidInput(
            f"{rule}: counts GPU-seconds, and resources = {has}: exactly one must be named {' or '.join(GPU_UNITS)}; "
            "rename the resource, or choose another rule, such as fifo or srpt"
        )
    if not question.tick_ms:
        raise InvalidInput(
            f"{rule}: counts GPU-seconds, and tick_ms = 0 (not stated): give the instance the milliseconds of a tick"
        )
    unit = question.gpu_unit
    return column, question.tick_ms / 1000 / (unit or GPU_UNITS[question.resources[column]])
