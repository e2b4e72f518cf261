"""Slurm's accounting as sites print it: clusters, heterogeneous jobs, slices, shards, zones, rows that cannot be."""

from __future__ import annotations

import csv
from datetime import datetime
from pathlib import Path

import pytest

from mlsched.core.errors import InvalidFile, InvalidInput
from mlsched.instances.traces import read_trace
from mlsched.instances.traces.builder import DATES, ZONED
from mlsched.instances.traces.picked import from_eligible
from mlsched.instances.traces.slurm_resources import resources_of

LOGS = Path(__file__).parent / "logs"
TWO = LOGS / "sacct-two-clusters.txt"
HEADER = "JobID|User|Submit|Start|End|AllocTRES|State\n"


def counts(kinds) -> dict[str, int]:
    return {kind: rows.count for kind, rows in kinds.items()}


def row(job: str, submit: str, start: str, end: str, state: str = "COMPLETED", user: str = "u") -> str:
    day = "2026-01-01T"
    return f"{job}|{user}|{day}{submit}|{day}{start}|{day}{end}|cpu=4,gres/gpu=1,node=1|{state}\n"


# -- clusters ---------------------------------------------------------------------------------------------------------


def test_a_log_of_several_clusters_is_refused_unless_one_is_chosen() -> None:
    with pytest.raises(InvalidFile, match=r"line 49: the log has several clusters .*; choose one with --set log_clus"):
        read_trace(TWO)
    alpha, beta = read_trace(TWO, log_cluster="alpha"), read_trace(TWO, log_cluster="beta")
    one, other = alpha.ids.index("1002"), beta.ids.index("1002")
    assert (alpha.user[one], alpha.gpu_count[one], alpha.status[one]) == ("u2", 4, "NODE_FAIL")
    assert (beta.user[other], beta.gpu_count[other], beta.status[other]) == ("u5", 2, "COMPLETED")
    assert counts(alpha.account.skipped) == {"not finished": 3, "never ran": 1, "of another cluster": 6}
    assert (len(alpha), len(beta)) == (28, 6)


@pytest.mark.parametrize("cluster", ["alpha", "beta"])
def test_waiting_and_work_are_those_of_the_rows(cluster: str) -> None:
    """Counted from the rows alone; a component of a heterogeneous job is a row of its own there."""
    trace = read_trace(TWO, log_cluster=cluster)
    waiting, gpu_seconds = dict[str, int](), 0
    with TWO.open(newline="") as stream:
        for line in csv.DictReader(stream, delimiter="|"):
            ended = line["End"] not in ("Unknown", "None") and line["Start"] not in ("Unknown", "None")
            if line["Cluster"] != cluster or "." in line["JobID"] or not ended:
                continue
            submit, start, end = (datetime.fromisoformat(line[name]) for name in ("Submit", "Start", "End"))
            tres = dict(item.split("=", 1) for item in line["AllocTRES"].split(","))
            gpu_seconds += int(tres.get("gres/gpu", 0)) * int((end - start).total_seconds())
            waiting[line["JobID"].partition("+")[0]] = 1000 * int((start - submit).total_seconds())
    assert dict(zip(trace.ids, (trace.start_ms - 1000 * trace.submit).tolist(), strict=True)) == waiting
    assert int((trace.gpus_milli * trace.duration_ms).sum()) == 10**6 * gpu_seconds


def test_a_cluster_that_the_log_does_not_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidFile, match="column 'Cluster' is missing in the header; leave out log_cluster"):
        read_trace(LOGS / "01_raw_id.txt", log_cluster="a")
    with pytest.raises(InvalidFile, match="no job has a run time"):
        read_trace(TWO, log_cluster="gamma")


def test_options_of_slurm_are_refused_for_other_logs() -> None:
    for source in (LOGS / "kal2.csv", LOGS / "acme_kalos.csv", {"submit": [0], "duration": [1], "gpus": [1]}):
        for options in ({"log_cluster": "a"}, {"log_shards": 2}):
            with pytest.raises(InvalidInput, match=r"log_.*: options of sacct logs, and this is"):
                read_trace(source, **options)


