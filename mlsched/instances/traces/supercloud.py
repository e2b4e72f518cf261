"""Slurm's job table as its database stores it: the log of MIT's Supercloud (dcc.mit.edu).

Samsi et al., "The MIT Supercloud Dataset", HPEC 2021: a CSV of slurmdbd's job table. Times are seconds since 1970, or 0
before the event; states are numbers; TRES are numbered (1 CPUs, 2 memory in MB, 4 nodes, 1001 GPUs, 1002 GPUs by type).
"""

from __future__ import annotations

import re

from mlsched.instances.traces.builder import TraceBuilder
from mlsched.instances.traces.format import TraceFormat
from mlsched.instances.traces.hostlist import nodes_of
from mlsched.instances.traces.slurm_resources import resources_of
from mlsched.instances.traces.source import Text, csv_rows
from mlsched.instances.traces.trace import UNKNOWN, Place
from mlsched.instances.traces.values import TIMES

COLUMNS = (
    *("id_job", "id_array_job", "id_array_task", "id_user", "nodes_alloc", "nodelist", "gres_used", "partition"),
    *("priority", "state", "timelimit", "time_submit", "time_eligible", "time_start", "time_end", "tres_alloc"),
)
#: Numbers of states in slurm.h; a job in one of the first three had not ended.
STATES = (
    *("PENDING", "RUNNING", "SUSPENDED", "COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED"),
    *("BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY"),
)
UNFINISHED = 3
#: Flags of states above their number.
_BASE = 0xFF
#: Codes of an infinite or absent time limit (slurm.h: INFINITE, NO_VAL), and values above them.
_NO_LIMIT = 0xFFFF_FFF0
#: Numbers of TRES in slurm_db.h; the first generic resource is the GPU.
CPU, MEMORY, NODE, GPU = "1", "2", "4", "1001"
_AMOUNT = re.compile(r"([0-9]{1,9})=([0-9]{1,12})")


def read_table(text: Text, jobs: TraceBuilder) -> None:
    """Add the jobs: run time = end - start, GPUs by TRES 1001, else by `gres_used`."""
    for row in csv_rows(text, COLUMNS, {}):
        job, array, task, user, nodes, listed, gres, partition, priority, state, limit, *times, tres = row
        submit, eligible, start, end = (
            text.whole(name, value) for name, value in zip(COLUMNS[-5:-1], times, strict=True)
        )
        number = text.whole("state", state) & _BASE
        if reason := _reason_to_skip(number, submit, start, end):
            jobs.drop(reason)
            continue
        matches = (_AMOUNT.fullmatch(item.strip()) for item in tres.split(","))
        amounts = {match[1]: match[2] for match in matches if match}
        gpus = int(amounts[GPU]) if GPU in amounts else resources_of(gres).devices
        if not gpus and CPU not in amounts:
            jobs.drop("asks for no GPU and no CPU")
            continue
        if start < submit:
            jobs.change("starts before it is submitted")
        minutes = text.whole("timelimit", limit) if limit else _NO_LIMIT
        jobs.add(
            text.label("id_job", job if array in ("", "0") else f"{array}_{task}"),
            submit,
            TIMES["s"] * (end - start),
            gpus,
            cpu_milli=1000 * int(amounts[CPU]) if CPU in amounts else UNKNOWN,
            memory_mib=int(amounts.get(MEMORY, UNKNOWN)),
            status=STATES[number] if number < len(STATES) else state,
            user=text.label("id_user", user, empty=True),
            partition=text.label("partition", partition, empty=True),
            time_limit_ms=UNKNOWN if minutes >= _NO_LIMIT else TIMES["min"] * minutes,
            priority=text.whole("priority", priority),
            eligible_ms=TIMES["s"] * max(eligible, submit),
            node_count=int(amounts.get(NODE, 0)) or text.whole("nodes_alloc", nodes) or UNKNOWN,
            runs=[(TIMES["s"] * start, TIMES["s"] * end, _nodes_of_list(listed, gpus))],
        )
        if jobs.full:
            break


def _reason_to_skip(state: int, submit: int, start: int, end: int) -> str:
    """Return the reason to leave a row out; "" for a job that ran."""
    if state < UNFINISHED or (start and not end):
        return "not finished"
    if not submit:
        return "no submit time"
    if not start or start == end:
        return "never ran"
    return "ends before it starts" if end < start else ""


def _nodes_of_list(listed: str, gpus: int) -> tuple[Place, ...]:
    """Return the nodes of a list, Python's (['n1', 'n2']) or Slurm's; their GPUs evenly, if they can be."""
    text = listed.strip()
    if text.startswith("['"):
        text = text.strip("[]").replace("'", "").replace(" ", "")
    names = nodes_of(text) if text else None
    if not names:
        return ()
    share = 1000 * gpus // len(names) if gpus % len(names) == 0 else UNKNOWN
    return tuple((name, share) for name in names)


FORMAT = TraceFormat(
    name="slurm-table",
    columns=COLUMNS,
    read=read_table,
    notes=("TRES 1001 is taken for GPUs, as Slurm numbers the first generic resource.",),
)
