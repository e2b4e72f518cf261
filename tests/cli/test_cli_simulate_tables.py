"""`mlsched simulate`: windows, replications, groups, several clusters and loads, and policies that refuse."""

from __future__ import annotations

import csv
import html
import json
import re

import pytest

from mlsched.cli.simulation_output import without_folders


@pytest.fixture
def log(tmp_path):
    """Eight days of a job every hour, longer in every second day, of three users in two partitions."""
    rows = ["submit,duration,gpus,user,partition,qos"]
    for k in range(8 * 24):
        day, length = k // 24, 3600 + 540 * (k * k % 17)
        who = f"u{k % 3},p{k % 2},{'high' if k % 5 == 0 else 'low'}"
        rows.append(f"{3600 * k},{length * (2 if day % 2 else 1)},{[1, 2, 4, 8][k % 4]},{who}")
    path = tmp_path / "log.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


CLUSTER = ("--cluster", "2x(8gpu)")


def test_a_window_is_said_and_counts_its_jobs_alone(cli, log):
    found = cli("simulate", "fifo", "srpt", "--trace", log, *CLUSTER, "--from", "1d", "--to", "6d")
    assert found.status == 0
    assert "window: from 1 d to 6 d; 120 of 192 jobs are counted" in found.out
    assert "other jobs also run and use nodes, but are not counted" in found.out
    assert "whole run: total_jct above its bound" in found.out
    assert "rows: 192 rows read, 192 jobs, 0 skipped." in found.out
    for figure in ("mean waiting, ", "waiting p99, ", "mean bounded slowdown", "area-weighted response, ", "queue"):
        assert figure in found.out
    document = cli("simulate", "fifo", "--trace", log, *CLUSTER, "--from", "1d", "--to", "6d", "--json").document
    (window,) = document["runs"][0]["windows"]
    assert (window["from"], window["to"], window["measures"]["jobs"]) == (86_400, 518_400, 120)
    assert document["rows"]["jobs"] == 192


def test_what_the_source_says_in_passing_is_said_once(cli, log):
    """Below the tables; the source itself, in documents, has all."""
    said = ("a pause costs ", "movement=", "ticks of ")
    shown = cli("simulate", "srpt:preempt=true", "--trace", log, "--cluster", "2x(8gpu)")
    tables, _, basis = shown.out.rpartition("\n\n")
    origin, *below = basis.splitlines()
    assert "every run passed the independent replay check" in tables
    assert "; gangs; shape=log; iterations of 60 s" in origin
    assert not any(clause in origin for clause in said)
    assert all(any(line.startswith(name) for line in below) for name in ("pause cost: ", "movement: ", "tick: "))
    document = cli("simulate", "fifo", "--trace", log, "--cluster", "2x(8gpu)", "--json").document
    assert all(clause in document["source"] for clause in said)


def test_windows_as_replications_have_intervals(cli, log, tmp_path):
    words = ("--trace", log, *CLUSTER, "--from", "1d", "--to", "7d", "--every", "1d")
    target = tmp_path / "figures.csv"
    found = cli("simulate", "fifo", "srpt", *words, "--by", "user,size,partition", "--table", target)
    assert found.status == 0
    assert "6 windows of 1 d, from 1 d to 7 d; 144 of 192 jobs are counted, 24 to 24 a window" in found.out
    assert "against fifo, window by window" in found.out
    assert re.search(r"mean waiting +[+-]\d+\.\d+ % \(undecided\)", found.out)
    assert re.search(r"together for all \d comparisons with 95 % confidence; they need at least 9 windows", found.out)
    assert "Intervals: 95 %, Student's t over the windows" in found.out
    assert "mean waiting, hours, by user" in found.out
    with target.open() as stream:
        rows = list(csv.DictReader(stream))
    chosen = [r for r in rows if r["measure"] == "mean waiting" and r["policy"] == "srpt" and r["from"]]
    assert [row["from"] for row in chosen] == [str(86_400 * k) for k in range(1, 7)]
    assert {row["group"] for row in rows if row["by"] == "user"} == {"u0", "u1", "u2"}
    assert {row["unit"] for row in chosen} == {"s"}


@pytest.mark.parametrize(
    ("name", "sign"), [("t.md", "| --- | ---: | ---: |"), ("t.tex", r"\begin{tabular}{@{}lrr@{}}")]
)
def test_tables_to_publish(cli, log, tmp_path, name, sign):
    target = tmp_path / name
    assert cli("simulate", "fifo", "srpt", "--trace", log, *CLUSTER, "--from", "1d", "--table", target).status == 0
    text = target.read_text()
    assert sign in text
    assert "mean waiting" in text
    assert ("%" not in text.replace(r"\%", "").partition("\n")[2]) == (name == "t.tex")


