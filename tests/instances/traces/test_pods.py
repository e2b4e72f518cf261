"""Rows that are pods become jobs: what adds up, what is the job's, and when the job is none."""

from __future__ import annotations

import pytest

from mlsched.core.errors import InvalidFile
from mlsched.instances.traces import UNKNOWN, read_trace

HEADER = "name,training.kubeflow.org/job-name,createTime,start,end,gpus,cpus,status\n"


@pytest.fixture
def read(tmp_path):
    def read(rows: str, **options):
        (tmp_path / "pods.csv").write_text(HEADER + rows)
        return read_trace(tmp_path / "pods.csv", **options)

    return read


def test_pods_of_a_name_are_a_job(read):
    trace = read("m-0,m,5,10,70,4,8,\nx,,6,6,16,1,2,\nm-1,m,7,12,82,2,,\nidle,m,7,7,99,0,0,\n".replace(",2,,", ",2,0,"))
    assert trace.ids == ("m", "line-3")
    assert (trace.submit.tolist(), trace.duration_ms.tolist()) == ([0, 1], [70_000, 10_000]), "first pod, longest pod"
    assert (trace.gpu_count.tolist(), trace.cpu_milli.tolist()) == ([6, 1], [8000, 2000])
    assert trace.tasks == (((8000, 0, 4000), (0, 0, 2000)), ((2000, 0, 1000),)), "a pod that asks for nothing is none"
    assert "3 rows are pods of 2 jobs: a job runs as long as its longest pod." in trace.notes


def test_a_job_of_which_a_pod_never_ran_is_none(read):
    trace = read("m-0,m,5,10,70,4,8,\nn-0,n,5,6,7,1,1,\nm-1,m,5,,,4,8,\no-0,o,5,6,9,1,1,Running\np-0,p,5,6,9,0,0,\n")
    assert trace.ids == ("n",)
    assert trace.dropped == {"a pod: never started": 2, "a pod: not finished": 1, "asks for no GPU": 1}


def test_a_limit_counts_jobs_and_reads_all_of_their_pods(read):
    trace = read("m-0,m,5,10,70,4,8,\nn-0,n,6,6,7,1,1,\nm-1,m,7,10,70,4,8,\n", limit=1)
    assert (trace.ids, trace.gpu_count.tolist()) == (("m",), [8])


def test_a_log_of_jobs_states_no_tasks(read):
    assert read("a,,5,10,70,4,8,\n", read={"pod_group": ""}).tasks == ()
    assert read("a,,5,10,70,4,8,\n", read={"pod_group": "", "cpus": ""}).cpu_milli.tolist() == [UNKNOWN]


def test_a_bad_row_is_refused_where_it_stands(read):
    with pytest.raises(InvalidFile, match="line 3: gpus: 'many'"):
        read("m-0,m,5,10,70,4,8,\nm-1,m,5,10,70,many,8,\n")
