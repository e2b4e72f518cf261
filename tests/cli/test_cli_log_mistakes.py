"""What operators get wrong with a log, a list of nodes or the command: one line each, with the remedy; status 2."""

from __future__ import annotations

import log_examples as logs
import pytest

LOG = "submit,start,end,gpus\n0,5,100,1\n5,50,120,2\n"
NODES = "name,gpus,partition\na,4,x\n"

#: Mistake -> (the log, the words of the command, the line). {nodes}: a list of nodes.
MISTAKES = {
    "no such column": (LOG, ("--read", "gpus=cards"), "column 'cards' for gpus is missing; the columns are submit"),
    "no such field": (LOG, ("--read", "gpu=gpus"), "unknown field 'gpu' (did you mean 'gpus'?); there are submit"),
    "a field twice": (
        LOG,
        ("--read", "gpus=gpus,gpus=end"),
        "names a field twice; give --read submit=COLUMN,duration=",
    ),
    "another unit": (LOG, ("--read", "start=start:weeks"), "unknown unit 'weeks' of start; use one of ms, s, min"),
    "near miss": (
        "submit,elapsed,cpus,gpu_capacity_num\n0,1,2,3\n",
        (),
        "a column with numbers of GPUs is missing (there is 'gpu_capacity_num'); give --read gpus=COLUMN, or "
        "gpus=1 for",
    ),
    "near miss of a time": (
        "queued_time,elapsed,gpus\n0,1,2\n",
        ("--read", "gpus=gpus"),
        "a column with submission times is missing (there is 'queued_time'); give --read submit=COLUMN",
    ),
    "workers or not": (
        "submit,duration,gpus,num_workers\n0,1,1,94\n",
        (),
        "'gpus' may be GPUs of the job or of each worker; give --read workers=num_workers where it is of each, "
        "workers= where",
    ),
    "two candidates": (
        "submit,duration,gpu,num_gpus\n0,1,1,1\n",
        (),
        "columns 'gpu' and 'num_gpus' could both be gpus; choose one: give --read gpus=COLUMN, or gpus= for neither",
    ),
    "no header": (
        "0,100,1\n5,70,2\n",
        ("--read", "submit=#1,duration=#2,gpus=#3"),
        "a row, expected names of columns; give --read header=no",
    ),
    "a column number too far": (
        "0,100,1\n",
        ("--read", "header=no,submit=#1,duration=#2,gpus=#7"),
        "column #7 for gpus is missing; there are 3 columns: #1 to #3",
    ),
    "another separator": (
        "submit/duration/gpus\n0/1/1\n",
        ("--read", "gpus=1"),
        "expected several columns; name their separator (give --read separator=comma|tab|semicolon|bar|space)",
    ),
    "milliseconds": (
        "submit,duration,gpus\n1700000000000,5,1\n",
        (),
        "is too large for a time in s; if it is in ms, read submit:ms",
    ),
    "a bad row": (
        "submit,duration,gpus\n0,1,1\n5,-7,2\n",
        (),
        "line 3: duration: '-7', expected at least 0; correct it, or leave it empty where it is not known",
    ),
    "end before start": (
        "submit,start,end,gpus\n0,5,3,1\n",
        (),
        "line 2: no job has a run time (ends before it starts: 1); give a trace of jobs that ran",
    ),
    "clocks": (
        "submit,start,end,gpus\n2024-01-01 10:00:00,5,9,1\n",
        (),
        "submit, start and end are on different clocks (submit: a time of day, end: a number); write them alike",
    ),
    "strict": (
        "submit,duration,gpus\n0,1,1\n5,7,\n",
        ("--strict",),
        "line 3: is not a job that ran: no number of gpus; complete or remove the row, or read without strict",
    ),
    "priorities in words": (
        "submit,duration,gpus,priority\n0,1,1,high\n",
        (),
        "priority: 'high', expected a whole number; names of classes: give --read qos=COLUMN,priority= instead",
    ),
    "a free text in sacct": (
        logs.SACCT.replace("COMPLETED|gpu01|0|", "COMPLETED|gpu01|0|a|b", 1),
        (),
        'as the header has; leave out columns of free text that may contain "|" (JobName, Comment)',
    ),
    "sacct without GPUs": (
        "JobID|Submit|Elapsed\n1|2024-01-01T00:00:00|1:00:00\n",
        (),
        "column 'AllocTRES' is missing in the header; add AllocTRES to sacct's --format, which has the GPUs",
    ),
    "a job too large": (
        "submit,duration,gpus\n0,1,64\n",
        (),
        "enlarge the cluster, or drop such jobs of a trace with --set oversize=drop",
    ),
    "an unknown partition": (
        "submit,duration,gpus,partition\n0,1,1,y\n",
        ("--cluster", "{nodes}"),
        "needs partition 'y', which is missing; the cluster has x: correct the list of nodes, or run it anywhere",
    ),
    "an unnamed class": (
        "submit,duration,gpus,qos\n0,1,1,low\n",
        ("--set", "classes=high/normal"),
        "classes=high/normal: there are jobs of 'low'; name every QoS, the first served first: low",
    ),
    "classes without priorities": (LOG, ("--set", "classes=log"), "priorities are missing in"),
    "no starts": (
        "submit,duration,gpus\n0,1,1\n",
        ("as-logged",),
        "as-logged: the log lacks the start of some jobs; give --read start=COLUMN,end=COLUMN",
    ),
    "read_cluster for a text": (
        LOG,
        ("--read-cluster", "gpus=a"),
        "--read-cluster: is for a file of nodes, and cluster is '2x(8gpu)'; leave it out",
    ),
    "a list of nodes without GPUs": (
        LOG,
        ("--cluster", "{odd}"),
        "a column with numbers of GPUs or CPUs is missing (there is 'gpu_capacity_num'); give --read-cluster "
        "gpus=COLUMN, or gpus= for",
    ),
    "the log as nodes": (
        LOG,
        ("--cluster", "{log}"),
        "this is a job log (column 'submit'), expected a list of nodes; give a list of nodes",
    ),
    "a window that ends first": (LOG, ("--from", "2d", "--to", "1d"), "--from 2d --to 1d: ends before it begins; give"),
    "a window in words": (
        LOG,
        ("--from", "Monday"),
        "Monday: expected a length of time since the first submit (7d, 12h)",
    ),
    "a date of a log without": (
        LOG,
        ("--from", "2024-03-01"),
        "2024-03-01: the workload lacks dates; give a length of time since the first submit, such as 7d",
    ),
    "windows too long": (LOG, ("--every", "30d"), " s from --from to --to; give less"),
    "no such grouping": (
        LOG,
        ("--by", "users"),
        "--by: users, expected user, group, partition, status, size, joined by",
    ),
    "a grouping that the log lacks": (
        LOG,
        ("--by", "group"),
        "--by: group, expected a column of the log; give --read group=COLUMN, or leave it out",
    ),
    "loads in words": (LOG, ("--scale-load", "high"), "--scale-load: high, expected numbers above 0"),
    "a table's name": (
        LOG,
        ("--table", "{folder}/x.txt"),
        "x.txt, expected a name ending in .csv, .parquet, .md, .tex or .html",
    ),
    "a cluster twice": (LOG, ("--cluster", "2x(8gpu)"), "--cluster 2x(8gpu): is given twice; leave one out"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_line_with_its_remedy(cli, tmp_path, name: str) -> None:
    text, words, message = MISTAKES[name]
    places = {"log": tmp_path / "log", "nodes": tmp_path / "nodes.csv", "odd": tmp_path / "odd.csv", "folder": tmp_path}
    places["log"].write_text(text)
    places["nodes"].write_text(NODES)
    places["odd"].write_text(logs.ODD_NODES)
    given = [word.format(**places) if "{" in word else word for word in words]
    policies = ["as-logged"] if given[:1] == ["as-logged"] else ["fifo"]
    cluster = () if "--cluster" in given and "twice" not in name else ("--cluster", "2x(8gpu)")
    found = cli("simulate", *policies, "--trace", places["log"], *cluster, *given[given[:1] == ["as-logged"] :])
    assert found.status == 2, found
    lines = found.err.strip().splitlines()
    assert lines[-1].startswith("mlsched: ")
    assert message in lines[-1], lines[-1]
    assert not any("Traceback" in line for line in lines)
    assert all(line.startswith("mlsched: note: ") for line in lines[:-1])


def test_there_are_as_many_as_promised() -> None:
    assert len(MISTAKES) >= 25


def test_scaled_loads_need_a_cluster(cli, tmp_path) -> None:
    (tmp_path / "log").write_text(LOG)
    cli("simulate", "fifo", "--trace", tmp_path / "log", "--scale-load", "0.8,1").refused(
        "--scale-load: without a cluster, nodes are made for the load; give --cluster"
    )
    cli("simulate", "fifo", "--trace", "synthetic:gangs", "--scale-load", "2").refused("--scale-load: is for logs; a")
