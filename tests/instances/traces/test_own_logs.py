"""Anyone's log: columns by mapping and by name, units, what is left out, DataFrames and Parquet, machines."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from mlsched.core.errors import InvalidFile, InvalidInput
from mlsched.instances.traces import UNKNOWN, read_nodes, read_trace

READ = "submit=when,duration=took:min,gpus=cards"
LOG = "when,took,cards,who\n100,1.5,16,ann\n40,2,1,bob\n"


def refused(source: object, read: object, *fragments: str) -> str:
    """The one line with which a log is refused."""
    with pytest.raises(InvalidInput) as caught:
        read_trace(source, read=read)
    message = str(caught.value)
    assert message.isprintable(), "expected one line"
    assert "; " in message, "must name a remedy"
    for fragment in fragments:
        assert fragment in message
    return message


# -- which column is what ---------------------------------------------------------------------------------------------


def test_columns_are_named_with_their_units(write):
    trace = read_trace(write(LOG), read=READ + ",user=who")
    assert trace.submit.tolist() == [0, 60]
    assert trace.duration_ms.tolist() == [120_000, 90_000]
    assert trace.gpu_count.tolist() == [1, 16]
    assert trace.user == ("bob", "ann")
    assert trace.ids == ("line-3", "line-2"), "a log without ids is told by its lines"
    assert "own log: submit=when in s, duration=took in min, gpus=cards, user=who" in trace.source
    assert read_trace(write(LOG, "log.csv.gz"), read=READ + ",user=who").duration_ms.tolist() == [120_000, 90_000]
    assert read_trace(write(LOG), read={"submit": "when", "duration": "took:min", "gpus": "cards"}) == read_trace(
        write(LOG), read=READ
    )


def test_common_names_are_found_and_said(write):
    text = "JobID,Submit Time,runtime_min,numGPUs,User,time_limit_h\na,5,1,2,ann,1\n"
    trace = read_trace(write(text))
    assert (trace.ids, trace.user, trace.gpu_count.tolist()) == (("a",), ("ann",), [2])
    assert (trace.duration_ms.tolist(), trace.time_limit_ms.tolist()) == ([60_000], [3_600_000])
    assert "by their names: submit=Submit Time in s, duration=runtime_min in min, gpus=numGPUs" in trace.source


def test_a_number_is_for_every_job_and_nothing_leaves_a_column_out(write):
    trace = read_trace(write("submit,duration,cpus\n1,2,4\n"), read="gpus=2,cpus=")
    assert (trace.gpu_count.tolist(), trace.cpu_milli.tolist()) == ([2], [UNKNOWN])
    assert "gpus=2 for every job" in trace.source


def test_starts_and_ends_make_a_duration(write):
    text = "submit,start,end,gpus\n2024-01-01 10:00:00,2024-01-01T10:01:00,2024-01-01 10:01:30.5,1\n"
    trace = read_trace(write(text))
    assert trace.duration_ms.tolist() == [30_500]
    assert "Times have no zone, so they are off by an hour across a change to or from summer time." in trace.notes
    zones = "submit,start,end,gpus\n2024-01-01 10:00:00Z,2024-01-01 12:00:00+01:00,2024-01-01 12:00:07+01:00,1\n"
    assert read_trace(write(zones)).duration_ms.tolist() == [7000]


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("90", 90_000), ("0:01:30", 90_000), ("2-00:00:01", 172_801_000), ("1 days 00:00:00.25", 86_400_250)],
)
def test_how_durations_are_written(write, text, milliseconds):
    assert read_trace(write(f"submit,duration,gpus\n0,{text},1\n")).duration_ms.tolist() == [milliseconds]


def test_jobs_that_did_not_run_or_ask_for_nothing_are_left_out_and_counted(write):
    text = "submit,duration,gpus,state\n0,10,1,done\n1,,1,done\n2,9,1,RUNNING\n3,9,0,done\n,9,1,done\n5,0,1,done\n"
    trace = read_trace(write(text))
    assert len(trace) == 1
    assert trace.dropped == {
        "no run time": 1,
        "not finished": 1,
        "asks for no GPU": 1,
        "no submit time": 1,
        "zero run time": 1,
    }
    assert "5 rows left out (no run time: 1, not finished: 1" in trace.source


def test_shares_of_gpus_and_other_units(write):
    trace = read_trace(write("submit_ms,duration_h,gpu_milli,memory_gib,cores\n1000,1,250,1.5,2.5\n"))
    assert trace.gpus_milli.tolist() == [250]
    assert trace.gpu_count.tolist() == [1]
    assert (trace.memory_mib.tolist(), trace.cpu_milli.tolist()) == ([1536], [2500])
    assert trace.duration_ms.tolist() == [3_600_000]


# -- what is refused --------------------------------------------------------------------------------------------------

BAD = {
    "missing column": ("a,b\n1,2\n", "submit=x", "line 1: column 'x' for submit is missing; the columns are a, b"),
    "no duration": ("submit,gpus\n1,2\n", {}, "line 1: a column with run times is missing; read duration=COLUMN, or"),
    "no gpus": ("submit,duration\n1,2\n", {}, "line 1: a column with numbers of GPUs is missing; read gpus=COLUMN"),
    "no submit": ("a,duration,gpus\n1,2,3\n", {}, "a column with submission times is missing; read submit=COLUMN"),
    "two columns": (
        "submit,duration,gpu,gpus\n1,2,1,1\n",
        {},
        "columns 'gpu' and 'gpus' could both be gpus; choose one",
    ),
    "memory": ("submit,duration,gpus,memory\n1,2,1,1\n", {}, "lacks a unit; read memory=memory:gib"),
    "unit": (
        "submit,duration,gpus\n1,2,1\n",
        "duration=duration:weeks",
        "unknown unit 'weeks' of duration; use one of ms",
    ),
    "negative": ("submit,duration,gpus\n1,2,1\n2,-5,1\n", {}, "line 3: duration: '-5', expected at least 0; correct"),
    "mixed kinds": (
        "submit,duration,gpus\n2024-01-01 10:00:00,2,1\n90,2,1\n",
        {},
        "line 3: submit: '90', is a number, but line 2 has a time of day; write the whole column alike",
    ),
    "mixed units": (
        "submit,duration,gpus\n1700000000,2,1\n1700000000000,2,1\n",
        {},
        "line 3: submit: '1700000000000', is too large for a time in s; if it is in ms, read submit:ms",
    ),
    "units of a column": (
        "submit_ms,duration,gpus\n1700000000000,2,1\n1700000000,2,1\n",
        {},
        "line 3: submit_ms is 54 years from the value in line 2; write all in one unit",
    ),
    "end before start": (
        "submit,start,end,gpus\n1,5,4,1\n",
        {},
        "line 2: no job has a run time (ends before it starts: 1); give",
    ),
    "clocks": (
        "submit,start,end,gpus\n2024-01-01 10:00:00,5,9,1\n",
        {},
        "submit, start and end are on different clocks (submit: a time of day, end: a number)",
    ),
    "no date": ("submit,duration,gpus\n2024-13-01 10:00:00,2,1\n", {}, "submit: '2024-13-01 10:00:00', is not a date"),
    "unreadable": (
        "submit,duration,gpus\nyesterday,2,1\n",
        {},
        "submit: 'yesterday', expected a number (of s) or YYYY",
    ),
    "gpus": ("submit,duration,gpus\n1,2,many\n", {}, "line 2: gpus: 'many', expected a number of gpus; fix"),
    "no number": ("submit,duration,gpus\n1,2,\n", {}, "line 2: no job has a run time (no number of gpus: 1); give"),
    "half a GPU more": ("submit,duration,gpus\n1,2,1.5\n", {}, "gpus: 1.5, expected whole, or a share of one GPU"),
    "empty": ("", {}, ": is empty; give a file with a header and rows"),
    "no rows": ("submit,duration,gpus\n", {}, "the file has no jobs; give a file with rows"),
    "nothing ran": ("submit,duration,gpus\n1,,1\n", {}, "no job has a run time (no run time: 1); give"),
    "no separator": ("submit/duration/gpus\n1/2/1\n", {"gpus": "1"}, "expected several columns; name their separator"),
    "no field": (
        "submit,duration,gpus\n1,2,1\n",
        "gpu=gpus",
        "unknown field 'gpu' (did you mean 'gpus'?); there are submit, start",
    ),
    "no mapping": ("submit,duration,gpus\n1,2,1\n", "gpus", "'gpus' is not FIELD=COLUMN, or names a field twice"),
}


@pytest.mark.parametrize("name", list(BAD))
def test_a_wrong_log_is_one_line(write, name):
    text, read, message = BAD[name]
    refused(write(text), read, message)


def test_a_wrong_row_of_other_formats_is_one_line(write):
    sacct = "JobID|Submit|Elapsed|AllocTRES\n1|2024-01-01T00:00:00|01:00:00|gres/gpu=1|x\n"
    refused(write(sacct), None, "line 2: has 5 fields, expected 4, as the header has; leave out columns of free text")
    refused(
        write("JobID|Submit|Elapsed\n"),
        None,
        "column 'AllocTRES' is missing in the header; add AllocTRES to sacct's --format",
    )
    refused(
        write("JobID|Submit|AllocTRES\n"),
        None,
        "column 'Elapsed' is missing in the header; add ElapsedRaw, or Start and End",
    )
    many = "JobID|Submit|Elapsed|ReqGRES|NNodes\n1|2024-01-01T00:00:00|01:00:00|gpu:9999999|9\n"
    refused(write(many), None, "line 2: ReqGRES: 'gpu:9999999', expected at most 1000000 GPUs")
    swf = "1 0 0 10 4 -1 -1 4 300 -1 1 7 2 -1 1 -1 -1 -1\n"
    refused(write(swf + "2 5\n"), None, "line 2: has 2 fields, expected 18; give a file of format version 2")
    refused(write(swf.replace(" 10 ", " -3 ")), None, "run time: '-3', expected at least 0")


# -- DataFrames and Parquet -------------------------------------------------------------------------------------------

COLUMNS = {
    "submit_time": [datetime(2024, 1, 1, 10), datetime(2024, 1, 1, 9)],
    "duration": [timedelta(minutes=2), timedelta(seconds=30)],
    "gpus": [16, 1],
    "user": ["ann", None],
}


def check(trace):
    assert trace.submit.tolist() == [0, 3600]
    assert trace.duration_ms.tolist() == [30_000, 120_000]
    assert (trace.gpu_count.tolist(), trace.user) == ([1, 16], ("", "ann"))


def test_a_mapping_of_columns():
    check(read_trace(COLUMNS))
    assert read_trace(COLUMNS).ids == ("row-1", "row-0")
    refused({**COLUMNS, "gpus": [1]}, None, "the DataFrame: has columns of different lengths")
    refused({**COLUMNS, "gpus": [1, -2]}, None, "the DataFrame, row 1: gpus: -2, expected at least 0")
    refused({**COLUMNS, "gpus": [1, True]}, None, "the DataFrame, row 1: gpus: True, expected a number of gpus")
    assert read_trace({**COLUMNS, "submit_time": [d.replace(tzinfo=UTC) for d in COLUMNS["submit_time"]]})


def test_dataframes(tmp_path):
    pandas = pytest.importorskip("pandas")
    check(read_trace(pandas.DataFrame(COLUMNS)))
    shares = pandas.DataFrame({"submit": [0.5], "duration": [1], "gpus": pandas.array([None], dtype="Int64")})
    refused(shares, None, "row 0: no job has a run time (no number of gpus: 1)")
    polars = pytest.importorskip("polars")
    check(read_trace(polars.DataFrame(COLUMNS)))


def test_parquet(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "log"
    parquet.write_table(arrow.table(COLUMNS), path)
    check(read_trace(path))
    check(read_trace(arrow.table(COLUMNS)))
    assert "column 'x' for submit is missing" in refused(path, "submit=x")
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(InvalidFile, match="cannot be read as Parquet"):
        read_trace(path)


# -- machines ---------------------------------------------------------------------------------------------------------


def test_a_list_of_machines(write):
    nodes = read_nodes(write("name,gpus,cpus,memory_gib,count\na,8,32,256,2\nb,4,16,128,1\n"))
    assert nodes.ids == ("a-1", "a-2", "b")
    assert nodes.gpus.tolist() == [8, 8, 4]
    assert (nodes.cpu_milli[2], nodes.memory_mib[2]) == (16_000, 131_072)
    assert read_nodes(write("num_gpus,host\n8,a\n")).cpu_milli.tolist() == [0]
    assert read_nodes(write("gpus\n8\n4\n")).ids == ("line-2", "line-3")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "name,speed\na,1\n",
            "a column with numbers of GPUs or CPUs is missing; give --read-cluster gpus=COLUMN, or name its",
        ),
        ("gpus,memory\n8,2\n", "column 'memory' lacks a unit"),
        ("name,gpus\na,1.5\n", "line 2: gpus: '1.5', expected whole"),
        ("name,gpus\na,1\na,2\n", "node 'a' is there twice"),
        ("name,gpus,count\na,1,1000000\n", "line 2: there are more than 100000 nodes"),
        ("name,gpus\n", "rows below the header are missing"),
    ],
)
def test_a_wrong_list_of_machines_is_one_line(write, text, message):
    with pytest.raises(InvalidFile) as caught:
        read_nodes(write(text))
    assert message in str(caught.value)


@pytest.mark.parametrize("field", ["nodes", "workers"])
def test_infinitely_many_nodes_or_workers_are_refused(field):
    """As a DataFrame may have them."""
    frame = {"submit": [0, 60], "duration": [60, 60], "gpus": [1, 1], "many": [1.0, float("inf")]}
    refused(frame, {field: "many"}, f"row 1: many: inf, expected a whole number of {field}, 100000 at most")


def test_blanks_around_texts_are_no_part_of_them(write):
    """A log whose commas have blanks behind them: the same users, and a job that runs on is not finished."""
    rows = "0, 60, 1, ann, COMPLETED, a\n5, 60, 1,ann, RUNNING, a\n9,60,1, bob ,FAILED,a\n9,60,1,ann,FAILED, a\n"
    trace = read_trace(write("submit, duration, gpus, user, status, partition\n" + rows))
    assert trace.user == ("ann", "bob", "ann")
    assert trace.status == ("COMPLETED", "FAILED", "FAILED")
    assert set(trace.partition) == {"a"}
    assert list(trace.account.skipped) == ["not finished"]
    assert read_nodes(write("name, gpus, model\n a0 , 8, v100\na1, 4,v100 \n", "nodes.csv")).ids == ("a0", "a1")
    assert set(read_nodes(write("name, gpus, model\n a0 , 8, v100\n", "n.csv")).model) == {"v100"}
