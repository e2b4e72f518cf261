"""Each trace format read as it should be: columns, units, order, dropped rows, limits."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mlsched.core.errors import InvalidFile, InvalidInput, UnknownName
from mlsched.instances.traces import FORMATS, UNKNOWN, read_nodes, read_trace

PODS = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
late,4000,8192,1,460,,BE,Failed,150,260,160
first,32000,65536,0,0,,LS,Running,100,900,100
waits,1000,1024,1,1000,V100M16|T4,LS,Pending,120,500,
big,96000,786432,8,1000,V100M16,Guaranteed,Succeeded,150,150.5,150
idle,1000,1024,1,1000,,LS,Succeeded,130,140,140
runs,1000,1024,1,1000,,,,130,,140
"""
PHILLY_CSV = """timestamp,duration,num_gpus,gpu_time,cluster
2017-10-09 07:01:55,66.0,1,66.0,11cb48
2017-10-08 07:01:55,2.5,16,40.0,6214e9

2017-10-09 07:01:55,0.0,2,0.0,6214e9
"""
HELIOS_CSV = """job_id,arrival_s,service_sec,gpu_count
7#0,10.0,172800.0,32
7#1,10.0,0.0015,1
9#2,25.75,60,0
"""
HELIOS_LOG = """job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
1,u1,vcA,8,48,1,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:11,2020-06-10 18:41:11,86400,10
2,u2,vcB,0,4,1,FAILED,2020-06-09 18:41:00,2020-06-09 18:41:00,2020-06-09 18:41:01,1,0
3,u2,vcB,1,4,1,CANCELLED,2020-06-09 18:41:00,,2020-06-09 18:41:01,,0
4,u2,vcB,1,4,1,RUNNING,2020-06-09 18:41:00,2020-06-09 18:41:00,,5,0
5,u2,vcB,1,4,1,TIMEOUT,2020-06-09 18:41:00,2020-06-09 18:41:00,2020-06-09 18:41:00,0,0
1,u2,,1,4,1,NODE_FAIL,2020-06-09 18:41:02,2020-06-09 18:41:02,2020-06-09 18:41:05,3,0
"""
NODES = """sn,cpu_milli,memory_mib,gpu,model
n0,32000,262144,0,
n1,96000,786432,8,V100M32
"""


def attempt(start: str | None, end: str | None, *gpus: int) -> dict[str, object]:
    """An attempt on one server for each number of GPUs; times are HH:MM:SS of 2017-10-07."""
    day = "2017-10-07 "
    detail = [{"ip": f"m{i}", "gpus": [f"gpu{g}" for g in range(n)]} for i, n in enumerate(gpus)]
    times = [time if time in (None, "None") else day + time for time in (start, end)]
    return {"start_time": times[0], "end_time": times[1], "detail": detail}


def philly(
    jobid: str, *attempts: dict[str, object], submitted: str | None = "2017-10-07 01:00:00"
) -> dict[str, object]:
    """A job of the original Philly log."""
    return {
        "status": "Pass",
        "vc": "ee9e8c",
        "jobid": jobid,
        "attempts": list(attempts),
        "submitted_time": submitted,
        "user": None,
    }


PHILLY_JOBS = [
    philly("twice", attempt("01:10:00", "01:11:00", 8), attempt("02:00:00", "02:00:30", 8, 8)),
    philly("earlier", attempt("01:00:00", "01:00:01", 1), submitted="2017-10-07 00:59:00"),
    philly("never"),
    philly("running", attempt("01:10:00", "None", 1)),
    philly("unlogged", attempt(None, "01:10:00", 1)),
    philly("unsubmitted", attempt("01:10:00", "01:11:00", 1), submitted="None"),
    philly("clock", attempt("01:30:00", "01:00:00", 1)),
    philly("cpu", attempt("01:10:00", "01:10:02")),
]
SACCT = """JobID|User|Account|State|Submit|Start|End|Elapsed|Timelimit|AllocTRES
12|ann|vision|COMPLETED|2024-03-01T10:00:00|2024-03-01T10:05:00|2024-03-01T11:05:00|01:00:00|1-00:00:00|\
cpu=32,gres/gpu=16,mem=256G,node=2
12.batch|||COMPLETED|2024-03-01T10:05:00|2024-03-01T10:05:00|2024-03-01T11:05:00|01:00:00||cpu=16,mem=128G
13|bob|nlp|CANCELLED by 0|2024-03-01T09:00:00|2024-03-01T09:00:10|2024-03-03T09:00:40|2-00:00:30|UNLIMITED|\
cpu=4,gres/gpu:a100=1,mem=512M
14|bob|nlp|PENDING|2024-03-01T12:00:00|Unknown|Unknown|00:00:00|01:00:00|
"""
SWF = """; Version: 2.2
; MaxNodes: 64
1 0 5 100 4 -1 -1 4 300 -1 1 7 2 -1 1 -1 -1 -1
2 10 -1 50.5 -1 -1 -1 8 -1 -1 0 8 -1 -1 1 -1 1 20
3 20 0 -1 4 -1 -1 4 300 -1 5 7 2 -1 1 -1 -1 -1
"""

