"""What a run loses, at least and at most: the same in the table, the page, exports, JSON and `mlsched compare`."""

from __future__ import annotations

import csv
import html
import json
import re
import shutil

import pytest
from draws import draws
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlsched.benchmark.formats import gap

CLUSTER = ("--cluster", "2x(4gpu)")
POLICIES = ("fifo", "srpt:preempt=true")
TIMES = {"total_jct", "mean_jct", "makespan", "mean_waiting"}
JOB = st.tuples(st.integers(0, 40), st.integers(1, 90), st.sampled_from([1, 2, 4, 8]))


def cells(row: str) -> list[str]:
    """The cells of a row of an HTML table."""
    return [html.unescape(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)]


def of_table(text: str, name: str) -> list[str]:
    """The cells of a row of a printed table, whose columns are apart by two blanks or more."""
    line = next(line for line in text.splitlines() if line.strip().startswith(f"{name} "))
    return re.split(r"\s{2,}", line.strip())[1:]


@pytest.mark.filterwarnings("ignore:the offered load")
@settings(max_examples=draws(2, 60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(jobs=st.lists(JOB, min_size=3, max_size=12))
def test_every_place_has_the_same_interval(cli, tmp_path, jobs):
    shutil.rmtree(tmp_path)
    tmp_path.mkdir()
    log = tmp_path / "log.csv"
    rows = [f"{60 * at},{60 * minutes},{gpus}" for at, minutes, gpus in jobs]
    log.write_text("\n".join(["submit_s,duration_s,gpus", *rows]) + "\n")
    words = ("--trace", log, *CLUSTER)
    for kind in ((), ("--pausing",)):
        folder = tmp_path / f"reference{len(kind)}"
        assert cli("reference", log, *CLUSTER, "-o", folder, "--moves", 20, *kind).status == 0
        words += ("--reference", folder)
    claims = [json.loads((tmp_path / f"reference{k}" / "manifest.json").read_text()) for k in (0, 1)]

    printed = cli("simulate", *POLICIES, *words, "-o", tmp_path / "runs.json", "--table", tmp_path / "page.html")
    assert printed.status == 0
    figures = cli("simulate", *POLICIES, *words, "--table", tmp_path / "figures.csv", "--json").document
    assert cli("simulate", *POLICIES, *words, "--table", tmp_path / "table.md").status == 0
    page = [cells(row) for row in re.findall(r"<tr>(.*?)</tr>", (tmp_path / "page.html").read_text())]
    markdown = [line.split(" | ") for line in (tmp_path / "table.md").read_text().splitlines()]
    with (tmp_path / "figures.csv").open() as stream:
        lines = list(csv.DictReader(stream))
    exported = {(row["policy"], row["measure"]): float(row["value"]) for row in lines}
    in_ticks = {row["measure"] for row in lines if row["unit"] == "ticks"}
    assert {name for name in in_ticks if "percentiles" not in name} == TIMES
    written = {run["policy"]: run for run in json.loads((tmp_path / "runs.json").read_text())["runs"]}
    compared = cli("compare", tmp_path / "runs.json", tmp_path / "runs.json", "--json").document["measures"]
    held = {(figure["policy"], figure["name"]): (figure["first"], figure["second"]) for figure in compared}

    for at, (run, claim) in enumerate(zip(figures["runs"], claims, strict=True)):
        policy, total = run["policy"], run["summary"]["total_jct"]
        true = {
            "total_jct above its bound": (total - run["bound"]["total_jct"]) / run["bound"]["total_jct"],
            "total_jct loses at least": max(0.0, (total - claim["value"]) / claim["value"]),
            "total_jct loses at most": (total - claim["bound"]) / claim["bound"],
        }
        for name, share in true.items():
            assert exported[policy, name] == share
            assert held[policy, name] == (share, share)
            assert of_table(printed.out, name)[at] == gap(share)
            assert next(row for row in page if row[0] == name)[1 + at] == gap(share)
            assert next(row for row in markdown if row[0] == f"| {name}")[1 + at].removesuffix(" |") == gap(share)
        for document in (run, written[policy]):
            assert document["losses"]["jobs"] == {"at_least": true["total_jct loses at least"],
                                                  "at_most": true["total_jct loses at most"]}  # fmt: skip
            assert document["gaps"]["total_jct"] == true["total_jct above its bound"]


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(
        "submit_s,duration_s,gpus\n" + "".join(f"{300 * k},{1200 * (1 + k % 3)},{1 + k % 4}\n" for k in range(9))
    )
    return path


def test_a_page_and_a_comparison_name_the_simulator(cli, log, tmp_path):
    files = [tmp_path / "one.json", tmp_path / "other.json"]
    page = tmp_path / "page.html"
    one = ("simulate", "fifo", "srpt:preempt=true", "--trace", log, *CLUSTER, "-o", files[0], "--table", page)
    assert cli(*one).status == 0
    assert cli("simulate", "srpt:preempt=true", "--trace", log, *CLUSTER, "-o", files[1]).status == 0
    text = html.unescape(page.read_text())
    for said in ("pause cost: ", "movement: ", "shape: a task is the part", "tick: 60 s", "every run passed"):
        assert said in text
    assert "The bound of fifo holds for all schedules without pauses." in text
    assert "The bound of srpt:preempt=true holds for all schedules with pauses at any time, without cost." in text
    found = cli("compare", *files)
    assert (found.status, found.err) == (0, "")
    assert "bound: holds for all schedules with pauses at any time, without cost" in found.out
    assert [line.split()[0] for line in found.out.splitlines() if " total_jct  " in line] == ["srpt:preempt=true"]
    slower = tmp_path / "slower.json"
    dear = ("simulate", "srpt:preempt=true", "--trace", log, *CLUSTER, "-o", slower)
    assert cli(*dear, "--set", "movement=none").status == 0
    beside = cli("compare", files[1], slower).out
    assert "srpt:preempt=true: in the second, movement: none" in beside
    assert "srpt:preempt=true: the second is of another workload" in beside


def test_runs_that_cannot_be_compared_are_refused(cli, log, tmp_path):
    files = [tmp_path / f"{name}.json" for name in ("fifo", "srpt")]
    for file in files:
        assert cli("simulate", file.stem, "--trace", log, *CLUSTER, "-o", file).status == 0
    cli("compare", files[0], files[1]).refused("do not share a policy")
    cli("compare", files[0], files[0], "--solver", "fifo").refused("--solver: is for stores of benchmarks")
    missing, page = tmp_path / "missing.json", tmp_path / "page.html"
    page.write_text("<html>")
    for pair in ((files[0], missing), (missing, files[0])):
        cli("compare", *pair).refused(f"{missing}: file not found")
    for pair in ((files[0], page), (page, files[0])):
        cli("compare", *pair).refused(f"{page}, line 1: is not JSON")
    data = json.loads(files[0].read_text())
    for change, said in (
        (lambda d: d.pop("runs"), "runs are missing"),
        (lambda d: d["runs"][0].pop("summary"), "runs[0]: is invalid"),
        (lambda d: d["runs"][0].update(losses={"jobs": {"at_least": "x"}}), "runs[0]: is invalid"),
        (lambda d: d["runs"].append(7), "runs[1]: is invalid"),
    ):
        changed = json.loads(json.dumps(data))
        change(changed)
        (tmp_path / "changed.json").write_text(json.dumps(changed))
        cli("compare", files[0], tmp_path / "changed.json").refused(said)
    (tmp_path / "none.json").write_text("{")
    cli("compare", files[0], tmp_path / "none.json").refused("is not JSON")
