"""Anyone's list of machines: a CSV with a row a node, or a row for `count` equal ones.

Columns by their common names: `gpus`, `cpus`, `memory_gib` (any unit of memory, at the end of its name), `name`,
`model`, `count`. What no column says, the machines do not have.
"""

from __future__ import annotations

import numpy as np

from mlsched.instances.traces import own
from mlsched.instances.traces.source import Text, csv_header, csv_rows, shown
from mlsched.instances.traces.trace import Nodes
from mlsched.instances.traces.values import COUNTS, MEMORIES, amount

#: Field -> common names of its column.
NAMES = {
    "gpus": own.NAMES["gpus"],
    "cpus": own.NAMES["cpus"],
    "memory": own.NAMES["memory"],
    "name": ("name", "node", "node_name", "host", "hostname", "sn", "id"),
    "model": ("model", "gpu_model", "gpu_type", "gpu_name"),
    "count": ("count", "nodes", "num_nodes", "quantity"),
}
MOST_NODES = 10**5


def read(text: Text) -> Nodes:
    """The nodes of a list; InvalidFile says what is wrong in which line."""
    header = csv_header(text)
    text.line += 1
    for field in ("submit", "start", "end", "duration"):
        if (column := own.guessed(text, header, field, own.NAMES[field])) is not None:
            text.fail(
                f"has a column {shown(column.name)}: this is a log of jobs, no list of nodes", "give one of nodes"
            )
    fields: dict[str, own.Column] = {}
    for field, names in NAMES.items():
        column = own.guessed(text, header, field, names)
        if column is not None:
            fields[field] = column
    if "gpus" not in fields and "cpus" not in fields:
        text.fail(
            f"begins with {shown(text.head.rstrip())}: no column says how many GPUs or CPUs a node has",
            "name its columns name, gpus, cpus, memory_gib, count",
        )
    text.line -= 1
    columns = [column.name for column in fields.values()]
    ids: list[str] = []
    rows: list[tuple[int, int, int]] = []
    models: list[str] = []
    wanted = columns if len(columns) > 1 else columns * 2  # a reader of rows picks two columns or more
    for values in csv_rows(text, wanted, {}):
        row = dict(zip(fields, values, strict=False))
        count = text.whole(fields["count"].name, row["count"]) if "count" in row else 1
        if len(ids) + count > MOST_NODES:
            text.fail(f"there are more than {MOST_NODES} nodes", "give fewer")
        name = text.label(fields["name"].name, row["name"]) if "name" in row else f"line-{text.line}"
        cpus, memory, gpus = (_amount(text, fields, row, field) for field in ("cpus", "memory", "gpus"))
        if gpus % 1000:
            text.bad(fields["gpus"].name, row["gpus"], "must be whole")
        ids += [name] if count == 1 else [f"{name}-{k + 1}" for k in range(count)]
        rows += [(cpus, memory, gpus // 1000)] * count
        models += [text.label("model", row.get("model", ""), empty=True)] * count
    if not ids:
        text.fail("there are no rows below the header", "give a file with nodes")
    if len(set(ids)) != len(ids):
        twice = next(name for name in ids if ids.count(name) > 1)
        text.fail(f"node {shown(twice)} is there twice", "give each node a name of its own")
    table = np.array(rows, dtype=np.int64)
    return Nodes(
        ids=tuple(ids),
        cpu_milli=table[:, 0],
        memory_mib=table[:, 1],
        gpus=table[:, 2],
        model=tuple(models),
        source=f"{text.name} (nodes)",
    )


def _amount(text: Text, fields: dict[str, own.Column], row: dict[str, str], field: str) -> int:
    """Thousandths, or MiB of memory; 0 where no column says."""
    if field not in fields:
        return 0
    column = fields[field]
    factor = MEMORIES[column.unit] if field == "memory" else COUNTS[column.unit]
    return amount(text, column.name, row[field], factor, f"a number of {field}")
