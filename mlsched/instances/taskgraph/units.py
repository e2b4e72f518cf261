"""GPUs and seconds of a task-graph cluster, for rules that count in them.

The unit of GPUs follows from the name of the resource, as in the public traces, or from `gpu_unit`; `tick_ms` is the
length of a tick. Both are interpreted only here.
"""

from __future__ import annotations

from mlsched.core.errors import InvalidInput
from mlsched.instances.taskgraph.gpus import GPU_UNITS, gpu_column
from mlsched.instances.taskgraph.instance import Instance
from mlsched.instances.taskgraph.snapshot import Snapshot


def gpu_seconds(question: Instance | Snapshot, rule: str) -> tuple[int, float]:
    """Return the column of the GPU resource, and the GPU-seconds of one of its units used for one tick.

    Raises:
        InvalidInput: The question does not define them; the message names `rule`, the missing field and the remedy.
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
