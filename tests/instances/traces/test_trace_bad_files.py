"""Every way a trace file can be wrong is one clear line of `InvalidFile`, and nothing else."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from draws import draws
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlsched.core.errors import InvalidFile
from mlsched.instances.traces import Trace, read_nodes, read_trace

PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
POD = "a,1000,1024,1,460,,LS,Running,100,200,150\n"
PHILLY = "timestamp,duration,num_gpus,gpu_time,cluster\n"
PHILLY_ROW = "2017-10-09 07:01:55,66.0,1,66.0,11cb48\n"
HELIOS = "job_id,arrival_s,service_sec,gpu_count\n"
LOG = "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
LOG_ROW = "1,u,v,1,4,1,FAILED,2020-06-09 18:41:00,2020-06-09 18:41:10,2020-06-09 18:41:30,20,10\n"
JOB = (
    '{"status": "Pass", "vc": "v", "jobid": "j", "submitted_time": "2017-10-07 01:00:00", '
    '"attempts": [{"start_time": "2017-10-07 02:00:00", "end_time": "2017-10-07 02:01:00", '
    '"detail": [{"ip": "m", "gpus": ["g"]}]}]}'
)
NODES = "sn,cpu_milli,memory_mib,gpu,model\n"


def one_line(path: Path, read: Callable[[Path], object] = read_trace) -> str:
    """The message with which interpretation `path` fails."""
    with pytest.raises(InvalidFile) as caught:
        read(path)
    message = str(caught.value)
    assert message.isprintable(), "expected one line"
    assert message.startswith(str(path))
    assert "; " in message, "must name a remedy"
    return message.removeprefix(str(path))


def pod(**change: str) -> str:
    """A good pod and a bad one."""
    row = dict(zip(PODS.strip().split(","), POD.strip().split(","), strict=True)) | change
    return PODS + POD + ",".join(row.values()) + "\n"


def job(old: str, new: str) -> str:
    """A list of one job, with `old` replaced by `new`."""
    return "[" + JOB.replace(old, new) + "]"


BAD_TEXTS = {
    # CSV as such
    "empty": ("", ": is empty; give a file with a header and rows"),
    "blank": (" \n\r\n\n", ": is empty"),
    "no format": (
        "a,b\n1,2\n",
        "line 1: is not the header of a known log format; name the columns: --read submit=COLUMN,duration=C",
    ),
    "semicolons": ("a;b\n1;2\n", "it begins with 'a;b' (detected: separator=semicolon)"),
    "not csv": ('"a"b\n', "line 1: is not the header of a known log format"),
    "json object": ('{"a": 1}', "not the header of a known log format"),
    "no rows": (HELIOS, "line 1: the file has no jobs; give a file with rows"),
    "no runs": (HELIOS + "a,0,0,1\nb,0,0,1\n", "line 3: no job has a run time (zero run time: 2); give"),
    "too few fields": (HELIOS + "a,0,1,1\n\nb,0,1\n", "line 4: has 3 fields, expected 4, as the header has; fix"),
    "too many fields": (HELIOS + "a,0,1,1,9\n", "line 2: has 5 fields, expected 4"),
    "open quote": (HELIOS + 'a,0,1,1\n"b,0,1,1\n', "line 3: is not CSV ("),
    "huge field": (HELIOS + "a" * 200_000 + ",0,1,1\n", "line 2: is not CSV (field larger than field limit"),
    "huge line": (HELIOS + "," * (1 << 21), "line 2: is longer than 1048576 characters; check"),
    "missing column": (HELIOS.replace(",gpu_count", "") + "a,0,1\n", "line 1: the header lacks 'gpu_count'"),
    "column twice": (HELIOS.strip() + ",job_id\na,0,1,1,a\n", "line 1: the header has column 'job_id' twice"),
    "node list": (NODES + "n,1,1,0,\n", "line 1: this is a node list, not a trace of jobs; read it with read_nodes"),
    # Helios
    "text for gpus": (HELIOS + "a,0,1,x\n", "line 2: gpu_count: 'x', expected an integer >= 0; fix or remove the row"),
    "negative gpus": (HELIOS + "a,0,1,-1\n", "line 2: gpu_count: '-1', expected an integer >= 0"),
    "fraction of gpus": (HELIOS + "a,0,1,1.5\n", "gpu_count: '1.5', expected an integer >= 0"),
    "other digits": (HELIOS + "a,0,1,\u0663\n", "gpu_count: '\u0663', expected an integer"),
    "many digits": (HELIOS + f"a,0,1,{'9' * 5000}\n", "gpu_count: '999999999999"),
    "13 digits": (HELIOS + "a,0,1,1000000000000\n", "gpu_count: '1000000000000', expected below 10^12"),
    "blank gpus": (HELIOS + "a,0,1,\n", "line 2: no job has a run time (no number of gpus: 1)"),
    "spaces": (HELIOS + "a,0,1, 1\n", "gpu_count: ' 1', expected an integer >= 0"),
    "NaN": (HELIOS + "a,nan,1,1\n", "line 2: no job has a run time (no submit time: 1)"),
    "infinity": (HELIOS + "a,0,inf,1\n", "service_sec: 'inf', expected a number of seconds >= 0"),
    "overflow": (HELIOS + "a,0,1e999,1\n", "service_sec: '1e999', expected below 10^12"),
    "negative run": (HELIOS + "a,0,-5.0,1\n", "service_sec: '-5.0', expected a number of seconds >= 0"),
    "underscore": (HELIOS + "a,0,1_0,1\n", "service_sec: '1_0', expected a number"),
    "id of two lines": (HELIOS + '"a\nb",0,1,1\n', "line 3: job_id: 'a\\nb', expected printable text"),
    "NUL": (HELIOS + "a\0,0,1,1\n", "line 2: job_id: 'a\\x00', expected printable text"),
    "end before start": (
        LOG + LOG_ROW.replace("18:41:30", "18:41:05"),
        "line 2: no job has a run time (ends before it starts: 1); give",
    ),
    # Philly
    "month 13": (
        PHILLY + PHILLY_ROW.replace("2017-10", "2017-13"),
        "timestamp: '2017-13-09 07:01:55', expected a time",
    ),
    "ISO week": (PHILLY + PHILLY_ROW.replace("2017-10-09", "2017-W41-1"), "expected a time 'YYYY-MM-DD HH:MM:SS'"),
    "time zone": (
        PHILLY + PHILLY_ROW.replace(":55", ":55 PDT"),
        "timestamp: '2017-10-09 07:01:55 PDT', expected a time",
    ),
    "not json": ("[nonsense]", "line 1: found 'n': each entry must be an object"),
    "number in list": (
        f"[{JOB},\n 3]",
        "line 2: found '3': each entry must be an object {...}; give a JSON list of jobs",
    ),
    "broken json": (f"[{JOB},\n\n {{'a': 1}}]", "line 3: is not JSON ("),
    "open list": (f"[{JOB}\n", "line 2: the list ends too early, expected ','"),
    "cut entry": (f"[\n{JOB[:100]}", "line 2: is not JSON ("),
    "no comma": (f"[{JOB} {JOB}]", "found '{', expected ','"),
    "last comma": (f"[{JOB},]", "found ']': each entry must be an object"),
    "after the list": (f"[{JOB}] x", "line 1: found 'x' after the list"),
    "empty list": ("[ ]", "the file has no jobs"),
    "deep json": ('[{"a":' + "[" * 200_000, "an entry cannot be decoded"),
    "long number": ('[{"a": ' + "1" * 5000 + "}]", "an entry cannot be decoded"),
    "job without id": (
        f"[{JOB},\n{JOB.replace('jobid', 'id')}]",
        "line 2: job 2, jobid: None, expected printable text",
    ),
    "surrogate": (job(': "j"', r': "\ud800"'), "jobid: '\\ud800', expected printable text"),
    "no attempts": (job("attempts", "tries"), "job 1, attempts: None, expected a list of objects; fix"),
    "odd attempts": ('[{"jobid": "a", "attempts": [3]}]', "job 1, attempts: [3], expected a list of objects"),
    "odd time": (job("02:01:00", "2 pm"), "job 1, attempts[0].end_time: '2017-10-07 2 pm', expected a time"),
    "number for time": ('[{"jobid": "a", "attempts": [], "submitted_time": 5}]', "submitted_time: 5, expected a time"),
    "early end": (job("02:01:00", "00:01:00"), "attempts[0].end_time: '2017-10-07 00:01:00', expected at least"),
    "no detail": (job("detail", "x"), "attempts[0].detail: None, expected a list of objects"),
    "odd gpus": (job('["g"]', "8"), "attempts[0].detail[0].gpus: 8, expected a list; fix or remove the job"),
    "four ages": (
        '[{"jobid": "a", "submitted_time": "2017-10-07 01:00:00", "attempts": ['
        + ",".join(['{"start_time": "0001-01-01 00:00:00", "end_time": "9999-12-31 00:00:00", "detail": []}'] * 4)
        + "]}]",
        "job 1, run time: 1262151244800, expected below 1000000000000 s",
    ),
    # Alibaba
    "shared nothing": (pod(num_gpu="0"), "line 3: gpu_milli: '460', expected 0 when num_gpu = 0"),
    "shared two": (pod(num_gpu="2"), "line 3: gpu_milli: '460', expected 1000 when num_gpu = 2"),
    "more than one": (pod(gpu_milli="1001"), "gpu_milli: '1001', expected from 1 to 1000 when num_gpu = 1"),
    "none of one": (pod(gpu_milli="0"), "gpu_milli: '0', expected from 1 to 1000 when num_gpu = 1"),
    "negative memory": (pod(memory_mib="-1"), "memory_mib: '-1', expected an integer >= 0"),
    "pods without times": (
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,1,0,0\n",
        "'scheduled_time'; this variant of the pod list has no times and cannot be replayed",
    ),
}


@pytest.mark.parametrize("case", BAD_TEXTS)
def test_bad_text(tmp_path: Path, case: str) -> None:
    text, fragment = BAD_TEXTS[case]
    path = tmp_path / "trace.csv"
    path.write_bytes(text.encode())
    assert fragment in one_line(path)
    path.write_bytes(gzip.compress(text.encode(), 1))
    assert fragment in one_line(path), "gzip must not change the message"


@pytest.mark.parametrize(
    ("row", "fragment"),
    [
        ("", "rows below the header are missing"),
        ("n0,1,1,0,\n", "line 3: sn: 'n0', expected unique, and line 2 has it too"),
        ("n1,1,1,8,\n", "line 3: model: '', must not be empty"),
        ("n1,1,1,x,T4\n", "line 3: gpu: 'x', expected an integer >= 0"),
        ("n1,1,1,T4\n", "line 3: has 4 fields, expected 5"),
    ],
)
def test_bad_nodes(tmp_path: Path, row: str, fragment: str) -> None:
    path = tmp_path / "nodes.csv"
    path.write_text(NODES + ("n0,1,1,0,\n" + row if row else ""))
    assert fragment in one_line(path, read_nodes)


def test_trace_is_no_node_list(tmp_path: Path) -> None:
    path = tmp_path / "nodes.csv"
    path.write_text(PHILLY + PHILLY_ROW)
    assert "this is a job log (column 'duration'), expected a list of nodes" in one_line(path, read_nodes)


def test_format_that_is_not_the_file_s(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_text(PHILLY + PHILLY_ROW)
    assert "line 1: found 't', expected '['" in one_line(path, lambda path: read_trace(path, format="philly-json"))
    path.write_text("[]")
    assert "the header lacks 'job_id'" in one_line(path, lambda path: read_trace(path, format="helios-csv"))


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_bytes((HELIOS + "a,0,1,1\n").encode() + b"\xff\xfe,0,1,1\n")
    assert "line 3: is not UTF-8 text; save the file as UTF-8" in one_line(path)
    path.write_bytes((HELIOS + "a,0,1,1\n").encode("utf-16"))
    assert "line 1: is not UTF-8 text" in one_line(path)
    path.write_bytes(f"[{JOB},\n".encode() + JOB.encode().replace(b'"j"', b'"\xff"') + b"]")
    assert "line 2: is not UTF-8 text" in one_line(path)


@pytest.mark.parametrize("text", [HELIOS + "a,0,1,1\n" * 3000, json.dumps([json.loads(JOB)] * 3000)])
def test_damaged_gzip(tmp_path: Path, text: str) -> None:
    path = tmp_path / "trace.gz"
    packed = gzip.compress(text.encode())
    path.write_bytes(packed[:-9])
    assert "the gzip file ends too early; fetch the file again" in one_line(path)
    path.write_bytes(packed[:4])
    assert "line 1: the gzip file ends too early" in one_line(path)
    path.write_bytes(packed[:-8] + b"\0" * 8)
    assert "cannot be read (CRC check failed" in one_line(path)
    path.write_bytes(packed[:12] + b"\xff" * 40)
    assert "cannot be read (" in one_line(path)


def test_path_that_is_no_file(tmp_path: Path) -> None:
    assert ": is a directory; give a regular file" in one_line(tmp_path)
    assert ": file not found; check the path" in one_line(tmp_path / "none.csv")
    with pytest.raises(InvalidFile, match=r"'a\\x00b': cannot be read: embedded null byte"):
        read_trace("a\0b")
    with pytest.raises(InvalidFile, match=r"'a\\nb': file not found"):
        read_trace("a\nb")


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="the system has no /dev/fd")
def test_pipe() -> None:
    reader, writer = os.pipe()
    os.write(writer, HELIOS.encode())
    os.close(writer)
    assert "; give a regular file" in one_line(Path(f"/dev/fd/{reader}"))
    os.close(reader)


def test_an_entry_that_never_ends_stays_small(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_text('[{"jobid": "' + "x" * (1 << 24))
    assert "an entry is broken or longer than 4194304 characters" in one_line(path)


GOOD_FILES = [
    PODS + POD + POD,
    PHILLY + PHILLY_ROW * 2,
    HELIOS + "a,0,1,1\nb,2,3,4\n",
    LOG + LOG_ROW,
    f"[{JOB},\n{JOB}]",
    "submit,duration,gpus,user,memory_gib,time_limit_h\n2024-01-01 10:00:00,0:01:30,0.5,a,4,\n2024-01-02,9,16,b,1,2\n",
    "submit_ms,start_ms,end_ms,cpus,state\n1,5.5,1e3,4,done\n2,,,1,\n",
    "JobID|Submit|ElapsedRaw|Timelimit|AllocTRES\n7|2024-03-01T10:00:00|90|1-00:00:00|cpu=4,gres/gpu=2,mem=4G\n",
    "; MaxProcs: 4\n1 0 5 100.5 4 -1 -1 4 300 -1 1 7 2 -1 1 -1 -1 -1\n",
]
PIECES = st.one_of(
    st.binary(max_size=4),
    st.sampled_from(
        [b"", b",", b"\n", b'"', b"-", b"nan", b"0", b"9" * 20, b"\xff", b"\r", b"None", b"null", b"[", b"}"]
    ),
)


@st.composite
def mutated_files(draw: st.DrawFn) -> bytes:
    """A good file, plain or gzip, with up to three places overwritten."""
    data = draw(st.sampled_from(GOOD_FILES)).encode()
    if draw(st.booleans()) and draw(st.booleans()):
        data = gzip.compress(data, mtime=0)
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(data)))
        data = data[:start] + draw(PIECES) + data[start + draw(st.integers(0, 6)) :]
    return data


@settings(
    max_examples=draws(150, 400),
    suppress_health_check=[*settings().suppress_health_check, HealthCheck.function_scoped_fixture],
)
@given(
    data=st.one_of(st.binary(max_size=200), mutated_files()),
    format=st.sampled_from([None, "philly-json", "helios-csv"]),
)
def test_any_bytes_give_a_trace_or_one_line(tmp_path: Path, data: bytes, format: str | None) -> None:
    path = tmp_path / "trace"
    path.write_bytes(data)
    got: Trace | InvalidFile
    try:
        got = read_trace(path, format=format)
    except InvalidFile as error:
        got = error
    if isinstance(got, InvalidFile):
        assert str(got).startswith(str(path))
        assert str(got).isprintable(), "expected one line"
    else:
        assert len(got) >= 1
