"""Parts of a suite for separate machines: `mlsched bench --shard I/N`.

A part has complete instances, so that the rows of an exact solver are beside those compared with it. Instances are
sorted by content (problem, size, hash) and dealt out in turn: parts differ by at most one instance, and have equally
many large ones. Neither the order of the suite nor the machine matters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from mlsched.benchmark.tasks import RowTask
from mlsched.core.errors import InvalidInput, shorten

#: Part and number of parts, from 1.
Shard = tuple[int, int]
#: Largest number of parts, above the size of any job array.
MAX_PARTS = 1_000_000


def shard_of(text: str) -> Shard:
    """Parse the shard "2/16" as (2, 16); raise InvalidInput for anything else."""
    match = re.fullmatch(r"([0-9]{1,7})/([0-9]{1,7})", text)
    shard = (int(match[1]), int(match[2])) if match else (0, 0)
    check_shard(shard, f"shard: {shorten(ascii(text))}")
    return shard


def check_shard(shard: Shard, where: str) -> None:
    """Raise InvalidInput unless the shard is (I, N) with 1 <= I <= N."""
    number, count = shard
    if not (type(number) is type(count) is int and 1 <= number <= count <= MAX_PARTS):
        raise InvalidInput(f"{where}, expected I/N with 1 <= I <= N <= {MAX_PARTS}, such as 1/16")


def shard_tasks(tasks: Sequence[RowTask], shard: Shard) -> list[RowTask]:
    """Return the tasks of one shard, in the order of the suite."""
    number, count = shard
    contents = set(sorted({task.content for task in tasks})[number - 1 :: count])
    return [task for task in tasks if task.content in contents]
