"""Every row of a log is accounted for: what is a job, what is not and why, and what was changed."""

from __future__ import annotations

import log_examples as logs
import pytest

from mlsched.core.errors import InvalidFile, InvalidInput
from mlsched.instances.traces import ABSENT, UNKNOWN, read_nodes, read_trace
from mlsched.instances.traces.hostlist import nodes_of


def counts(kinds) -> dict[str, int]:
    return {kind: rows.count for kind, rows in kinds.items()}


def check_sum(trace, text: str, *, others: int) -> None:
    """Rows of the file = jobs + skipped + joined; `others`: lines that are no rows."""
    account = trace.account
    assert account.rows == len(text.splitlines()) - others
    of_skipped, of_joined = counts(account.skipped), counts(account.joined)
    assert account.rows == account.jobs + sum(of_skipped.values()) + sum(of_joined.values())
    assert account.jobs == len(trace)
    assert dict(trace.dropped) == of_skipped


def test_what_sacct_prints(write) -> None:
    trace = read_trace(write(logs.SACCT))
    check_sum(trace, logs.SACCT, others=1)
    assert trace.ids == ("100", "101_1", "101_2", "104", "105", "106", "107")
    assert counts(trace.account.skipped) == {"not finished": 3, "never ran": 1}
    assert trace.account.skipped["not finished"].first == ("line 7", "line 8", "line 16")
    assert counts(trace.account.joined) == {"job steps": 2, "earlier runs of a job that was requeued": 2}
    assert counts(trace.account.changed) == {
        "ran before: only its last run is in the log (sacct --duplicates prints all)": 1
    }
    assert trace.account.unread == ("Comment",)
    again = trace.ids.index("105")
    assert trace.runs.start_ms[trace.runs.job == again].tolist() == [1_260_000, 2_400_000, 3_600_000]
    assert trace.duration_ms[again] == 3_600_000, "10 + 10 + 40 minutes"
    assert trace.submit[again] == 1200, "of its first row"
    assert trace.runs.places[0] == (("gpu01", 8000), ("gpu02", 8000))
    assert trace.partition == ("a100", "a100,v100", "a100,v100", *("v100",) * 4)
    assert trace.gpu_type == ("a100", "", "", "v100", "", "", "")
    assert (trace.qos[0], trace.priority[0], trace.eligible_ms[1]) == ("high", 900, 3_600_000)
    assert trace.node_count[0] == 2


def test_the_standard_workload_format(write) -> None:
    trace = read_trace(write(logs.SWF))
    check_sum(trace, logs.SWF, others=5)
    assert trace.ids == ("1", "2", "5")
    assert counts(trace.account.skipped) == {"cancelled before it ran": 1, "no run time": 1}
    assert counts(trace.account.joined) == {"partial executions of a job that has a line for the whole": 2}
    assert trace.start_ms.tolist() == [5000, ABSENT, 32_000]
    assert trace.after == ("", "1", "")
    assert trace.partition == ("1", "1", "1")


def test_a_trace_without_header_by_the_numbers_of_its_columns(write) -> None:
    trace = read_trace(write(logs.SHOCKWAVE), read=logs.SHOCKWAVE_READ)
    check_sum(trace, logs.SHOCKWAVE, others=0)
    assert trace.submit.tolist() == [0, 55, 64]
    assert trace.duration_ms.tolist() == [1_418_000, 3_338_000, 13_462_000]
    assert trace.gpu_count.tolist() == [1, 2, 4]
    assert trace.priority.tolist() == [1, 1, 1]
    assert trace.account.unread == tuple(f"#{k}" for k in (1, 2, 3, 4, 5, 6, 8, 10))
    as_rows = "\n".join(line.replace(" ", "_").replace("\t", "  ") for line in logs.SHOCKWAVE.splitlines())
    spaced = read_trace(write(as_rows), read=logs.SHOCKWAVE_READ.replace("tab", "space"))
    assert spaced.duration_ms.tolist() == trace.duration_ms.tolist()