#: The rows of Alibaba's descriptions of their logs of 2025 and 2026, and an instance that ran from the start on.
ALIBABA_2025 = """instance_sn,role,app_name,cpu_request,cpu_limit,gpu_request,gpu_limit,rdma_request,rdma_limit,\
memory_request,memory_limit,disk_request,disk_limit,max_instance_per_node,creation_time,scheduled_time,deletion_time
instance_7185,HN,app_0,12,12,1,1,25,25,120.0,120.0,680.0,800.0,8,,,
instance_13574,CN,app_130,64,64,0,0,1,1,320.0,320.0,255.0,300.0,-1,1435629.0,1435629.0,1435760.0
instance_9,HN,app_0,12,12,1,1,25,25,120.0,120.0,680.0,800.0,8,1435630.0,1435640.0,1435700.0
"""
ALIBABA_2026 = """job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,job_type
239255,13,A10,20,1,1,0,2764799,HP
437260,57,A100-SXM4-80GB,15,1,16,9589663,41060,Spot
"""
LOGS = Path(__file__).parent / "logs"

TEXTS = {
    "alibaba-v2023": PODS,
    "philly-csv": PHILLY_CSV,
    "philly-json": json.dumps(PHILLY_JOBS, indent=1),
    "helios-csv": HELIOS_CSV,
    "helios-original": HELIOS_LOG,
    "sacct": SACCT,
    "slurm-table": (LOGS / "supercloud.csv").read_text(),
    "acme-kalos": (LOGS / "acme_kalos.csv").read_text(),
    "acme-seren": (LOGS / "acme_seren.csv").read_text(),
    "alibaba-v2025": ALIBABA_2025,
    "alibaba-v2026-spot": ALIBABA_2026,
    "swf": SWF,
}


Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a text to a file whose name says nothing of its format."""

    def write(text: str | bytes, name: str = "trace") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_alibaba_pods(write: Write) -> None:
    trace = read_trace(write(PODS))
    assert trace.ids == ("first", "late", "big")
    assert trace.submit.tolist() == [0, 50, 50]
    assert trace.duration_ms.tolist() == [800_000, 100_000, 500]
    assert trace.gpu_count.tolist() == [0, 1, 8]
    assert trace.gpus_milli.tolist() == [0, 460, 8000]
    assert trace.cpu_milli.tolist() == [32000, 4000, 96000]
    assert trace.memory_mib.tolist() == [65536, 8192, 786432]
    assert trace.qos == ("LS", "BE", "Guaranteed")
    assert trace.status == ("Running", "Failed", "Succeeded")
    assert trace.group == ("", "", "")
    assert trace.dropped == {"never scheduled": 1, "zero run time": 1, "no deletion time": 1}
    assert "trace (alibaba-v2023); 3 rows left out (never scheduled: 1" in trace.source
    assert trace.gpu_type == ("", "", "V100M16")
    assert trace.start_ms.tolist() == [0, 60_000, 50_000], "milliseconds after the first submit"
    assert trace.end_ms.tolist() == [800_000, 160_000, 50_500]


def test_philly_csv(write: Write) -> None:
    trace = read_trace(write(PHILLY_CSV))
    assert trace.ids == ("job-2", "job-1")
    assert trace.submit.tolist() == [0, 86400]
    assert trace.duration_ms.tolist() == [2500, 66_000]
    assert trace.gpus_milli.tolist() == [16_000, 1000]
    assert trace.group == ("6214e9", "11cb48")
    assert trace.cpu_milli.tolist() == trace.memory_mib.tolist() == [UNKNOWN, UNKNOWN]
    assert trace.dropped == {"zero run time": 1}


@pytest.mark.parametrize("indent", [None, 2])
def test_philly_json(write: Write, indent: int | None) -> None:
    trace = read_trace(write("\n " + json.dumps(PHILLY_JOBS, indent=indent) + "\n"))
    assert trace.ids == ("earlier", "twice", "cpu")
    assert trace.submit.tolist() == [0, 60, 60]
    assert trace.duration_ms.tolist() == [1000, 90_000, 2000]
    assert trace.gpu_count.tolist() == [1, 16, 0]
    assert trace.group == ("ee9e8c",) * 3
    assert trace.status == ("Pass",) * 3
    assert trace.dropped == {
        "no attempts": 1,
        "an attempt without times": 2,
        "no submit time": 1,
        "an attempt over the clock change": 1,
    }


def test_philly_json_longer_than_a_chunk(write: Write) -> None:
    jobs = [philly(f"j{i}", attempt("01:10:00", "01:10:02", 1)) for i in range(2000)]
    trace = read_trace(write(json.dumps(jobs, indent=1)))
    assert trace.ids == tuple(f"j{i}" for i in range(2000))


def test_helios_csv(write: Write) -> None:
    trace = read_trace(write(HELIOS_CSV))
    assert trace.ids == ("7#0", "7#1", "9#2")
    assert trace.submit.tolist() == [0, 0, 15]
    assert trace.duration_ms.tolist() == [172_800_000, 2, 60_000]
    assert trace.gpu_count.tolist() == [32, 1, 0]
    assert any(note.startswith("1 run times are exactly 48 h") for note in trace.notes)


def test_helios_original(write: Write) -> None:
    trace = read_trace(write(HELIOS_LOG))
    assert trace.ids == ("2", "1", "1#2")
    assert trace.submit.tolist() == [0, 1, 2]
    assert trace.duration_ms.tolist() == [1000, 86_400_000, 3000]
    assert trace.gpu_count.tolist() == [0, 8, 1]
    assert trace.cpu_milli.tolist() == [4000, 48_000, 4000]
    assert trace.group == ("vcB", "vcA", "")
    assert trace.status == ("FAILED", "COMPLETED", "NODE_FAIL")
    assert trace.dropped == {"never started": 1, "not finished": 1, "zero run time": 1}
    assert any("1 jobs repeat the id" in note for note in trace.notes)


def test_what_sacct_prints(write: Write) -> None:
    trace = read_trace(write(SACCT))
    assert trace.ids == ("13", "12")
    assert trace.submit.tolist() == [0, 3600]
    assert trace.duration_ms.tolist() == [172_830_000, 3_600_000]
    assert trace.gpu_count.tolist() == [1, 16]
    assert trace.cpu_milli.tolist() == [4000, 32000]
    assert trace.memory_mib.tolist() == [512, 262_144]
    assert trace.time_limit_ms.tolist() == [UNKNOWN, 86_400_000]
    assert (trace.user, trace.group) == (("bob", "ann"), ("nlp", "vision"))
    assert trace.dropped == {"not finished": 1}
    assert {what: rows.count for what, rows in trace.account.joined.items()} == {"job steps": 1}


def test_gpus_of_older_sacct_are_those_of_a_node(write: Write) -> None:
    text = "JobID|Submit|ElapsedRaw|ReqGRES|NNodes|TimelimitRaw\n7|2024-03-01T10:00:00|90|gpu:v100:4|3|30\n"
    trace = read_trace(write(text))
    assert (trace.gpu_count.tolist(), trace.duration_ms.tolist()) == ([12], [90_000])
    assert trace.time_limit_ms.tolist() == [1_800_000]


def test_standard_workload_format(write: Write) -> None:
    trace = read_trace(write(SWF))
    assert trace.ids == ("1", "2")
    assert trace.submit.tolist() == [0, 10]
    assert trace.duration_ms.tolist() == [100_000, 50_500]
    assert trace.gpu_count.tolist() == [0, 0]
    assert trace.cpu_milli.tolist() == [4000, 8000]
    assert trace.time_limit_ms.tolist() == [300_000, UNKNOWN]
    assert (trace.user, trace.group) == (("7", "8"), ("2", ""))
    assert trace.dropped == {"cancelled before it ran": 1}
    assert "The file says of its machine: MaxNodes 64." in trace.notes


def test_alibaba_2025(write: Write) -> None:
    trace = read_trace(write(ALIBABA_2025))
    assert (trace.ids, trace.group) == (("instance_13574", "instance_9"), ("app_130", "app_0"))
    assert (trace.gpu_count.tolist(), trace.cpu_milli.tolist()) == ([0, 1], [64_000, 12_000])
    assert trace.memory_mib.tolist() == [327_680, 122_880]
    assert trace.duration_ms.tolist() == [131_000, 60_000]
    assert trace.start_ms.tolist() == [0, 11_000]
    assert trace.dropped == {"no submit time": 1}
    assert "max_instance_per_node" in trace.account.unread


def test_alibaba_2026(write: Write) -> None:
    trace = read_trace(write(ALIBABA_2026))
    assert (trace.gpu_count.tolist(), trace.cpu_milli.tolist()) == ([1, 16], [20_000, 240_000])
    assert (trace.gpu_type, trace.qos) == (("A10", "A100-SXM4-80GB"), ("HP", "Spot"))
    assert trace.duration_ms.tolist() == [2_764_799_000, 41_060_000]


def test_every_format_is_tested() -> None:
    assert set(TEXTS) == set(FORMATS)


@pytest.mark.parametrize("format", FORMATS)
def test_content_not_name_decides(write: Write, format: str) -> None:
    """Neither the name, gzip, a byte-order mark, CRLF, blank lines nor a stated format changes what is read."""
    text = TEXTS[format]
    plain = read_trace(write(text))
    packed = gzip.compress(text.encode())
    variants = [
        read_trace(write(packed, "trace")),
        read_trace(write("\ufeff" + text, "trace")),
        read_trace(write(text.replace("\n", "\r\n"), "trace")),
        read_trace(write("\n \n" + text + "\n\n", "trace")),
        read_trace(write(text, "trace"), format=format),
    ]
    assert all(variant == plain for variant in variants)
    assert f"({format})" in plain.source
    assert read_trace(write(packed, "other.json")).ids == plain.ids


@pytest.mark.parametrize("format", FORMATS)
def test_limit_is_the_first_jobs_in_file_order(write: Write, format: str) -> None:
    whole = read_trace(write(TEXTS[format]))
    one = read_trace(write(TEXTS[format]), limit=1)
    first = {"alibaba-v2023": "late", "philly-csv": "job-1", "philly-json": "twice", "sacct": "12"}.get(
        format, whole.ids[0]
    )
    assert one.ids == (first if format != "helios-original" else "1",)
    assert one.submit.tolist() == [0]
    assert read_trace(write(TEXTS[format]), limit=1000) == whole


@pytest.mark.parametrize("format", FORMATS)
def test_limit_stops_before_a_bad_row(write: Write, format: str) -> None:
    text = TEXTS[format].rstrip().removesuffix("]") + "\nnonsense\n"
    assert len(read_trace(write(text), limit=2)) == 2
    with pytest.raises(InvalidFile):
        read_trace(write(text))


def test_columns_in_another_order_and_besides(write: Write) -> None:
    text = "gpu_count,note,service_sec,job_id,arrival_s\n2,x,3,a,0\n"
    trace = read_trace(write(text))
    assert (trace.ids, trace.gpu_count.tolist(), trace.duration_ms.tolist()) == (("a",), [2], [3000])


def test_repeated_ids_stay_unique(write: Write) -> None:
    text = "job_id,arrival_s,service_sec,gpu_count\n" + "".join(f"{i},0,1,1\n" for i in ("a#2", "a", "a", "a"))
    assert read_trace(write(text)).ids == ("a#2", "a", "a#3", "a#4")


@pytest.mark.parametrize("limit", [0, -1, True, 1.0, "3"])
def test_bad_limit(write: Write, limit: Any) -> None:
    with pytest.raises(InvalidInput, match=r"limit: .*, expected (an integer or None|at least 1)"):
        read_trace(write(PODS), limit=limit)


def test_unknown_format(write: Write) -> None:
    with pytest.raises(UnknownName, match="trace format 'pai' does not exist; use one of alibaba-v2023, philly-csv"):
        read_trace(write(PODS), format="pai")


def test_nodes(write: Write) -> None:
    nodes = read_nodes(write(NODES))
    assert nodes.ids == ("n0", "n1")
    assert nodes.cpu_milli.tolist() == [32000, 96000]
    assert nodes.memory_mib.tolist() == [262144, 786432]
    assert nodes.gpus.tolist() == [0, 8]
    assert nodes.model == ("", "V100M32")
    assert read_nodes(write(gzip.compress(NODES.encode()))) == nodes