def test_what_if_policies_times_clusters_times_loads(cli, log, tmp_path):
    words = ("--trace", log, *CLUSTER, "--cluster", "3x(8gpu)", "--scale-load", "1,1.25", "--from", "1d", "--to", "6d")
    jobs = tmp_path / "jobs.csv"
    found = cli("simulate", "fifo", "srpt", *words, "--jobs", jobs, "-o", tmp_path / "runs.json")
    assert found.status == 0
    lines = found.out.splitlines()
    labels = [f"{cluster}, load x {load}" for cluster in ("2x(8gpu)", "3x(8gpu)") for load in ("1", "1.25")]
    for label in labels:
        assert sum(line.strip().startswith(f"{label} ") for line in lines) > 3, label
    assert "total completion time above its bound" in found.out
    document = cli("simulate", "fifo", *words, "--json").document
    assert [entry["scenario"] for entry in document["scenarios"]] == labels
    waits = {(e["scenario"], e["policy"]): e["windows"][0]["measures"]["mean waiting"] for e in document["runs"]}
    assert waits[labels[2], "fifo"] < waits[labels[0], "fifo"] < waits[labels[1], "fifo"]
    jobs_of = {(e["scenario"], e["policy"]): e["windows"][0]["measures"]["jobs"] for e in document["runs"]}
    assert set(jobs_of.values()) == {120}, "windows are times of the log, at every load"
    with jobs.open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 8 * 192
    assert {row["scenario"] for row in rows} == set(labels)
    assert len(json.loads((tmp_path / "runs.json").read_text())["runs"]) == 8
    plain = cli("simulate", "fifo", "--trace", log, *CLUSTER, "--cluster", "3x(8gpu)", "--limit", "24")
    assert "mean completion, minutes" in plain.out


def test_what_a_policy_refuses_is_known_before_the_first_run_and_the_others_go_on(cli, log):
    words = ("--trace", log, *CLUSTER, "--set", "pausing=restart")
    found = cli("simulate", "fifo", "srpt:preempt=true", "best-effort-fifo", *words)
    assert found.status == 1
    first, *_, last = found.err.splitlines()
    assert first.startswith(
        "mlsched: srpt:preempt=true will not run: srpt: preempt = true: runs may not pause and resume"
    )
    assert last.startswith("mlsched: srpt:preempt=true: srpt: preempt = true")
    assert "srpt:preempt=true refused: srpt: preempt = true" in found.out
    status = next(line for line in found.out.splitlines() if line.strip().startswith("status"))
    assert status.split() == ["status", "ran", "refused", "ran"]
    document = json.loads(cli("simulate", "fifo", "srpt:preempt=true", *words, "--json").out)
    assert [run.get("status", "ran") for run in document["runs"]] == ["ran", "refused"]
    cli("simulate", "srpt:preempt=true", *words).refused("srpt: preempt = true: runs may not pause and resume later")


def test_a_cluster_too_small_is_a_row_that_says_so_unless_all_are(cli, tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("submit,duration,gpus\n0,600,4\n")
    small = ("--trace", path, "--cluster", "1x(2gpu)")
    found = cli("simulate", "fifo", "srpt", *small, "--cluster", "1x(4gpu)")
    assert found.status == 1
    assert "fifo on 1x(2gpu) refused: the run could never end: 1 of 1 jobs ask for" in found.out
    assert found.err.count("will not run: the run could never end") == 2
    cli("simulate", "fifo", "srpt", *small).refused("the run could never end: 1 of 1 jobs", "enlarge the cluster")
    cli("simulate", "fifo", "srpt", "--trace", path, "--scheduling-events", "never").refused(
        "--scheduling-events: 'never', expected 'events'"
    )


def test_as_logged_at_another_load_is_a_row_that_says_so(cli, tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("submit,start,end,gpus\n0,0,100,1\n5,50,120,2\n")
    words = ("--trace", path, "--cluster", "1x(4gpu)", "--scale-load", "1,2", "--set", "tick=1")
    found = cli("simulate", "as-logged", "fifo", *words)
    assert found.status == 1
    assert "as-logged on load x 2 refused: as-logged: the log ran at its own rate of arrivals, not 2 times" in found.out
    assert "as-logged on load x 2: the log ran at its own rate of arrivals, not 2 times" in found.err, "named once"
    row = next(line for line in found.out.splitlines() if line.strip().startswith("load x 2"))
    assert "refused" in row


def test_classes_order_jobs_within_a_rule(cli, log, tmp_path):
    words = ("--trace", log, *CLUSTER, "--json", "--jobs")
    waits = {}
    for name, more in (("without", ()), ("with", ("--set", "classes=high/low"))):
        assert cli("simulate", "fifo", *words, tmp_path / name, *more).status == 2, "not a name of a table"
        assert cli("simulate", "fifo", *words, tmp_path / f"{name}.csv", *more).status == 0
        with (tmp_path / f"{name}.csv").open() as stream:
            rows = list(csv.DictReader(stream))
        high = [float(r["waiting_s"]) for k, r in enumerate(rows) if k % 5 == 0]
        waits[name] = sum(high) / len(high)
    assert waits["with"] < 0.5 * waits["without"]


def test_a_page_names_no_folder(cli, tmp_path, log):
    folder = tmp_path / "a folder, and more"
    folder.mkdir()
    trace, nodes = folder / "my log.csv", folder / "nodes.csv"
    trace.write_text(log.read_text())
    nodes.write_text("name,gpus\na,8\nb,8\n")
    page = tmp_path / "page.html"
    more = ("--every", "1d", "--by", "user", "--parts", "--table", page)
    done = cli("simulate", "fifo", "srpt", "--trace", trace, "--cluster", nodes, "--cluster", "2x(8gpu)", *more)
    assert done.status == 0, done.err
    text = html.unescape(page.read_text())
    assert "my log.csv (own log" in text
    assert str(tmp_path) not in text
    assert "a folder" not in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("(value - bound) / bound, 3/4 of 1.8/h", "(value - bound) / bound, 3/4 of 1.8/h"),
        ("chic:weights=/none/such/x.bin,window=3", "chic:weights=x.bin,window=3"),
        ("fails: /none/such.csv: file not found", "fails: such.csv: file not found"),
        ("(/none/a/b.csv)", "(b.csv)"),
    ],
)
def test_paths_are_shortened_to_their_last_name(text, shown):
    assert without_folders(text) == shown