def test_runs_of_one_job_are_of_one_user_and_follow_each_other(tmp_path: Path) -> None:
    path = tmp_path / "log"
    first = row("7", "00:00:00", "00:01:00", "00:11:00", "NODE_FAIL")
    path.write_text(HEADER + first + row("7", "00:11:00", "00:12:00", "00:22:00"))
    assert read_trace(path).duration_ms.tolist() == [1_200_000], "requeued when it failed"
    path.write_text(HEADER + first + row("7", "00:11:00", "00:12:00", "00:22:00", user="v"))
    apart = read_trace(path)
    assert (apart.user, apart.duration_ms.tolist()) == (("u", "v"), [600_000, 600_000])
    path.write_text(HEADER + first + row("7", "00:40:00", "00:41:00", "00:51:00"))
    assert read_trace(path).ids == ("7", "7#2"), "another submit: the number was used again"


def test_requeued_runs_are_one_job() -> None:
    trace = read_trace(LOGS / "11_dups.txt")
    assert (trace.ids, trace.duration_ms.tolist()) == (("20", "21"), [3_000_000, 600_000])
    assert counts(trace.account.joined) == {"earlier runs of a job that was requeued": 2}


# -- heterogeneous jobs and resources ---------------------------------------------------------------------------------


def test_components_of_a_heterogeneous_job_are_one_gang() -> None:
    trace = read_trace(LOGS / "05_states.txt")
    job = trace.ids.index("5")
    assert (trace.gpu_count[job], trace.cpu_milli[job], trace.node_count[job]) == (5, 5000, 2)
    assert trace.tasks[job] == ((1000, 0, 1000), (4000, 0, 4000))
    assert [place for k, place in enumerate(trace.runs.places) if trace.runs.job[k] == job] == [
        (("n3", 1000), ("n4", 4000))
    ]
    assert counts(trace.account.joined) == {"further components of a heterogeneous job": 1}
    alpha = read_trace(TWO, log_cluster="alpha")
    assert (alpha.gpu_count[alpha.ids.index("1032")], alpha.node_count[alpha.ids.index("1032")]) == (8, 2)


def test_slices_shards_and_types_count_and_the_rest_is_named() -> None:
    trace = read_trace(LOGS / "05_states.txt")
    assert dict(zip(trace.ids, trace.gpus_milli.tolist(), strict=True)) == {
        "4_1": 429, "5": 5000, "6": 4000, "8": 3000, "9": 0, "10": 1000
    }  # fmt: skip
    assert counts(trace.account.skipped) == {"never ran": 1, "not finished": 3}
    assert counts(trace.account.changed) == {
        "gres/gpumem does not count": 1,
        "gres/shard does not count (--set log_shards=N: N shards are a GPU)": 1,
    }
    shared = read_trace(LOGS / "05_states.txt", log_shards=8)
    assert shared.gpus_milli[shared.ids.index("9")] == 250
    assert counts(shared.account.changed) == {"gres/gpumem does not count": 1}


@pytest.mark.parametrize(
    ("listed", "devices", "milli"),
    [
        ("cpu=8,gres/gpu:a100=4,gres/gpu=4", 4, 4000),
        ("gres/gpu:h100=2,gres/gpu:a100=1", 3, 3000),
        ("gpu:v100:4(S:0-1)", 4, 4000),
        ("gres/gpu:4", 4, 4000),
        ("gres/gpu=2,gres/gpu:nvidia_a100_1g.5gb=2", 2, 286),
        ("gres/gpu:a100_7g.40gb=1", 1, 1000),
        ("gres/gpu:a30_2g.12gb=1", 1, 500),
        ("gres/gpu:v100=1,gres/gpu:1g.10gb.me=1", 2, 1143),
        ("cpu=4,license/matlab=2", 0, 0),
    ],
)
def test_gpus_of_a_list(listed: str, devices: int, milli: int) -> None:
    found = resources_of(listed)
    assert (found.devices, found.milli) == (devices, milli)


