"""Reader of any list of machines: a text with one row per node, or per `count` equal nodes.

Columns by `read`, or by their common names: `gpus`, `cpus`, `memory_gib` (any unit of memory, at the end of its name),
`name`, `model`, `partition`, `count`. Machines lack the resources without a column.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mlsched.instances.traces import columns
from mlsched.instances.traces.columns import Column, Given, columns_of, guessed, near, plain_names, value_of
from mlsched.instances.traces.source import SEPARATORS, Text, csv_header, csv_rows, separator_of, shown
from mlsched.instances.traces.trace import Nodes
from mlsched.instances.traces.values import COUNTS, MEMORIES, amount

#: Field -> common names of its column.
NAMES = {
    "gpus": columns.NAMES["gpus"],
    "cpus": columns.NAMES["cpus"],
    "memory": columns.NAMES["memory"],
    "name": ("name", "node", "node_name", "host", "hostname", "sn", "machine", "machine_id", "id"),
    "model": ("model", "gpu_model", "gpu_type", "gpu_name"),
    "partition": ("partition", "partitions", "vc", "virtual_cluster", "pool", "node_pool"),
    "count": ("count", "nodes", "num_nodes", "quantity"),
}
MOST_NODES = 10**5


def read(text: Text, given: Given) -> Nodes:
    """Read the nodes of a list; InvalidFile names the line and its fault."""
    separator = SEPARATORS[given.separator] if given.separator else separator_of(text)
    header = csv_header(text, separator, header=given.header)
    text.line += 1
    plain = plain_names(header)
    for field in ("submit", "start", "end", "duration"):
        if (column := guessed(text, plain, field, columns.NAMES[field])) is not None:
            text.fail(
                f"this is a job log (column {shown(column.name)}), expected a list of nodes", "give a list of nodes"
            )
    fields = columns_of(text, header, given.fields, NAMES)
    hint = near(header, "gpus", fields) if "gpus" not in given.fields else ""
    if "gpus" not in fields and ("cpus" not in fields or hint):
        none = ", or gpus= for none" if "cpus" in fields else ""
        text.fail(
            f"a column with numbers of GPUs or CPUs is missing{hint}",
            f"give --read-cluster gpus=COLUMN{none}, or name its columns name, gpus, cpus, memory_gib, count",
        )
    text.line -= 1
    names = list(dict.fromkeys(column.name for column in fields.values() if column.constant is None)) or [header[0]]
    index = {field: names.index(column.name) for field, column in fields.items() if column.constant is None}
    selection = names if len(names) > 1 else names * 2  # a reader of rows picks two columns or more
    ids: list[str] = []
    rows: list[tuple[int, int, int]] = []
    models: list[str] = []
    partitions: list[str] = []
    for values in csv_rows(text, selection, {}, separator, header=given.header):
        row = {field: str(value_of(column, values, index)) for field, column in fields.items()}
        count = text.whole(fields["count"].name, row["count"]) if "count" in row else 1
        if len(ids) + count > MOST_NODES:
            text.fail(f"there are more than {MOST_NODES} nodes", "give fewer")
        name = text.label(fields["name"].name, row["name"]) if "name" in row else f"line-{text.line}"
        cpus, memory, gpus = (_amount_of_node(text, fields, row, field) for field in ("cpus", "memory", "gpus"))
        if gpus % 1000:
            text.bad(fields["gpus"].name, row["gpus"], "expected whole")
        ids += [name] if count == 1 else [f"{name}-{k + 1}" for k in range(count)]
        rows += [(cpus, memory, gpus // 1000)] * count
        models += [text.label("model", row.get("model", ""), empty=True)] * count
        partitions += [text.label("partition", row.get("partition", ""), empty=True)] * count
    if not ids:
        text.fail("rows below the header are missing", "give a file with nodes")
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
        partition=tuple(partitions),
        source=f"{text.name} (nodes)",
    )


def _amount_of_node(text: Text, fields: Mapping[str, Column], row: Mapping[str, str], field: str) -> int:
    """Return the node's amount of a field: thousandths, or MiB of memory; 0 without a column."""
    if field not in fields:
        return 0
    column = fields[field]
    factor = MEMORIES[column.unit] if field == "memory" else COUNTS[column.unit]
    return amount(text, column.name or field, row[field], factor, f"a number of {field}")
