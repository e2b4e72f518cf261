"""A suite in parts that machines run apart from each other: `mlsched bench --shard I/N`.

A part holds whole instances, so that the rows of an exact solver stand beside those that are held against them. The
instances are sorted by what they are (problem, size, hash) and dealt out in turn: each part has as many as the others,
give or take one, and as many large ones; neither the order of the suite nor the machine matters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from mlsched.benchmark.tasks import Asked
from mlsched.core.errors import InvalidInput, shorten

#: Which part of how many, from 1.
Shard = tuple[int, int]
#: Most parts: more than any array of jobs has.
MOST = 1_000_000


def shard_of(text: str) -> Shard:
    """The shard "2/16" as (2, 16); anything else is InvalidInput."""
    found = re.fullmatch(r"([0-9]{1,7})/([0-9]{1,7})", text)
    shard = (int(found[1]), int(found[2])) if found else (0, 0)
    check_shard(shard, f"shard: {shorten(ascii(text))}")
    return shard


def check_shard(shard: Shard, where: str) -> None:
    """Refuse what is not (I, N) with 1 <= I <= N."""
    number, count = shard
    if not (type(number) is type(count) is int and 1 <= number <= count <= MOST):
        raise InvalidInput(f"{where}, expected I/N with 1 <= I <= N <= {MOST}, such as 1/16")


def shard_tasks(tasks: Sequence[Asked], shard: Shard) -> list[Asked]:
    """The tasks of one shard, in the order of the suite."""
    number, count = shard
    mine = set(sorted({task.content for task in tasks})[number - 1 :: count])
    return [task for task in tasks if task.content in mine]