def test_workers_times_gpus_and_a_change_of_clocks(write) -> None:
    trace = read_trace(write(logs.ODD_WORKERS), read=logs.ODD_WORKERS_READ)
    check_sum(trace, logs.ODD_WORKERS, others=1)
    assert trace.ids == ("alpha", "beta")
    assert trace.gpu_count.tolist() == [94, 16]
    assert trace.duration_ms.tolist() == [3_600_000, 3_600_000], "clocks went forward at 2:00"
    assert trace.submit.tolist() == [0, 2400]
    assert counts(trace.account.skipped) == {"never started": 1, "no number of workers": 1}
    assert trace.user == ("ann", "bob")


def test_pods_of_kubernetes(write) -> None:
    trace = read_trace(write(logs.PODS), read=logs.PODS_READ)
    check_sum(trace, logs.PODS, others=1)
    assert (trace.ids, trace.gpu_count.tolist()) == (("train", "notebook"), [16, 1])
    assert counts(trace.account.skipped) == {"a pod: not finished": 2}
    assert trace.account.skipped["a pod: not finished"].first == ("line 6", "line 7")
    assert counts(trace.account.joined) == {"further pods of a job": 1, "pods of a job that ask for nothing": 1}
    assert trace.runs.job.tolist() == [0, 0, 1], "a run for each pod"
    assert trace.runs.places[:2] == ((("n1", 8000),), (("n2", 8000),))
    assert (trace.start_ms[0], trace.end_ms[0]) == (20_000, 7_220_000)


def test_shares_types_and_rounding(write) -> None:
    trace = read_trace(write(logs.ODD_SHARES), read=logs.ODD_SHARES_READ)
    check_sum(trace, logs.ODD_SHARES, others=1)
    assert trace.ids == ("a", "c")
    assert counts(trace.account.skipped) == {"no number of memory": 1}
    assert counts(trace.account.changed) == {"gpus rounded up": 1}
    assert trace.gpus_milli.tolist() == [500, 251]
    assert trace.gpu_type == ("T4|V100", "")
    assert len(trace.runs) == 0, "nothing says when jobs started"


def test_constants_for_any_field(write) -> None:
    trace = read_trace(write(logs.ODD_CONSTANT), read=logs.ODD_CONSTANT_READ)
    check_sum(trace, logs.ODD_CONSTANT, others=1)
    assert trace.duration_ms.tolist() == [3_600_000] * 2
    assert (trace.gpu_count.tolist(), trace.partition, trace.group) == ([2, 2], ("batch", "batch"), ("x", "y"))
    spans = read_trace(write(logs.ODD_CONSTANT), read="submit=when,duration=0:30:00,gpus=1,memory=4:gib")
    assert (spans.duration_ms.tolist(), spans.memory_mib.tolist()) == ([1_800_000] * 2, [4096] * 2)


def test_one_empty_cell_does_not_refuse_a_file_unless_it_shall(write) -> None:
    rows = [f"{k},60,{k % 4 + 1}" for k in range(20_000)]
    rows[7000] = "7000,60,"
    path = write("\n".join(["submit,duration,gpus", *rows]))
    trace = read_trace(path)
    assert (len(trace), counts(trace.account.skipped)) == (19_999, {"no number of gpus": 1})
    assert trace.account.sentences() == [
        "20000 rows read, 19999 jobs, 1 skipped.",
        "Skipped: no number of gpus: 1 (line 7002).",
    ]
    with pytest.raises(
        InvalidFile, match="line 7002: is not a job that ran: no number of gpus; complete or remove the"
    ):
        read_trace(path, strict=True)
    with pytest.raises(InvalidFile, match="line 7: is not a job that ran: not finished"):
        read_trace(write(logs.SACCT, "sacct"), strict=True)


def test_a_part_of_a_log(write) -> None:
    account = read_trace(write(logs.SACCT), limit=2).account
    assert account.sentences()[
        0
    ] == "4 rows read, 2 jobs, 0 skipped, 2 part of another row's job; the rest of the log" + (" was not read.")


def test_what_was_started_before_it_was_submitted_is_kept_and_said(write) -> None:
    trace = read_trace(write("submit,start,end,gpus\n100,50,160,1\n200,210,220,1\n"))
    assert trace.start_ms.tolist() == [-50_000, 110_000]
    assert counts(trace.account.changed) == {"starts before it is submitted": 1}
    odd = read_trace(write("submit,start,end,duration,gpus\n0,5,15,7,1\n"))
    assert odd.duration_ms.tolist() == [10_000]
    assert counts(odd.account.changed) == {"duration is not end - start: end - start counts": 1}