# -- times, headers, rows that cannot be ------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "clock"), [("02_tz", ZONED), ("16_dst", ZONED), ("11_dups", DATES)])
def test_the_note_on_zones_is_true(name: str, clock: int) -> None:
    trace = read_trace(LOGS / f"{name}.txt")
    assert trace.clock == clock
    assert ("Times have no zone." in trace.notes) == (clock == DATES)


def test_a_change_of_clocks() -> None:
    trace = read_trace(LOGS / "16_dst.txt")
    assert trace.duration_ms.tolist() == [7_200_000, 1_800_000]
    assert len(set(trace.end_ms.tolist())) == 1


def test_a_header_with_raw_ids_only() -> None:
    trace = read_trace(LOGS / "01_raw_id.txt")
    assert (trace.ids, trace.gpu_count.tolist(), trace.user) == (("100", "101"), [2, 1], ("u1", "u2"))


def test_a_log_without_tres_is_of_cpus() -> None:
    trace = read_trace(LOGS / "07_no_tres.txt")
    assert (trace.cpu_milli.tolist(), trace.gpu_count.tolist()) == ([12_000, 1000], [0, 0])
    assert "The log has no column of GPUs (AllocTRES): its jobs are CPU jobs." in trace.notes


def test_a_row_that_ends_before_it_starts_is_skipped() -> None:
    trace = read_trace(LOGS / "13_end_before.txt")
    assert (trace.ids, counts(trace.account.skipped)) == (("20",), {"ends before it starts": 1})
    with pytest.raises(InvalidFile, match="line 3: is not a job that ran: ends before it starts"):
        read_trace(LOGS / "13_end_before.txt", strict=True)


def test_names_of_columns_in_any_case(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("jobid|User|QoS|submit|ElapsedRaw|Ncpus|alloctres\n1|u|high|2026-01-01T00:00:00|60|8|gres/gpu=1\n")
    trace = read_trace(path)
    assert (trace.qos, trace.cpu_milli.tolist(), trace.account.unread) == (("high",), [8000], ())


# -- logs in tables ---------------------------------------------------------------------------------------------------


def test_supercloud() -> None:
    trace = read_trace(LOGS / "supercloud.csv")
    assert (trace.gpu_count.tolist(), trace.node_count.tolist()) == ([2, 4], [1, 2])
    assert trace.runs.places == ((("n1", 2000),), (("n2", 2000), ("n3", 2000)))
    assert (trace.status, trace.time_limit_ms.tolist()) == (("COMPLETED",) * 2, [86_400_000] * 2)
    assert trace.duration_ms.tolist() == [3_600_000, 600_000]


@pytest.mark.parametrize(
    ("name", "runs", "changed"),
    [
        ("acme_kalos", [8, 70], {"duration is end - submit: end - start counts": 2}),
        ("acme_seren", [117, 2693], {}),
        ("kal2", [3600] * 3, {"duration is end - submit: end - start counts": 3}),
    ],
)
def test_running_times_are_from_start_to_end(name: str, runs: list[int], changed: dict[str, int]) -> None:
    trace = read_trace(LOGS / f"{name}.csv")
    assert trace.duration_ms.tolist() == [1000 * run for run in runs]
    assert counts(trace.account.changed) == changed


def test_a_requeued_job_is_eligible_from_its_first_run_on(write) -> None:
    """`sacct --duplicates` prints when each run was eligible; the second is after the job's first start."""
    day = "2026-01-01T"
    lines = [
        "JobID|User|Submit|Eligible|Start|End|AllocTRES|State\n",
        f"104|u|{day}08:00:00|{day}08:20:00|{day}08:50:00|{day}09:00:00|gres/gpu=1|NODE_FAIL\n",
        f"104|u|{day}09:00:00|{day}09:02:00|{day}09:10:00|{day}09:40:00|gres/gpu=1|COMPLETED\n",
    ]
    trace = read_trace(write("".join(lines)))
    assert (trace.ids, trace.eligible_ms.tolist()) == (("104",), [20 * 60_000])
    moved, changed = from_eligible(trace)
    assert (changed, moved.runs.start_ms.tolist()) == (1, [30 * 60_000, 50 * 60_000])
    assert moved.start_ms.tolist() == [30 * 60_000]