def test_machines_by_their_own_columns(write) -> None:
    path = write(logs.ODD_NODES)
    with pytest.raises(InvalidFile) as caught:
        read_nodes(path)
    message = "(there is 'gpu_capacity_num'); give --read-cluster gpus=COLUMN, or gpus="
    assert message in str(caught.value)
    nodes = read_nodes(path, read="gpus=gpu_capacity_num,name=machine_name,partition=pool_name")
    assert (nodes.ids, nodes.gpus.tolist()) == (("m1", "m2", "m3"), [8, 8, 4])
    assert nodes.partition == ("train", "train", "infer")
    assert nodes.cpu_milli.tolist() == [96_000, 96_000, 64_000]
    bare = read_nodes(write("a 8\nb 4\n", "bare"), read="header=no,separator=space,name=#1,gpus=#2")
    assert (bare.ids, bare.gpus.tolist()) == (("a", "b"), [8, 4])


#: What is wrong -> (log, read, the line that says it with its remedy).
MISTAKES = {
    "near": (
        "created,elapsed,cpus,gpu_capacity\n1,2,3,4\n",
        None,
        "a column with numbers of GPUs is missing (there is 'gpu_capacity'); read gpus=COLUMN, or gpus=1 for one "
        "each, or gpus= for none; the columns are created, elapsed, cpus, gpu_capacity",
    ),
    "workers": (
        "submit,duration,gpus,num_workers\n1,2,3,4\n",
        None,
        "column 'num_workers': 'gpus' may be GPUs of the job or of each worker; read workers=num_workers where it is",
    ),
    "column number": (
        "1,2,3\n",
        "header=no,submit=#1,duration=#2,gpus=#4",
        "line 1: column #4 for gpus is missing; there are 3 columns: #1 to #3",
    ),
    "separator": (
        "submit,duration,gpus\n1,2,3\n",
        "separator=colon",
        "read: separator: 'colon', expected one of comma, tab, semicolon, bar, space",
    ),
    "header": ("submit,duration,gpus\n1,2,3\n", "header=maybe", "read: header: 'maybe', expected yes or no"),
    "row of a headerless file": (
        "1,2,3\n1,2\n",
        "header=no,submit=#1,duration=#2,gpus=#3",
        "line 2: has 2 fields, expected 3, as the first row has",
    ),
    "priority": (
        "submit,duration,gpus,priority\n1,2,3,high\n",
        None,
        "line 2: priority: 'high', expected a whole number; names of classes: read qos=COLUMN,priority= instead",
    ),
    "half a worker": (
        "submit,duration,gpus,workers\n1,2,1,1.5\n",
        "workers=workers",
        "line 2: workers: '1.5', expected a whole number of workers",
    ),
    "node names": (
        "submit,start,end,gpus,node\n1,2,3,1,n[2-\n",
        None,
        "line 2: node: 'n[2-', expected names of nodes, such as n[1-4],m7",
    ),
    "constant": (
        "submit,gpus\n1,3\n",
        "duration=an hour",
        "line 1: column 'an hour' for duration is missing; the columns are submit, gpus",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_line_with_its_remedy(write, name: str) -> None:
    text, read, message = MISTAKES[name]
    with pytest.raises(InvalidInput) as caught:
        read_trace(write(text), read=read)
    said = str(caught.value)
    assert message in said
    assert said.isprintable()


def test_lists_of_nodes() -> None:
    assert nodes_of("node[01-03,7],m1;x") == ("node01", "node02", "node03", "node7", "m1", "x")
    assert nodes_of("rack1-n[8-10]a") == ("rack1-n8a", "rack1-n9a", "rack1-n10a")
    for wrong in ("n[3-1]", "n[a-b]", "n[1-999999999]", "", "n]1["):
        assert nodes_of(wrong) is None, wrong


def test_columns_left_out_are_unknown() -> None:
    trace = read_trace({"submit": [0], "duration": [1], "gpus": [1]})
    assert (trace.priority.tolist(), trace.eligible_ms.tolist()) == ([ABSENT], [ABSENT])
    assert (trace.partition, trace.gpu_type, trace.after) == (("",), ("",), ("",))
    assert trace.node_count.tolist() == [UNKNOWN]
